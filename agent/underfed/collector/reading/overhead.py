"""The agent's time on the training thread, per step: what each step costs, and the few that are looked at closely."""

from __future__ import annotations

from collections import deque
from statistics import median

KEPT = 63
"""Samples per kind for a median: a preempted thread shows milliseconds that the agent did not use."""


class Kind:
    """Steps that cost about the same, and how many came since the last ``take()``."""

    def __init__(self) -> None:
        self._samples: deque[int] = deque(maxlen=KEPT)
        self._new = 0

    def add(self, own_ns: int) -> None:
        self._samples.append(own_ns)
        self._new += 1

    @property
    def is_known(self) -> bool:
        return bool(self._samples)

    def typical_ns(self) -> float:
        return median(self._samples) if self._samples else 0.0

    def take_ns(self) -> float:
        """What the new ones cost together."""
        new, self._new = self._new, 0
        return new * self.typical_ns()


class Overhead:
    """What any step costs, as the sampled ones show, and what a close look costs on top, or to measure a batch."""

    def __init__(self) -> None:
        self._plain, self._looked, self._measured = Kind(), Kind(), Kind()

    def add(self, own_ns: int, closely_ns: int, is_measured: bool) -> None:
        """Of one sampled step."""
        self._plain.add(own_ns)
        (self._measured if is_measured else self._looked).add(closely_ns)

    def take(self, steps: int) -> float | None:
        """Mean in µs over ``steps``, from the median of each kind; ``None`` before any was sampled."""
        if not steps or not self._plain.is_known:
            return None
        closely_ns = self._looked.take_ns() + self._measured.take_ns()
        return round((self._plain.typical_ns() + closely_ns / steps) / 1000, 3)
