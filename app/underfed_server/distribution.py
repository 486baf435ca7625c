"""How often values fell where: plain numbers that cost next to nothing to raise, read when somebody asks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
SIZES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)


class Distribution:
    """How often values fell where, as a Prometheus histogram wants it. Raised by one thread, read by any."""

    __slots__ = ("_bounds", "_counts", "total")

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        """``bounds``: upper ends of the buckets, ascending; one more bucket has what is above them."""
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        return sum(self._counts)

    def cumulative(self) -> list[tuple[str, float]]:
        """Upper end of each bucket and how many values lie at or below it; the last is ``+Inf``."""
        below, found = 0, []
        for bound, count in zip((*self._bounds, None), list(self._counts), strict=True):
            below += count
            found.append(("+Inf" if bound is None else str(bound), float(below)))
        return found
