"""``multiprocessing_context``: a spawned worker imports everything anew; a fork server has imported it before."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from underfed_server.advice.case import Case
from underfed_server.advice.diff import diff_of
from underfed_server.advice.offer import Offer, offer_unpredicted
from underfed_server.model import Advice, Evidence, Refusal


def consider(case: Case) -> Sequence[Advice | Refusal]:
    if case.loader.settings.get("multiprocessing_context") != "spawn" or case.found("worker_startup") is None:
        return []
    return [offer_unpredicted(case, _offer(case))]


def _offer(case: Case) -> Offer:
    begun = [one.startup_us for one in case.rank.epochs if one.startup_us is not None]
    preload = [
        '+torch.multiprocessing.set_forkserver_preload(["torch", "your_dataset_module"])  # before the loader',
        " ",
    ]
    return Offer(
        change="multiprocessing_context",
        to="forkserver",
        title="Start workers from a fork server",
        why="Each spawned worker starts Python and imports torch by itself, in each epoch.",
        risk=(
            "The data set is pickled to each worker as before. Plain fork would be faster still, and unsafe: this "
            "process has threads, and workers must not inherit a CUDA context."
        ),
        diff="\n".join([*preload, diff_of(case.loader, {"multiprocessing_context": "forkserver"})]),
        evidence=[
            Evidence(
                what="From the start of an epoch to its first batch",
                value=float(np.median(begun)) if begun else None,
                unit="us",
            ),
            Evidence(what="Threads of the training process", value=case.rank.process.threads, unit="count"),
        ],
        unknown="how long a fork server takes to start workers was not seen in this run",
    )
