"""Which windows the service's verdict is known to include: it says how old its verdict is, and not what it has read."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

MOST_WAITING = 64
"""Of a stream, windows that no verdict includes yet: a run may go on for days without one. The oldest are forgotten,
and count as included with a later one."""


class JudgedWindows:
    """Instants are of one monotonic clock, in seconds. One thread calls it; others may read ``newest``."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[tuple[int, float]]] = {}
        self.newest: Mapping[str, int] = {}
        """By stream, the newest window that the last verdict includes; replaced as a whole."""

    def acknowledged(self, stream: str, window_index: int, at: float) -> None:
        """The service has the window, or will never take it."""
        self._waiting.setdefault(stream, deque(maxlen=MOST_WAITING)).append((window_index, at))

    def judged(self, as_of: float) -> None:
        """What was acknowledged before ``as_of`` is in the verdict."""
        fresh = {}
        for stream, waiting in self._waiting.items():
            while waiting and waiting[0][1] <= as_of:
                fresh[stream], _ = waiting.popleft()
        if fresh:
            self.newest = {**self.newest, **fresh}
