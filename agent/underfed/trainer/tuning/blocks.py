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
"""In a block, and in a stretch that shows how the host changes."""

OTHER_HOST, ERRORS = 0.1, 2.5
"""By which share, and by how many standard errors, the medians of steps have to differ for the host to have changed."""

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
    scale: float = 1.0
    """By which steps went by faster than batches were loaded."""

    @property
    def measured(self) -> int:
        return max(0, len(self.requests_ns) - 1)

    def close(self, unit: int, drained: int = 0) -> None:
        """``unit``: steps of which the mean is one measurement. ``drained``: batches by which those loaded ahead became
        fewer meanwhile.

        Where a queue empties, steps go by faster than batches are loaded, which cannot last: each is taken to last as
        long as loading one did. Queues of which each worker fills a part vary by one batch for each of them.
        """
        self.unit, instants = unit, self.requests_ns
        self.scale = self.measured / (self.measured - drained) if unit < drained < self.measured else 1.0
        edges = range(0, len(instants), unit)
        self.unit_ns = [self.scale * (instants[end] - instants[start]) / unit for start, end in pairwise(edges)]

    def stall_fraction(self, waits_ns: Sequence[int]) -> float:
        """``waits_ns``: of the measured steps."""
        took = max(1, self.requests_ns[-1] - self.requests_ns[0])
        return 1 - (1 - sum(waits_ns) / took) / self.scale


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
    mean of their setting, beyond what the spread of the units within them explains, of all settings together. 0: too
    few to tell, or none.

    The components of variance of a one-way analysis: loads that differ from sample to sample are no matter of the host.
    """
    between = explained = 0.0
    freedom = freedom_within = 0
    for blocks in sides:
        stretches = _stretches(blocks)
        if len(stretches) < 2:
            continue
        means = [statistics.fmean(each) for each in stretches]
        square = statistics.fmean(means) ** 2
        between += _variance(means) * (len(means) - 1) / square
        freedom += len(means) - 1
        within = sum(map(_variance, stretches)) * (len(stretches[0]) - 1)
        explained += within / len(stretches[0]) / square
        freedom_within += len(stretches) * (len(stretches[0]) - 1)
    return math.sqrt(max(0.0, between / freedom - explained / freedom_within)) if freedom else 0.0


def differ(one: Block, other: Block) -> bool:
    """Whether the host was another while one of two blocks of a setting was measured: by their medians, which single
    long steps do not move."""
    if min(len(one.unit_ns), len(other.unit_ns)) < LEAST_UNITS:
        return False
    (middle, error), (others, others_error) = _median_and_error(one.unit_ns), _median_and_error(other.unit_ns)
    return abs(middle - others) > max(OTHER_HOST * min(middle, others), ERRORS * math.hypot(error, others_error))


def _median_and_error(units: Sequence[float]) -> tuple[float, float]:
    """The standard error of a median of normal values: 1.25 of the mean's, whose spread is 1.48 median deviations."""
    middle = statistics.median(units)
    return middle, 1.25 * 1.48 * statistics.median(abs(each - middle) for each in units) / math.sqrt(len(units))


def compare(before: Sequence[Block], after: Sequence[Block], spread: float = 0.0) -> Ratio | None:
    """How many times as fast the steps of ``after`` are. ``None``: too few.

    Two spreads count: of units within blocks, or of blocks where they differ by more, and of stretches of this host
    (``spread``).
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


def error_of(blocks: Sequence[Block], spread: float = 0.0) -> float | None:
    """Standard error of their mean step, as a share of it. ``None``: too few."""
    side = _mean_and_error(blocks, spread)
    return side[1] / side[0] if side is not None else None


def speed(blocks: Sequence[Block], spread: float = 0.0) -> Ratio | None:
    """Steps per second, with its interval."""
    side = _mean_and_error(blocks, spread)
    if side is None:
        return None
    mean, error, freedom = side
    factor = math.exp(_quantile(freedom) * error / mean)
    return Ratio(1e9 / mean, 1e9 / mean / factor, 1e9 / mean * factor)


def _stretches(blocks: Sequence[Block]) -> list[list[float]]:
    """As many units in sequence as a block has at least."""
    found: list[list[float]] = []
    for block in blocks:
        units = _units_of_stretch(block)
        edges = range(0, len(block.unit_ns) - units + 1, units)
        found += [block.unit_ns[first : first + units] for first in edges]
    return found


def _independent_stretches(block: Block) -> float:
    """Those of one block count half: a host that is slower is so for several of them."""
    count = len(block.unit_ns) / _units_of_stretch(block)
    return min(count, (count + 1) / 2)


def _units_of_stretch(block: Block) -> int:
    return max(LEAST_UNITS, math.ceil(LEAST_STEPS / block.unit))


def _mean_and_error(blocks: Sequence[Block], spread: float = 0.0) -> tuple[float, float, int] | None:
    """Mean, its standard error, degrees of freedom."""
    units = [each + block.pass_ns for block in blocks for each in block.unit_ns]
    if len(units) < LEAST_UNITS:
        return None
    mean = statistics.fmean(units)
    freedom, stretches = len(units) - 1, sum(map(_independent_stretches, blocks))
    error = math.hypot(math.sqrt(_variance(units) / len(units)), spread * mean / math.sqrt(stretches))
    means = [statistics.fmean(block.unit_ns) for block in blocks if len(block.unit_ns) >= LEAST_UNITS]
    if len(means) > 1:
        error = max(error, math.sqrt(_variance(means) / len(means)))
    return max(mean, 1.0), error, freedom


def _variance(values: Sequence[float]) -> float:
    """As ``statistics.variance``, which reckons with fractions: a block ends on the training thread."""
    mean = statistics.fmean(values)
    return math.fsum((each - mean) ** 2 for each in values) / (len(values) - 1)


def _quantile(freedom: int) -> float:
    return QUANTILES[max(1, freedom) - 1] if freedom <= len(QUANTILES) else NORMAL
