"""Take the state of a stateful loader's workers with one of many batches, not with each."""

from __future__ import annotations

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer
from underfed_server.advice.proof.traits import grown
from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.instant_data import Ceiling
from underfed_server.model import Evidence

ENOUGH = 50
"""Batches for one state, from which it costs a fiftieth of what it does with each: 2 %, within which settings count as
equally fast."""


def consider(case: Case) -> Offer | None:
    interval, found = case.loader.snapshot_interval_steps, case.cause
    if interval is None or interval >= ENOUGH or found is None or not case.waits_for_data:
        return None
    return Offer(
        to=ENOUGH,
        title=f"Take the workers' state once in {ENOUGH} batches",
        why="The state is pickled in a worker and unpickled in the training process, which waits for both.",
        risk=f"A run that resumes between two states loads up to {ENOUGH} batches again, and skips them.",
        call={"snapshot_every_n_steps": repr(ENOUGH)},
        evidence=[
            Evidence(what="Batches for one state", value=interval, unit="count"),
            Evidence(what="Handing over one loaded batch", value=measures.handover_us(case.rank), unit="us"),
            evidence.load(case.rank),
        ],
        from_=interval,
        gain="how long a batch takes without the state was not seen in this run. Try it",
        ceiling=Ceiling(1 / (1 - min(0.99, found.cost_fraction))),
    )


CHANGE = Change(
    label="rarer snapshots",
    consider=consider,
    sign=grown("snapshot_interval_steps"),
)
