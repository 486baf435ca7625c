"""How much longer the same CPU work takes while other cores are busy: hyperthreads, shared caches, clock speed.

A batch that costs 11 ms of CPU alone cost 20 ms beside a busy sibling hyperthread (own study), so a prediction needs
this curve. It is measured on the host before training starts; where it was not, the span of what machines
do takes its place and widens the interval.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from underfed_server.advice.prediction.processor import Slowdown

WORST_FULL = 1.8
"""All cores busy against one, where two hyperthreads share a core (own study, 1.77–1.8)."""

LIKELY_FULL = 1.15
"""Between whole cores (1.0) and hyperthreads, when nothing is known."""


def curve_through(points: Sequence[tuple[float, float]], recorded_cores: float) -> Slowdown:
    """Piecewise linear through measured ``(busy cores, factor)``, 1.0 at the concurrency of the recorded run."""
    ordered = sorted(points)
    at_recording = _interpolate(ordered, recorded_cores)
    return lambda busy: _interpolate(ordered, busy) / at_recording


def assumed_curve(usable_cores: float, full: float, recorded_cores: float) -> Slowdown:
    """Flat up to half the cores (one hyperthread each), then rising to ``full`` with all of them busy."""
    points = [(0.0, 1.0), (max(1.0, usable_cores / 2), 1.0), (max(1.0, usable_cores) + 1e-9, full)]
    return curve_through(points, recorded_cores)


def _interpolate(points: Sequence[tuple[float, float]], busy: float) -> float:
    position = bisect_left([cores for cores, _ in points], busy)
    if position == 0:
        return points[0][1]
    if position == len(points):
        return points[-1][1]
    (left, low), (right, high) = points[position - 1], points[position]
    return low + (high - low) * (busy - left) / (right - left)
