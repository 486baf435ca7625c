"""What to do about pauses, functions of the program's own, and other jobs on its cores, where they take more of a
loop's time than its waiting: no setting of the loader changes that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from underfed_server.diagnosis.beside_training import between_fraction
from underfed_server.diagnosis.checkpoints import HOW
from underfed_server.diagnosis.measures import own_cores, strangers_cores
from underfed_server.diagnosis.own_work import own_works
from underfed_server.diagnosis.rounded import percent
from underfed_server.diagnosis.sentence import (
    UNSEEN,
    outweigh_waiting,
    outweighs,
    saving_sentences,
    unseen_pauses_fraction,
)
from underfed_server.facts.record import RankFacts, RunFacts
from underfed_server.model import CauseFinding, Verdict
from underfed_server.names import CauseName

SAVE_LESS = (
    f"Save checkpoints less often, or while training goes on with torch.distributed.checkpoint.async_save ({HOW})."
)

BOUND = ("data", "host")
"""Of a run that computes all the time, its functions are part of that."""

LEAST_COST = 0.10
"""Share of step time that full cores cost, from which it is said what to do about it."""


class Action(NamedTuple):
    title: str
    detail: str
    """Sentences: why, and what else would do."""
    sentence: str
    """Both in one, where there is no room for a title."""
    of_loop: float
    """Share of the loop's time that goes away at most. 0: it is not known."""
    cause: CauseName | None = None
    """What it cures; ``None``: none that a verdict names."""


def actions(facts: RunFacts, rank: RankFacts, verdict: Verdict) -> list[Action]:
    """Of pauses first, which are named only where they take more than waiting."""
    asked = (
        save_less(facts, rank, verdict),
        shorten_pauses(facts, rank, verdict),
        call_less(facts, rank, verdict),
        free_cores(facts, rank, verdict.causes),
    )
    return [each for each in asked if each is not None]


def save_less(facts: RunFacts, rank: RankFacts, verdict: Verdict) -> Action | None:
    """``None``: waiting takes more, the pauses are for something else, or there is no verdict."""
    data = verdict.data_stall_fraction
    if data is None or not outweigh_waiting(rank, data):
        return None
    if not saving_sentences(rank, facts.between):
        return None
    while_training = f"Or save while training goes on, with torch.distributed.checkpoint.async_save ({HOW})."
    return Action("Save checkpoints less often", while_training, SAVE_LESS, rank.checkpoint_fraction)


def shorten_pauses(facts: RunFacts, rank: RankFacts, verdict: Verdict) -> Action | None:
    """``None``: waiting takes more, or it was seen what they are for."""
    data = verdict.data_stall_fraction
    unseen = 0.0 if data is None else unseen_pauses_fraction(rank, facts.between, data)
    if not unseen:
        return None
    others = " other" if rank.checkpoints else ""
    title = f"Shorten the program's{others} pauses"
    return Action(
        title, f"{UNSEEN} shows what it does in them.", f"{title}: {UNSEEN} shows what it does in them.", unseen
    )


def call_less(facts: RunFacts, rank: RankFacts, verdict: Verdict) -> Action | None:
    """``None``: waiting takes more, the run was not profiled, or there is no such function."""
    data = verdict.data_stall_fraction
    if data is None or facts.between is None or verdict.bound not in BOUND:
        return None
    for work in own_works(facts.between, between_fraction(rank))[:1]:
        if outweighs(work.of_loop, data):
            takes = f"takes {percent(work.of_loop)} of the loop's time."
            return Action(
                f"Make {work.name} cheaper, or call it in fewer steps",
                f"{work}, {takes}",
                f"Make {work}, cheaper, or call it in fewer steps: it {takes}",
                work.of_loop,
            )
    return None


def free_cores(facts: RunFacts, rank: RankFacts, causes: Sequence[CauseFinding]) -> Action | None:
    """``None``: full cores are no cause worth naming, or they are full of this run's own work."""
    full = next((each for each in causes if each.cause == "cpu_limited"), None)
    if full is None or full.cost_fraction < LEAST_COST:
        return None
    ranks, usable = facts.on_host_of(rank), facts.host.usable_cores
    others, own = strangers_cores(rank, ranks), sum(own_cores(each.process) for each in ranks)
    if not usable or others is None or others <= own:
        return None
    return Action(
        f"Move the other jobs off these {usable:g} cores",
        f"They use {others:.1f} of the {usable:g} cores that this run may use. Or give this run cores of its own.",
        f"Move the other jobs, which use {others:.1f} of the {usable:g} cores that this run may use, or give this run "
        "cores of its own.",
        (1 - rank.paused_fraction) * full.cost_fraction,
        full.cause,
    )
