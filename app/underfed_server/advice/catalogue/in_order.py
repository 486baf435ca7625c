"""``in_order=False``: a batch that is ready is delivered before a slow one that was asked for earlier."""

from __future__ import annotations

from dataclasses import replace

from underfed_server.advice.case import Case
from underfed_server.advice.change import Change
from underfed_server.advice.offer import Offer
from underfed_server.advice.saved import Saved, most_saved
from underfed_server.diagnosis import evidence, measures
from underfed_server.diagnosis.wait import split_wait


def consider(case: Case) -> Offer | None:
    if case.num_workers < 2 or case.loader.settings.get("in_order") is False or not _may_help(case):
        return None
    return Offer(
        to=False,
        title="Take batches as they get ready",
        why="Loaded batches wait behind one that is slow to load, because they are delivered in order.",
        risk=(
            "Two runs with the same seed no longer get batches in the same order, and slow samples come later than "
            "their turn. Needs torch 2.6."
        ),
        evidence=evidence.load_spread(case.rank),
        changes_batch_order=True,
        simulated=replace(case.recorded, in_order=False),
        saved=most_saved(case) if case.cause is not None else _held_back(case),
    )


def _may_help(case: Case) -> bool:
    """Slow batches are waited for, also where other causes cost more than they do."""
    tail = measures.load_tail(case.rank)
    return case.cause is not None or (case.waits_for_data and tail is not None and tail.is_heavy)


def _held_back(case: Case) -> Saved | None:
    """What is waited for while later batches are ready, where no cause is made of it."""
    share = split_wait(case.rank, case.loader).held_back
    return None if share is None else Saved(share, share, "Waiting while later batches are ready, of step time")


CHANGE = Change(
    label="out-of-order delivery",
    consider=consider,
    needs_cause=False,
)
