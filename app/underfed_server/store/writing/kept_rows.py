"""Decoded rows that stay in memory for who reads them next: as many bytes as may be, of what is still asked for.

Runs are judged in turn. Of rows that come by turns and are more than there is room for, those used last would each be
dropped just before they are asked for again, and none would ever be found: so rows that were used lately stay, and what
finds no room is not kept.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


LATELY_S = 30.0
"""A run is judged every ten seconds at the latest, or every few turns where there are more than can be."""

UNUSED_S = 150.0
"""A verdict that holds is found anew after two minutes: rows that nobody has asked for since are those of old chunks,
and of runs that have ended."""


@dataclass(slots=True)
class _Kept(Generic[V]):
    value: V
    size: int
    used_at: float


class KeptRows(Generic[K, V]):
    """Any thread may use it."""

    def __init__(self, most_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most_bytes = most_bytes
        self._clock = clock
        self._bytes = 0
        self._kept: OrderedDict[K, _Kept[V]] = OrderedDict()
        """Those used last are last."""
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            kept.used_at = self._clock()
            self._kept.move_to_end(key)
            return kept.value

    def put(self, key: K, value: V, size: int) -> None:
        """In place of what was kept of it. ``size``: bytes of the rows in ``value``."""
        with self._lock:
            now = self._clock()
            self._drop(key)
            self._kept[key], self._bytes = _Kept(value, size, now), self._bytes + size
            while self._used_at(oldest := next(iter(self._kept))) < now - UNUSED_S:
                self._drop(oldest)
            while self._bytes > self._most_bytes:
                oldest = next(iter(self._kept))
                is_used = self._used_at(oldest) > now - LATELY_S
                self._drop(key if is_used else oldest)

    def _used_at(self, key: K) -> float:
        return self._kept[key].used_at

    def _drop(self, key: K) -> None:
        kept = self._kept.pop(key, None)
        self._bytes -= 0 if kept is None else kept.size
