"""``in_order=False``: a batch that is ready is delivered before a slow one that was asked for earlier."""

from __future__ import annotations

from dataclasses import replace

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change, Outcomes
from underfed_server.advice.diff import diff_of
from underfed_server.advice.offer import Offer, offer_simulated
from underfed_server.diagnosis import evidence


def consider(case: Case) -> Outcomes:
    if case.num_workers < 2 or case.loader.settings.get("in_order") is False or case.cause is None:
        return []
    return offer_simulated(case, replace(case.recorded, in_order=False), _offer(case))


def _offer(case: Case) -> Offer:
    return Offer(
        to=False,
        title="Take batches as they get ready",
        why="Loaded batches wait behind one that is slow to load, because they are delivered in order.",
        risk=(
            "Two runs with the same seed no longer get batches in the same order, and slow samples come later than "
            "their turn. Needs torch 2.6."
        ),
        diff=diff_of(case.loader, {"in_order": False}, case.facts.overrides),
        evidence=evidence.load_spread(case.rank),
        settings={"in_order": False},
        changes_batch_order=True,
    )


CHANGE = Change(
    label="out-of-order delivery",
    consider=consider,
)
