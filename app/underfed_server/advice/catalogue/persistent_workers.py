"""Keep the workers between epochs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change, Outcomes
from underfed_server.advice.diff import diff_of
from underfed_server.advice.offer import Offer, offer_simulated
from underfed_server.model import Evidence


def consider(case: Case) -> Outcomes:
    if not case.num_workers or case.loader.settings.get("persistent_workers") or case.cause is None:
        return []
    return offer_simulated(case, replace(case.recorded, persistent_workers=True), _offer(case))


def _offer(case: Case) -> Offer:
    return Offer(
        to=True,
        title="Keep the workers between epochs",
        why="Each epoch starts new workers, and waits until they have loaded its first batches.",
        risk=(
            "Workers keep the data set as it was when they started: later changes to it in the training process do not "
            "reach them. They keep their memory between epochs."
        ),
        diff=diff_of(case.loader, {"persistent_workers": True}, case.facts.overrides),
        evidence=_evidence(case),
        settings={"persistent_workers": True},
        changes_batch_order=True,
    )


def _evidence(case: Case) -> list[Evidence]:
    epochs = case.rank.epochs
    begun = [one.startup_us for one in epochs if one.startup_us is not None]
    constructed = [one.iterator_us for one in epochs if one.iterator_us is not None]
    steps = [one.steps for one in epochs if one.steps]
    return [
        Evidence(what="From the start of an epoch to its first batch", value=_median(begun), unit="us"),
        Evidence(what="Constructing the iterator, which starts the workers", value=_median(constructed), unit="us"),
        Evidence(what="Steps of an epoch", value=_median(steps), unit="count"),
        Evidence(what="How workers are started", value=_method(case), unit="setting"),
    ]


def _method(case: Case) -> str | None:
    method = case.loader.settings.get("multiprocessing_context")
    return method if isinstance(method, str) else None


def _median(values: Sequence[int]) -> float | None:
    return float(np.median(values)) if values else None


CHANGE = Change(
    label="persistent workers",
    consider=consider,
    is_between_epochs=True,
)
