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

from underfed_server.facts.record import RankFacts
from underfed_server.measurements import Column

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

    @property
    def lost_fraction(self) -> float:
        return float(np.sum(self.lost_us) / np.sum(self.step_us))

    @property
    def late_fraction(self) -> float:
        """Share of the steps in which one rank or another was late."""
        return float(np.mean(self.lost_us >= LATE_FRACTION * np.median(self.step_us - self.lost_us)))

    @property
    def work_us(self) -> Column:
        """Each step without what was lost."""
        return self.step_us - self.lost_us


def in_lockstep(ranks: Sequence[RankFacts]) -> Lockstep | None:
    """``None``: a single rank, each at its own pace, or too few steps that all of them recorded."""
    ranks = [rank for rank in ranks if len(rank.steps)]
    if not have_equal_steps(ranks):
        return None
    indices = [rank.steps.step_index for rank in ranks]
    common = reduce(np.intersect1d, indices)
    if len(common) < FEWEST_STEPS:
        return None
    rows = [np.searchsorted(index, common) for index in indices]
    steps = np.array([rank.steps.step_us[row] for rank, row in zip(ranks, rows, strict=True)])
    waits = np.array([rank.stalled_us[row] for rank, row in zip(ranks, rows, strict=True)])
    usual = np.median(steps, axis=0)
    if np.sum(np.max(steps, axis=0)) > (1 + TOGETHER_FRACTION) * np.sum(usual):
        return None
    return Lockstep(len(ranks), usual, np.minimum(usual, np.max(waits, axis=0)))


def have_equal_steps(ranks: Sequence[RankFacts]) -> bool:
    """Several ranks whose mean steps are equal."""
    if len(ranks) < 2:
        return False
    means = [rank.step_us for rank in ranks]
    return max(means) - min(means) <= LOCKSTEP_FRACTION * min(means)
