"""Steps of one setting that were measured: how long they take, and how many times as fast one setting is as another."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

LEAST_UNITS = 3
"""Units of steps in a block: fewer show no spread."""

LEAST_UNIT = 2
"""Steps in a unit, and at least one for each worker: batches come in rounds of all workers, and so do waits."""

LEAST_STEPS = 12
"""In a block, and in a stretch by which it is told how the host changes."""

# Two-sided 95 % quantiles of Student's distribution by degrees of freedom, from any table of it.
QUANTILES = (
    12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09,
)  # fmt: skip
NORMAL = 1.96


class Ratio(NamedTuple):
    """How many times as fast, with its 95 % interval."""

    speedup: float
    low: float
    high: float


@dataclass(slots=True)
class Block:
    """Consecutive steps under one setting, the first of them not measured: they are of the switch."""

    first_step: int
    start_ns: int
    steps: int = 0
    end_ns: int = 0
    requests_ns: list[int] = field(default_factory=list)
    """When each measured step began, and the last one ended."""
    unit_ns: list[float] = field(default_factory=list)
    """Mean step of each unit."""
    unit: int = LEAST_UNIT
    pass_ns: float = 0.0
    """What each step bears of that which a pass costs beside its steps."""

    @property
    def measured(self) -> int:
        return max(0, len(self.requests_ns) - 1)

    def close(self, unit: int) -> None:
        """``unit``: steps of which the mean is one measurement."""
        self.unit, instants = unit, self.requests_ns
        edges = range(0, len(instants), unit)
        self.unit_ns = [(instants[end] - instants[start]) / unit for start, end in pairwise(edges)]


def unit_of(workers: int) -> int:
    return max(LEAST_UNIT, workers)


def least_steps(workers: int) -> int:
    """Of a block: whole units."""
    unit = unit_of(workers)
    return unit * max(LEAST_UNITS, math.ceil(LEAST_STEPS / unit))


def mean_ns(blocks: Sequence[Block]) -> float | None:
    """Of a step, with its part of what a pass costs."""
    units = [each + block.pass_ns for block in blocks for each in block.unit_ns]
    return statistics.fmean(units) if units else None


def spread_of(sides: Sequence[Sequence[Block]]) -> float:
    """By how much this host is slower or faster for a while: the relative spread of stretches of a few units about the
    mean of their setting, of all settings together. 0: too few to tell."""
    squares, freedom = 0.0, 0
    for blocks in sides:
        means = _stretches(blocks)
        if len(means) > 1:
            squares += statistics.variance(means) * (len(means) - 1) / statistics.fmean(means) ** 2
            freedom += len(means) - 1
    return math.sqrt(squares / freedom) if freedom else 0.0


def compare(before: Sequence[Block], after: Sequence[Block], spread: float = 0.0) -> Ratio | None:
    """How many times as fast the steps of ``after`` are. ``None``: too few.

    Of two spreads the larger counts: of units within blocks, and of blocks where there are several, since the host may
    be slower in one of them. ``spread``: of stretches of this host, which each has at least.
    """
    first, second = _mean_and_error(before, spread), _mean_and_error(after, spread)
    if first is None or second is None:
        return None
    (mean, error, freedom), (other, others_error, others_freedom) = first, second
    error, others_error = error / mean, others_error / other
    together = math.hypot(error, others_error)
    # Welch's: the freedom of the difference of two means whose spreads differ.
    parts = error**4 / freedom + others_error**4 / others_freedom
    quantile = _quantile(int(together**4 / parts)) if together else 0.0
    ratio = mean / other
    return Ratio(ratio, ratio * math.exp(-quantile * together), ratio * math.exp(quantile * together))


def speed(blocks: Sequence[Block], spread: float = 0.0) -> Ratio | None:
    """Steps per second, with its interval."""
    side = _mean_and_error(blocks, spread)
    if side is None:
        return None
    mean, error, freedom = side
    factor = math.exp(_quantile(freedom) * error / mean)
    return Ratio(1e9 / mean, 1e9 / mean / factor, 1e9 / mean * factor)


def _stretches(blocks: Sequence[Block]) -> list[float]:
    """Mean steps of as many units in sequence as a block has at least."""
    found: list[float] = []
    for block in blocks:
        units = _units_of_stretch(block)
        edges = range(0, len(block.unit_ns) - units + 1, units)
        found += [statistics.fmean(block.unit_ns[first : first + units]) for first in edges]
    return found


def _units_of_stretch(block: Block) -> int:
    return max(LEAST_UNITS, math.ceil(LEAST_STEPS / block.unit))


def _mean_and_error(blocks: Sequence[Block], spread: float = 0.0) -> tuple[float, float, int] | None:
    """Mean, its standard error, degrees of freedom."""
    units = [each + block.pass_ns for block in blocks for each in block.unit_ns]
    if len(units) < LEAST_UNITS:
        return None
    mean = statistics.fmean(units)
    error, freedom = statistics.stdev(units) / math.sqrt(len(units)), len(units) - 1
    means = [statistics.fmean(block.unit_ns) for block in blocks if len(block.unit_ns) >= LEAST_UNITS]
    if len(means) > 1:
        error = max(error, statistics.stdev(means) / math.sqrt(len(means)))
    stretches = sum(len(block.unit_ns) / _units_of_stretch(block) for block in blocks)
    return max(mean, 1.0), max(error, spread * mean / math.sqrt(stretches)), freedom


def _quantile(freedom: int) -> float:
    return QUANTILES[max(1, freedom) - 1] if freedom <= len(QUANTILES) else NORMAL
