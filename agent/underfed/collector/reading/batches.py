"""Joins how each batch was loaded with when the training process received it, for one loader."""

from __future__ import annotations

from typing import Any

from underfed.collector.reading.dispatched import Row, one_batch
from underfed.collector.wire import STEPS, Batches

WAITING = 4096
"""Most loaded batches without an arrival, and arrivals without a batch: far above any prefetch capacity."""

SAMPLED = (
    "process_cpu_us",
    "runqueue_us",
    "blocked_us",
    "collate_us",
    "asked_bytes",
    "read_bytes",
    "samples",
)
"""What a worker measures of only some of its batches, where these are short."""

Key = tuple[int, int]
"""Epoch and batch index."""


class LoaderBatches:
    """Either half may come first. ``take()`` hands out the batches that are complete."""

    def __init__(self, loader: str) -> None:
        self.loader = loader
        self.requests_a_step: dict[int, int] = {}
        """Of epochs in which one rank asks for others, too."""
        self._parts: dict[Key, list[Row]] = {}
        """Of the batch of a step, in such epochs."""
        self._loads: dict[Key, Row] = {}
        self._arrivals: dict[Key, int] = {}
        self._pins: dict[Key, int] = {}
        self._joined: list[tuple[int, Row]] = []
        """With their epochs."""
        self._over: set[int] = set()

    @property
    def waiting(self) -> int:
        """Loaded batches that were not yet seen to arrive."""
        return len(self._loads)

    def loaded(self, epoch_index: int, row: Row) -> None:
        key = (epoch_index, row["batch_index"] or 0)
        if key in self._arrivals:
            self._join(key, row, self._arrivals.pop(key))
        elif epoch_index in self._over:
            self._join(key, row, None)
        else:
            self._loads[key] = row
            if len(self._loads) > WAITING:
                self._join_unreceived(next(iter(self._loads)))

    def arrived(self, epoch_index: int, batch_index: int, received_us: int) -> None:
        key = (epoch_index, batch_index)
        if key in self._loads:
            self._join(key, self._loads.pop(key), received_us)
            return
        self._arrivals[key] = received_us
        if len(self._arrivals) > WAITING:
            del self._arrivals[next(iter(self._arrivals))]

    def pinned(self, epoch_index: int, batch_index: int, pin_us: int) -> None:
        """The batch was copied into page-locked memory. Called before it arrives."""
        self._pins[epoch_index, batch_index] = pin_us
        if len(self._pins) > WAITING:
            del self._pins[next(iter(self._pins))]

    def end_epoch(self, epoch_index: int) -> None:
        """No more batches of it will arrive: other loaded ones were never used."""
        self._over = {epoch for epoch in self._over if epoch > epoch_index - 64} | {epoch_index}
        for key in [key for key in self._loads if key[0] == epoch_index]:
            self._join_unreceived(key)
        for waiting in (self._arrivals, self._parts):
            for key in [key for key in waiting if key[0] == epoch_index]:
                del waiting[key]

    def finish(self) -> None:
        for key in list(self._loads):
            self._join_unreceived(key)

    def take(self) -> list[Batches]:
        """Complete batches, grouped so that a column that is not sampled is measured for all of them or for none."""
        joined, self._joined = self._joined, []
        groups: dict[tuple[int, tuple[str, ...]], list[Row]] = {}
        for epoch_index, row in joined:
            unmeasured = tuple(name for name, value in row.items() if value is None and name not in SAMPLED)
            groups.setdefault((epoch_index, unmeasured), []).append(row)
        return [
            self._batches(epoch_index, rows[start : start + STEPS])
            for (epoch_index, _unmeasured), rows in groups.items()
            for start in range(0, len(rows), STEPS)
        ]

    def _batches(self, epoch_index: int, rows: list[Row]) -> Batches:
        columns: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
        for name, column in columns.items():
            if all(value is None for value in column):
                columns[name] = None
        return Batches(self.loader, epoch_index, **columns)

    def _join_unreceived(self, key: Key) -> None:
        self._join(key, self._loads.pop(key), None)

    def _join(self, key: Key, row: Row, received_us: int | None) -> None:
        row = {**row, "received_us": received_us, "pin_us": self._pins.pop(key, None)}
        ranks = self.requests_a_step.get(key[0], 1)
        if ranks > 1:
            step = key[0], key[1] // ranks
            parts = self._parts.setdefault(step, [])
            parts.append(row)
            if len(parts) < ranks:
                return
            row = one_batch(self._parts.pop(step), ranks)
        self._joined.append((key[0], row))
