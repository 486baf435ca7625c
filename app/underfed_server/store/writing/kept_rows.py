"""Decoded rows that stay in memory for who reads them next: as many bytes as may be.

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
            self._drop(key)
            self._kept[key], self._bytes = _Kept(value, size, self._clock()), self._bytes + size
            while self._bytes > self._most_bytes:
                oldest = next(iter(self._kept))
                is_used = self._kept[oldest].used_at > self._clock() - LATELY_S
                self._drop(key if is_used else oldest)

    def _drop(self, key: K) -> None:
        kept = self._kept.pop(key, None)
        self._bytes -= 0 if kept is None else kept.size
