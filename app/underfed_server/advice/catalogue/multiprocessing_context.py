"""Start workers from a fork server instead of spawning each."""

from __future__ import annotations

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer
from underfed_server.diagnosis import evidence
from underfed_server.model import Evidence

PRELOAD = """\
+torch.multiprocessing.set_forkserver_preload(["torch", "your_dataset_module"])  # before the loader"""


def consider(case: Case) -> Offer | None:
    if case.loader.settings.get("multiprocessing_context") != "spawn":
        return None
    return Offer(
        to="forkserver",
        title="Start workers from a fork server",
        why="In each epoch every spawned worker starts Python and imports torch.",
        risk=(
            "The data set is pickled to each worker as before. Plain fork would be faster still, but is unsafe in a "
            "process with threads or a CUDA context."
        ),
        diff=PRELOAD,
        call={"multiprocessing_context": repr("forkserver")},
        evidence=[
            *evidence.epoch_starts(case.rank, case.loader),
            Evidence(what="Threads of the training process", value=case.rank.process.threads, unit="count"),
        ],
        gain="how long a fork server takes to start workers was not seen in this run",
    )


CHANGE = Change(
    label="fork server",
    consider=consider,
    is_between_epochs=True,
)
