"""What to do where other jobs fill the cores: that lies outside this run, and no setting of the loader changes it."""

from __future__ import annotations

from collections.abc import Sequence

from underfed_server.advice.action import Action
from underfed_server.diagnosis.measures import own_cores, strangers_cores
from underfed_server.facts.record import RankFacts, RunFacts
from underfed_server.model import CauseFinding


def free_cores(facts: RunFacts, rank: RankFacts, causes: Sequence[CauseFinding]) -> Action | None:
    """``None``: full cores are not the leading cause, or they are full of this run's own work."""
    if not causes or causes[0].cause != "cpu_limited":
        return None
    ranks, usable = facts.on_host_of(rank), facts.host.usable_cores
    others, own = strangers_cores(rank, ranks), sum(own_cores(each.process) for each in ranks)
    if not usable or others is None or others <= own:
        return None
    return Action(
        f"Move the other jobs, which use {others:.1f} of the {usable:g} cores that this run may use, or give this run "
        "cores of its own.",
        (1 - rank.paused_fraction) * causes[0].cost_fraction,
    )
