"""Our own time on the training thread, per step: plain steps are sampled, closely watched ones all known."""

from __future__ import annotations


class Overhead:
    """Since the last ``take()``."""

    def __init__(self) -> None:
        self._plain: list[int] = []
        self._watched: list[int] = []

    def plain(self, own_ns: int) -> None:
        self._plain.append(own_ns)

    def watched(self, own_ns: int) -> None:
        self._watched.append(own_ns)

    def take(self, steps: int) -> float | None:
        """Mean in µs over ``steps``; ``None`` where none was sampled. The others cost what the sampled ones did."""
        plain, watched = self._plain, self._watched
        self._plain, self._watched = [], []
        if not steps or not (plain or watched):
            return None
        others = max(0, steps - len(watched)) if plain else 0
        plain_ns = sum(plain) / len(plain) if plain else 0.0
        total_ns = sum(watched) + others * plain_ns
        return round(total_ns / (len(watched) + others) / 1000, 3) if watched or others else None
