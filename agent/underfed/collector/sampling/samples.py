"""Columns of samples taken once a second, and the pace of measurements that cost more than a sample."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

Row = Mapping[str, int | float | bool | None]

MEASURING_SHARE = 2000
"""All costly measurements of a collector take at most 1 / this of a core: a twentieth of its 1 %."""


class Columns:
    """Rows since the last ``take()``, equally long columns from it. A quantity that no row has is no column."""

    def __init__(self) -> None:
        self._rows: list[tuple[int, Row]] = []

    def add(self, at_us: int, row: Row) -> None:
        self._rows.append((at_us, row))

    def take(self) -> dict[str, list[int | float | bool | None]] | None:
        rows, self._rows = self._rows, []
        names = dict.fromkeys(name for _, row in rows for name, value in row.items() if value is not None)
        if not names:
            return None
        return {"at_us": [at_us for at_us, _ in rows], **{name: [row.get(name) for _, row in rows] for name in names}}


class CostlyPace:
    """The pace of all costly measurements of all ranks: after a long one there is a long pause."""

    def __init__(self) -> None:
        self._due = 0.0

    def is_due(self) -> bool:
        return time.monotonic() >= self._due

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Put it around one measurement. CPU time of this thread counts, the kernel's part included."""
        before = time.thread_time()
        try:
            yield
        finally:
            self._due = time.monotonic() + (time.thread_time() - before) * MEASURING_SHARE
