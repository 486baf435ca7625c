"""Blocks of steps that alternate at random between two variants, and the difference between them."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

BLOCK, SETTLING = 200, 40
"""Steps of a block that count, and before them some that do not: Python specialises replaced code again."""

Draw = Callable[[], object]


class Variant(Protocol):
    """A way to iterate one iterator."""

    def begin(self) -> Draw:
        """At the start of a block. Returns a function that gets one batch, with all that the variant does in a step."""

    def end(self) -> None: ...


class Bare:
    """The loop as it is without any tool."""

    def __init__(self, iterator: Any) -> None:
        self.iterator = iterator

    def begin(self) -> Draw:
        iterator = self.iterator
        return lambda: next(iterator)

    def end(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A median over pairs of blocks, and the bounds of its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


@dataclass(frozen=True, slots=True)
class Comparison:
    """µs a step."""

    steps: int
    bare_us: float
    """Median over all steps."""
    other_us: float
    typical_us: Estimate
    """By how much the median of the other's blocks is above that of the bare ones."""
    mean_us: Estimate
    """The same of their means: with what happens in a few steps only."""
    bare_mean_us: float
    """Median of the bare blocks' means."""


def compare(bare: Variant, other: Variant, work: Callable[[], None], steps: int, block: int = BLOCK) -> Comparison:
    """``work`` is called before each batch, and not counted."""
    chance = random.Random(0)
    both = (bare, other)
    all_ns: tuple[list[int], list[int]] = ([], [])
    medians: tuple[list[float], list[float]] = ([], [])
    means: tuple[list[float], list[float]] = ([], [])
    for _ in range(-(-steps // block)):
        for which in chance.sample((0, 1), 2):
            times = _run(both[which], work, block)
            all_ns[which].extend(times)
            medians[which].append(statistics.median(times))
            means[which].append(statistics.fmean(times))
    return Comparison(
        steps=len(all_ns[0]),
        bare_us=statistics.median(all_ns[0]) / 1000,
        other_us=statistics.median(all_ns[1]) / 1000,
        typical_us=_difference(*medians),
        mean_us=_difference(*means),
        bare_mean_us=statistics.median(means[0]) / 1000,
    )


def estimate(values: Sequence[float]) -> Estimate:
    """The bounds are order statistics (binomial, normal approximation): nothing is assumed of the distribution."""
    ordered = sorted(values)
    reach = 0.98 * len(ordered) ** 0.5
    low, high = (round(len(ordered) / 2 + sign * reach) for sign in (-1, 1))
    return Estimate(statistics.median(ordered), ordered[max(0, low - 1)], ordered[min(len(ordered) - 1, high)])


def spin(duration_us: float) -> Callable[[], None]:
    """Work of the host that leaves the processor's caches alone."""
    now = time.perf_counter_ns
    duration_ns = round(duration_us * 1000)

    def work() -> None:
        deadline = now() + duration_ns
        while now() < deadline:
            pass

    return work


def _run(variant: Variant, work: Callable[[], None], block: int) -> list[int]:
    """Nanoseconds of each ``next()``."""
    now = time.perf_counter_ns
    draw = variant.begin()
    times = []
    for _ in range(block + min(SETTLING, block // 4)):
        work()
        entered = now()
        draw()
        times.append(now() - entered)
    variant.end()
    return times[-block:]


def _difference(bare_ns: Sequence[float], other_ns: Sequence[float]) -> Estimate:
    return estimate([(other - own) / 1000 for own, other in zip(bare_ns, other_ns, strict=True)])
