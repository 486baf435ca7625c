"""Decoded rows that stay in memory for who reads them next: as many bytes as may be, those used last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class KeptRows(Generic[K, V]):
    """Any thread may use it."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[K, tuple[int, V]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            self._kept.move_to_end(key)
            return kept[1]

    def put(self, key: K, value: V, size: int) -> None:
        """``size``: bytes of the rows in ``value``."""
        with self._lock:
            self._bytes += size - self._kept.pop(key, (0, None))[0]
            self._kept[key] = size, value
            while self._bytes > self._most_bytes:
                self._bytes -= self._kept.popitem(last=False)[1][0]
