"""Our own time on the training thread, per step: plain steps are sampled, closely watched ones all known."""

from __future__ import annotations


class Overhead:
    """Since the last ``take()``."""

    def __init__(self) -> None:
        self._plain: list[int] = []
        self._watched: list[int] = []
        self._plain_ns: float | None = None
        """Mean of the plain steps when any was last sampled: a window of slow steps may hold none."""

    def plain(self, own_ns: int) -> None:
        self._plain.append(own_ns)

    def watched(self, own_ns: int) -> None:
        self._watched.append(own_ns)

    def take(self, steps: int) -> float | None:
        """Mean in µs over ``steps``; ``None`` before any was sampled. Plain steps cost as those sampled last."""
        plain, watched = self._plain, self._watched
        self._plain, self._watched = [], []
        if plain:
            self._plain_ns = sum(plain) / len(plain)
        others = max(0, steps - len(watched)) if self._plain_ns is not None else 0
        counted = len(watched) + others
        if not steps or not counted:
            return None
        return round((sum(watched) + others * (self._plain_ns or 0.0)) / counted / 1000, 3)
