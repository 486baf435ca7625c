"""What to do where other jobs fill the cores: that lies outside this run, and no setting of the loader changes it."""

from __future__ import annotations

from collections.abc import Sequence

from underfed_server.advice.action import Action
from underfed_server.diagnosis.measures import own_cores, strangers_cores
from underfed_server.facts.record import RankFacts, RunFacts
from underfed_server.model import CauseFinding

LEAST_COST = 0.10
"""Share of step time that full cores cost, from which it is said what to do about it."""


def free_cores(facts: RunFacts, rank: RankFacts, causes: Sequence[CauseFinding]) -> Action | None:
    """``None``: full cores are no cause worth telling, or they are full of this run's own work."""
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
