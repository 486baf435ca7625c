"""``persistent_workers``: the workers of one epoch load the next, so none is started at its edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from underfed_server.advice.case import Case
from underfed_server.advice.diff import diff_of
from underfed_server.advice.offer import Offer, offer_simulated
from underfed_server.model import Advice, Evidence, Refusal


def consider(case: Case) -> Sequence[Advice | Refusal]:
    if not case.num_workers or case.loader.settings.get("persistent_workers"):
        return []
    if case.found("worker_startup") is None:
        return []
    return offer_simulated(case, replace(case.recorded, persistent_workers=True), _offer(case))


def _offer(case: Case) -> Offer:
    return Offer(
        change="persistent_workers",
        to=True,
        title="Keep the workers between epochs",
        why="Each epoch starts its workers anew, and waits until they have loaded its first batches.",
        risk=(
            "Workers keep the data set as it was when they were started: what the training process changes in it "
            "later does not reach them. Their memory stays taken between epochs."
        ),
        diff=diff_of(case.loader, {"persistent_workers": True}, case.facts.overrides),
        evidence=_evidence(case),
        settings={"persistent_workers": True},
        changes_batch_order=True,
    )


def _evidence(case: Case) -> list[Evidence]:
    epochs = case.rank.epochs
    begun = [one.startup_us for one in epochs if one.startup_us is not None]
    made = [one.iterator_us for one in epochs if one.iterator_us is not None]
    steps = [one.steps for one in epochs if one.steps]
    return [
        Evidence(what="From the start of an epoch to its first batch", value=_median(begun), unit="us"),
        Evidence(what="Of it starting the workers", value=_median(made), unit="us"),
        Evidence(what="Steps of an epoch", value=_median(steps), unit="count"),
        Evidence(what="How workers are started", value=_method(case), unit="setting"),
    ]


def _method(case: Case) -> str | None:
    method = case.loader.settings.get("multiprocessing_context")
    return method if isinstance(method, str) else None


def _median(values: Sequence[int]) -> float | None:
    return float(np.median(values)) if values else None
