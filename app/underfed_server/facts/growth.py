"""How fast a sampled quantity grows, and whether that is more than jitter."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from underfed_server.measurements import Column

LEAST_SPAN_US = 300_000_000
"""Less than five minutes show start-up: caches that fill, and pages of the data set that workers copy as they first
touch them. Start-up that is over does not show what an hour brings."""

SOON_US = 60_000_000
"""For what grows or not at present, of which nothing is forecast: less than a minute shows little but jitter."""

LASTING = 0.5
"""Of the growth over the whole span, what its later half has at least: else it is coming to an end."""

MOST_POINTS = 100
"""Samples that are compared with each other, evenly spread: 4,950 pairs, for each worker at each judgement."""

US_PER_HOUR = 3.6e9

GROWS_FRACTION_PER_HOUR = 0.10
"""Share of the present size per hour: with this growth it doubles within a night's training."""

GROWN_FRACTION = 0.02
"""Least growth seen, however steep: allocators take and give back a hundredth at any time."""


@dataclass(frozen=True, slots=True)
class Growth:
    per_hour: float
    """The median slope between all pairs of samples (Theil–Sen), which 29 % of outliers do not move."""
    is_real: bool
    """By more than jitter, and at the end, too."""


def growth_of(at_us: Column, values: Column, least_span_us: int = LEAST_SPAN_US) -> Growth | None:
    """``None``: less than ``least_span_us`` was sampled."""
    if not may_show_growth(at_us, least_span_us):
        return None
    at_us, values = _known(at_us, values)
    if len(values) < 2 or not may_show_growth(at_us, least_span_us):
        return None
    slope = _slope(at_us, values) * US_PER_HOUR
    typical, hours = float(np.median(values)), float(at_us[-1] - at_us[0]) / US_PER_HOUR
    # A tenth of 0 is 0: what stays at 0 does not grow.
    is_more = slope > 0 and slope >= GROWS_FRACTION_PER_HOUR * typical and slope * hours >= GROWN_FRACTION * typical
    return Growth(slope, bool(is_more) and _still_grows(at_us, values, slope))


def may_show_growth(at_us: Column, least_span_us: int = LEAST_SPAN_US) -> bool:
    """Whether enough was sampled, whatever of it was measured."""
    return len(at_us) > 0 and bool(at_us[-1] - at_us[0] >= least_span_us)


def growth_per_hour(at_us: Column, values: Column, least_span_us: int = LEAST_SPAN_US) -> float | None:
    """As :func:`growth_of`."""
    growth = growth_of(at_us, values, least_span_us)
    return None if growth is None else growth.per_hour


def is_growing(at_us: Column, values: Column, least_span_us: int = LEAST_SPAN_US) -> bool | None:
    """Whether the growth is real; ``None`` as in :func:`growth_of`."""
    growth = growth_of(at_us, values, least_span_us)
    return None if growth is None else growth.is_real


def _still_grows(at_us: Column, values: Column, slope: float) -> bool:
    """``slope``: of the whole span, in an hour."""
    later = at_us >= (at_us[0] + at_us[-1]) / 2
    return int(np.count_nonzero(later)) < 2 or _slope(at_us[later], values[later]) * US_PER_HOUR >= LASTING * slope


def _slope(at_us: Column, values: Column) -> float:
    """In a microsecond."""
    chosen = _spread(len(values))
    earlier, later = _pairs(len(chosen))
    at_us, values = at_us[chosen], values[chosen]
    return float(np.median((values[later] - values[earlier]) / (at_us[later] - at_us[earlier])))


@lru_cache(1024)
def _spread(count: int) -> NDArray[np.intp]:
    """Places among ``count``: those of all workers of a run are the same."""
    return np.unique(np.linspace(0, count - 1, MOST_POINTS).astype(np.intp))


@cache
def _pairs(points: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Each with each later one; at most :data:`MOST_POINTS`."""
    return np.triu_indices(points, 1)


def _known(at_us: Column, values: Column) -> tuple[Column, Column]:
    known = np.isfinite(values)
    return at_us[known], values[known]
