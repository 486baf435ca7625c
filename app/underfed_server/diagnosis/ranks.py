"""Which rank a run is judged by: of ranks in lockstep the slowest sets the pace, else the median speaks for all."""

from __future__ import annotations

from collections.abc import Sequence

from underfed_server.facts.record import RankFacts, RunFacts
from underfed_server.model import RankDiagnosis

LOCKSTEP_FRACTION = 0.03
"""Ranks whose mean steps differ by no more go in step: those that synchronise gradients cannot drift apart,
independent ones agree only by chance."""

STRAGGLER_FRACTION = 0.10
"""Share of step time that a rank waits longer than the median rank. TraceML warns of a straggler from 10 %."""


def judged_rank(facts: RunFacts) -> RankFacts:
    """The worst straggler where there is one: all others wait for it whenever they synchronise.

    Raises:
        ValueError: no rank has a judged step.
    """
    return max(stragglers(facts), key=lambda rank: rank.stall_fraction, default=facts.median_rank)


def reported_rank(ranks: Sequence[RankDiagnosis]) -> int | None:
    """The same, from a saved verdict on the ranks; ``None``: none was judged."""
    known = [each for each in ranks if each.data_stall_fraction is not None]
    judged = sorted(known, key=lambda each: each.data_stall_fraction or 0.0)
    slow = [each.rank for each in judged if each.straggler]
    return slow[-1] if slow else judged[(len(judged) - 1) // 2].rank if judged else None


def stragglers(facts: RunFacts) -> tuple[RankFacts, ...]:
    """Ranks whose input keeps the others waiting; none where each goes at its own pace.

    Found by their waits: synchronous training makes the steps of all ranks equally long.
    """
    ranks = [rank for rank in facts.ranks if len(rank.steps)]
    if not _in_lockstep(ranks):
        return ()
    usual = facts.median_rank.stall_fraction
    return tuple(rank for rank in ranks if rank.stall_fraction - usual >= STRAGGLER_FRACTION)


def _in_lockstep(ranks: list[RankFacts]) -> bool:
    """Several ranks whose mean steps are equal."""
    if len(ranks) < 2:
        return False
    means = [rank.step_us for rank in ranks]
    return max(means) - min(means) <= LOCKSTEP_FRACTION * min(means)
