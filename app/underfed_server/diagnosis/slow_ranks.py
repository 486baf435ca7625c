"""Which ranks keep the others waiting, and by which of them the run is judged.

Of ranks in lockstep the slowest sets the pace, be it by its loader or by its work, else the median speaks for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from underfed_server.diagnosis.measures import mean
from underfed_server.facts.lockstep import Lockstep, have_equal_steps, in_lockstep, longer_work_us
from underfed_server.facts.record import RankFacts, median_of
from underfed_server.model import RankDiagnosis

STRAGGLER_FRACTION = 0.10
"""Share of step time that a rank waits longer than the median rank. TraceML warns of a straggler from 10 %."""


@dataclass(frozen=True, slots=True)
class SlowWork:
    rank: RankFacts
    longer_us: float
    """At least so much longer than the work of each other rank, of the mean step."""

    @property
    def lost_fraction(self) -> float:
        """Share of each step in which the others wait for input, and would wait for this rank without that."""
        return self.longer_us / self.rank.step_us

    def lost_us(self, ranks: Sequence[RankFacts]) -> float:
        """Of all ranks, over the whole run."""
        waits = [each.total_stall_us for each in ranks if each.rank != self.rank.rank]
        return len(ranks) * max(0.0, min(waits) - self.rank.total_stall_us)


@dataclass(frozen=True, slots=True, eq=False)
class SlowRanks:
    """Of a run, or of one of its loaders: at most one of the three is there."""

    ranks: Sequence[RankFacts]
    stragglers: tuple[RankFacts, ...]
    """Ranks whose input keeps the others waiting; none where each goes at its own pace."""
    at_work: SlowWork | None
    """The rank whose own work keeps the others waiting inside their steps: alone it waits less for its input than they
    do, whose batches come while they wait for it. ``None``: there is none, or nobody waits for input."""
    late_in_turn: Lockstep | None
    """Ranks in step of which none is the slow one, and yet the job waits far longer than each of them by itself."""

    @property
    def judged(self) -> RankFacts:
        """The worst straggler where there is one: all others wait for it whenever they synchronise. Where one works
        longer than the others, that one: what they wait for their input beyond its wait, no loader can save.

        Raises:
            ValueError: no rank has a judged step.
        """
        if self.stragglers:
            return max(self.stragglers, key=lambda rank: rank.stall_fraction)
        return self.at_work.rank if self.at_work else median_of(self.ranks)

    @property
    def named(self) -> int | None:
        """The rank that keeps the others waiting; ``None``: none does."""
        return self.judged.rank if self.stragglers or self.at_work else None

    @property
    def input_lost_us(self) -> float:
        """Of the whole run and all ranks, what waiting for input cost."""
        waits = sum(rank.total_stall_us for rank in self.ranks)
        if slow := self.at_work:
            return sum(min(rank.total_stall_us, slow.rank.total_stall_us) for rank in self.ranks)
        # Each waits for all of them, inside its step.
        if self.stragglers:
            waited_us = len(self.ranks) * max(rank.total_stall_us for rank in self.stragglers)
            return min(waited_us, sum(rank.total_step_us for rank in self.ranks))
        if together := self.late_in_turn:
            return min(waits * together.lost_for_waited, sum(rank.total_step_us for rank in self.ranks))
        return waits


def slow_ranks(ranks: Sequence[RankFacts]) -> SlowRanks:
    """Puts the judged steps of all ranks side by side."""
    stragglers = _stragglers(ranks)
    at_work = None if stragglers else _slow_at_work(ranks)
    return SlowRanks(ranks, stragglers, at_work, None if stragglers or at_work else _late_in_turn(ranks))


def reported_rank(ranks: Sequence[RankDiagnosis]) -> int | None:
    """The judged rank by a saved verdict on the ranks; ``None``: none was judged."""
    known = [each for each in ranks if each.data_stall_fraction is not None]
    judged = sorted(known, key=lambda each: each.data_stall_fraction or 0.0)
    slow = [each.rank for each in judged if each.straggler or each.works_longer]
    return slow[-1] if slow else judged[(len(judged) - 1) // 2].rank if judged else None


def _stragglers(of: Sequence[RankFacts]) -> tuple[RankFacts, ...]:
    """Found by their waits: synchronous training makes the steps of all ranks equally long."""
    ranks = [rank for rank in of if len(rank.steps)]
    if not have_equal_steps(ranks):
        return ()
    usual = median_of(ranks)
    slow = tuple(
        rank
        for rank in ranks
        if rank.stall_fraction - usual.stall_fraction >= STRAGGLER_FRACTION
        and _loop_fraction(rank) - _loop_fraction(usual) >= STRAGGLER_FRACTION
    )
    return () if len(ranks) == 2 and slow and not _loads_longer(slow[0], usual) else slow


def _loop_fraction(rank: RankFacts) -> float:
    """Share of step time that it waits for any loader of its loop: who waits less for one may wait more for another."""
    return rank.stall_fraction + rank.others_stall_fraction


def _slow_at_work(of: Sequence[RankFacts]) -> SlowWork | None:
    """``of``: ranks without a straggler."""
    ranks = sorted((rank for rank in of if len(rank.steps)), key=lambda rank: rank.stall_fraction)
    if not have_equal_steps(ranks):
        return None
    least, next_least, most = ranks[0], ranks[1], ranks[-1]
    is_alone = next_least.stall_fraction - least.stall_fraction >= STRAGGLER_FRACTION
    if not is_alone or _loads_longer(most, least):
        return None
    longer_us = longer_work_us(ranks, least)
    return SlowWork(least, longer_us) if longer_us else None


def _late_in_turn(ranks: Sequence[RankFacts]) -> Lockstep | None:
    """``ranks``: of which none keeps the others waiting by itself."""
    together = in_lockstep(ranks)
    if together is None:
        return None
    usual = median_of(ranks)
    is_longer = together.lost_fraction - usual.stall_fraction >= STRAGGLER_FRACTION
    if not is_longer or usual.others_wait_us is None:
        return together if is_longer else None
    in_loop = in_lockstep(ranks, with_others=True)
    is_longer = in_loop is not None and in_loop.lost_fraction - _loop_fraction(usual) >= STRAGGLER_FRACTION
    return together if is_longer else None


def _loads_longer(rank: RankFacts, other: RankFacts) -> bool:
    """Its batches take longer to load. True where that was not measured."""
    loads = mean(rank.batches.load_us), mean(other.batches.load_us)
    return loads[0] is None or loads[1] is None or loads[0] >= (1 + STRAGGLER_FRACTION) * loads[1]
