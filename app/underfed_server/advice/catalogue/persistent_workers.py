"""Keep the workers between epochs."""

from __future__ import annotations

from dataclasses import replace

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer
from underfed_server.diagnosis import evidence
from underfed_server.model import Evidence


def consider(case: Case) -> Offer | None:
    if not case.num_workers or case.loader.settings.get("persistent_workers"):
        return None
    return Offer(
        to=True,
        title="Keep the workers between epochs",
        why="Each epoch starts new workers, and waits until they have loaded its first batches.",
        risk=(
            "Workers keep the data set as it was when they started: later changes to it in the training process do not "
            "reach them. They keep their memory between epochs."
        ),
        evidence=_evidence(case),
        changes_batch_order=True,
        simulated=replace(case.recorded, persistent_workers=True),
    )


def _evidence(case: Case) -> list[Evidence]:
    return [
        *evidence.epoch_starts(case.rank, case.loader),
        evidence.setting("How workers are started", case.loader.settings.get("multiprocessing_context")),
    ]


CHANGE = Change(
    label="persistent workers",
    consider=consider,
    is_of_its_causes=True,
    is_between_epochs=True,
)
