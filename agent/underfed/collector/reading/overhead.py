"""The agent's time on the training thread, per step: sampled for most steps, measured for batches loaded there."""

from __future__ import annotations

from collections import deque
from statistics import median

KEPT = 63
"""Samples per kind for a median: a preempted thread shows milliseconds that the agent did not use."""


class Overhead:
    """What a step of each kind typically costs, and how many of the second kind came since the last ``take()``."""

    def __init__(self) -> None:
        self._plain: deque[int] = deque(maxlen=KEPT)
        self._watched: deque[int] = deque(maxlen=KEPT)
        self._watched_steps = 0

    def plain(self, own_ns: int) -> None:
        self._plain.append(own_ns)

    def watched(self, own_ns: int) -> None:
        self._watched.append(own_ns)
        self._watched_steps += 1

    def take(self, steps: int) -> float | None:
        """Mean in µs over ``steps``, from the median of each kind; ``None`` before any was sampled."""
        watched_steps, self._watched_steps = min(steps, self._watched_steps), 0
        plain_steps = steps - watched_steps if self._plain else 0
        if not watched_steps + plain_steps:
            return None
        watched_ns = median(self._watched) * watched_steps if watched_steps else 0.0
        plain_ns = median(self._plain) * plain_steps if plain_steps else 0.0
        return round((watched_ns + plain_ns) / (watched_steps + plain_steps) / 1000, 3)
