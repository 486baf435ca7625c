"""How fast a run's training loop went, and how precisely that is known: what two runs are compared by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from underfed_server.diagnosis.slow_ranks import slow_ranks
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.record import Places, RunFacts, epoch_starts
from underfed_server.measurements import Column, StepRows

BLOCKS = 8
"""Blocks of consecutive steps whose means are compared: neighbouring steps are not independent, blocks nearly are."""

T_95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36)
"""Two-sided 95 % of Student's t with 1 … 7 degrees of freedom: one less than there are blocks."""

Blocks = list[Places]
"""Indices of steps, block by block."""


@dataclass(frozen=True, slots=True)
class Gain:
    """Factor on steps per second, with its interval."""

    speedup: float
    low: float
    high: float


def is_inside(observed: float | None, predicted: float | None, low: float | None, high: float | None) -> bool | None:
    """Whether the gain lies in the interval that was predicted; ``None``: nothing was observed, or none predicted."""
    if observed is None or predicted is None or low is None or high is None:
        return None
    return low <= observed <= high


@dataclass(frozen=True, slots=True)
class Pace:
    """The mean step of the judged rank and its standard error, from the spread of ``blocks`` block means."""

    step_us: float
    error_us: float
    blocks: int


@dataclass(frozen=True, slots=True)
class Paces:
    """Of one run: over whole epochs, starting and stopping workers included, and over the steps within epochs.

    ``None``: it had too few.
    """

    epochs: Pace | None
    steps: Pace | None


def paces_of(facts: RunFacts) -> Paces:
    if facts.judged_steps < THRESHOLDS.needed_steps:
        return Paces(None, None)
    steps = slow_ranks(facts.ranks).judged.steps
    epochs, within = epoch_blocks(steps), step_blocks(steps)
    return Paces(pace(steps, epochs) if epochs else None, pace(steps, within) if within else None)


def step_blocks(steps: StepRows) -> Blocks | None:
    """Blocks of steps within epochs: an epoch's first step holds its start and is left out. ``None``: too few."""
    within = np.flatnonzero(~epoch_starts(steps))
    return np.array_split(within, BLOCKS) if len(within) >= 2 * BLOCKS else None


def epoch_blocks(steps: StepRows) -> Blocks | None:
    """A block is one or more whole epochs: from a first step, in which workers are started, to another one.

    ``None``: there are fewer than two.
    """
    starts = np.flatnonzero(epoch_starts(steps))
    if len(starts) < 3:
        return None
    cuts = starts[np.linspace(0, len(starts) - 1, min(BLOCKS, len(starts) - 1) + 1).astype(int)]
    return [np.arange(start, end) for start, end in pairwise(cuts)]


def pace(steps: StepRows, blocks: Blocks) -> Pace:
    means = np.array([np.mean(steps.step_us[block]) for block in blocks])
    return Pace(float(np.mean(steps.step_us[np.concatenate(blocks)])), standard_error(means), len(blocks))


def standard_error(means: Column) -> float:
    """Standard error of the mean of block ``means``."""
    return float(np.std(means, ddof=1)) / math.sqrt(len(means))


def comparable(earlier: Paces, later: Paces, *, by_epochs_only: bool) -> tuple[Pace, Pace] | None:
    """Whole epochs where both runs have some, as predictions count them; ``None``: there is too little of either."""
    if earlier.epochs and later.epochs:
        return earlier.epochs, later.epochs
    if by_epochs_only or not (earlier.steps and later.steps):
        return None
    return earlier.steps, later.steps


def speedup(earlier: Pace, later: Pace) -> tuple[float, float, float]:
    """Ratio of the mean steps with its 95 % interval. It does not cover how far a repeated run would differ."""
    spread = math.hypot(earlier.error_us / earlier.step_us, later.error_us / later.step_us)
    reach = t_95(earlier, later) * spread
    ratio = earlier.step_us / later.step_us
    return ratio, ratio * math.exp(-reach), ratio * math.exp(reach)


def t_95(earlier: Pace, later: Pace) -> float:
    """Student's t for the difference of the two: of the one with fewer blocks, which is the wider."""
    return T_95[min(earlier.blocks, later.blocks) - 2]
