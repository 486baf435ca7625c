"""Ranks that synchronise in each step, put side by side: a step ends when the last of them has its batch and its work.

A rank that waits for its batch keeps all others waiting, inside their step and not in ``next()``. So what the job loses
in a step is the longest wait of any rank, and rare waits add up over the ranks: of 64 that each wait in one step of a
hundred, one does in every second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from underfed_server.facts.record import RankFacts
from underfed_server.measurements import Column

Grid = NDArray[np.float64]
"""``[rank, step]``"""

LOCKSTEP_FRACTION = 0.03
"""Ranks whose mean steps differ by no more go in step: those that synchronise gradients cannot drift apart,
independent ones agree only by chance."""

TOGETHER_FRACTION = 0.15
"""In step, the longest of the ranks' times for a step is hardly longer than their median: where it is by more, each
waits by itself."""

LATE_FRACTION = 0.10
"""Of the median step, from which a wait counts as one of those that keep the others waiting."""

FEWEST_STEPS = 20
"""As many as a verdict needs."""


@dataclass(frozen=True, slots=True, eq=False)
class Lockstep:
    """Steps that all ranks took together, in their order."""

    ranks: int
    step_us: Column
    """Of the median rank."""
    lost_us: Column
    """The longest wait of any rank, at most the step."""
    waited_us: float
    """Of all ranks and steps, what each of them waited for its own input."""

    @property
    def lost_fraction(self) -> float:
        return float(np.sum(self.lost_us) / np.sum(self.step_us))

    @property
    def lost_for_waited(self) -> float:
        """What all ranks lose together for what each waits by itself: their number where one is late at a time, 1 where
        all are at once."""
        return self.ranks * float(np.sum(self.lost_us)) / self.waited_us if self.waited_us else 1.0

    @property
    def late_fraction(self) -> float:
        """Share of the steps in which one rank or another was late."""
        return float(np.mean(self.lost_us >= LATE_FRACTION * np.median(self.step_us - self.lost_us)))

    @property
    def work_us(self) -> Column:
        """Each step without what was lost."""
        return self.step_us - self.lost_us


def in_lockstep(ranks: Sequence[RankFacts], *, with_others: bool = False) -> Lockstep | None:
    """``None``: a single rank, each at its own pace, or too few steps that all of them recorded.

    ``with_others``: by what is waited for all loaders of the loop.
    """
    ranks = [rank for rank in ranks if len(rank.steps)]
    aligned = _aligned(ranks, with_others=with_others) if have_equal_steps(ranks) else None
    if aligned is None:
        return None
    steps, waits = aligned
    usual = np.median(steps, axis=0)
    if np.sum(np.max(steps, axis=0)) > (1 + TOGETHER_FRACTION) * np.sum(usual):
        return None
    return Lockstep(len(ranks), usual, np.minimum(usual, np.max(waits, axis=0)), float(np.sum(waits)))


def longer_work_us(ranks: Sequence[RankFacts], slow: RankFacts) -> float | None:
    """By how much at least ``slow`` works longer than each of the others in the mean step that all of them took.

    Its step is its wait and its work; theirs are as long, and have a longer wait in them. Whatever a faster loader
    saved them of that they would wait for ``slow`` instead. ``None``: too few steps that all of them recorded.
    """
    others = [rank for rank in ranks if rank is not slow and len(rank.steps)]
    aligned = _aligned([slow, *others])
    if aligned is None:
        return None
    waits = aligned[1]
    return float(np.mean(np.maximum(0.0, np.min(waits[1:], axis=0) - waits[0])))


def _aligned(ranks: Sequence[RankFacts], *, with_others: bool = False) -> tuple[Grid, Grid] | None:
    """Steps, and what each lost to input, by rank and step; ``None``: too few that all of them recorded."""
    indices = [rank.steps.step_index for rank in ranks]
    common = reduce(np.intersect1d, indices)
    if len(common) < FEWEST_STEPS:
        return None
    rows = [np.searchsorted(index, common) for index in indices]
    steps = np.array([rank.steps.step_us[row] for rank, row in zip(ranks, rows, strict=True)])
    waits = [_waits_us(rank, with_others=with_others)[row] for rank, row in zip(ranks, rows, strict=True)]
    return steps, np.array(waits)


def _waits_us(rank: RankFacts, *, with_others: bool) -> Column:
    return rank.stalled_us if rank.others_wait_us is None or not with_others else rank.stalled_us + rank.others_wait_us


def have_equal_steps(ranks: Sequence[RankFacts]) -> bool:
    """Several ranks whose mean steps are equal."""
    if len(ranks) < 2:
        return False
    means = [rank.step_us for rank in ranks]
    return max(means) - min(means) <= LOCKSTEP_FRACTION * min(means)
