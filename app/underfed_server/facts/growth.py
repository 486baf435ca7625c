"""How fast a sampled quantity grows, and whether that is more than jitter."""

from __future__ import annotations

import numpy as np

from underfed_server.measurements import Column

LEAST_SPAN_US = 60_000_000
"""Less than a minute shows little but start-up and jitter."""

MOST_POINTS = 200
"""Samples that are compared with each other, evenly spread: 19,900 pairs, a millisecond's work."""

US_PER_HOUR = 3.6e9

GROWS_FRACTION_PER_HOUR = 0.10
"""Share of the present size per hour: with this growth it doubles within a night's training."""

GROWN_FRACTION = 0.02
"""Least growth seen, however steep: allocators take and give back a hundredth at any time."""


def growth_per_hour(at_us: Column, values: Column) -> float | None:
    """The median slope between all pairs of samples (Theil–Sen), which 29 % of outliers do not move.

    ``None``: less than a minute was sampled.
    """
    at_us, values = _known(at_us, values)
    if len(values) < 2 or at_us[-1] - at_us[0] < LEAST_SPAN_US:
        return None
    chosen = np.unique(np.linspace(0, len(values) - 1, MOST_POINTS).astype(np.intp))
    earlier, later = np.triu_indices(len(chosen), 1)
    at_us, values = at_us[chosen], values[chosen]
    return float(np.median((values[later] - values[earlier]) / (at_us[later] - at_us[earlier]))) * US_PER_HOUR


def is_growing(at_us: Column, values: Column) -> bool | None:
    """Whether it grows by more than jitter; ``None`` as in :func:`growth_per_hour`."""
    slope = growth_per_hour(at_us, values)
    if slope is None:
        return None
    at_us, values = _known(at_us, values)
    typical, hours = float(np.median(values)), float(at_us[-1] - at_us[0]) / US_PER_HOUR
    # A tenth of 0 is 0: what stays at 0 does not grow.
    return slope > 0 and slope >= GROWS_FRACTION_PER_HOUR * typical and slope * hours >= GROWN_FRACTION * typical


def _known(at_us: Column, values: Column) -> tuple[Column, Column]:
    known = np.isfinite(values)
    return at_us[known], values[known]
