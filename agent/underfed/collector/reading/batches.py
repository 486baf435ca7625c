"""Joins what loaded a batch with when the training process had it, for one loader."""

from __future__ import annotations

from dataclasses import dataclass

from underfed.collector.wire import LONGEST_US, STEPS, Batches
from underfed.exchange.ring_format import NOT_MEASURED

WAITING = 4096
"""Loaded batches that are waited for, and arrivals that wait for theirs: far above any prefetch capacity."""

Key = tuple[int, int]
"""Epoch and batch index."""


@dataclass(frozen=True, slots=True)
class Load:
    """How one batch was loaded. ``NOT_MEASURED`` where a value is unknown."""

    epoch_index: int
    batch_index: int
    worker: int
    start_us: int
    end_us: int
    cpu_us: int
    runqueue_us: int
    collate_us: int
    process_cpu_us: int
    asked_bytes: int
    read_bytes: int
    samples: int


@dataclass(frozen=True, slots=True)
class LoadedBatch:
    load: Load
    received_us: int
    pin_us: int


class LoaderBatches:
    """Either half may come first. ``take()`` hands out the batches that are complete."""

    def __init__(self, loader: str) -> None:
        self.loader = loader
        self._loads: dict[Key, Load] = {}
        self._arrivals: dict[Key, int] = {}
        self._pins: dict[Key, int] = {}
        self._joined: list[LoadedBatch] = []
        self._over: set[int] = set()

    @property
    def waiting(self) -> int:
        """Loaded, and not yet seen to arrive."""
        return len(self._loads)

    def loaded(self, load: Load) -> None:
        key = (load.epoch_index, load.batch_index)
        if key in self._arrivals:
            self._join(load, self._arrivals.pop(key))
        elif load.epoch_index in self._over:
            self._join(load, NOT_MEASURED)
        else:
            self._loads[key] = load
            if len(self._loads) > WAITING:
                self._join_unreceived(next(iter(self._loads)))

    def arrived(self, epoch_index: int, batch_index: int, received_us: int) -> None:
        key = (epoch_index, batch_index)
        if key in self._loads:
            self._join(self._loads.pop(key), received_us)
            return
        self._arrivals[key] = received_us
        if len(self._arrivals) > WAITING:
            del self._arrivals[next(iter(self._arrivals))]

    def pinned(self, epoch_index: int, batch_index: int, pin_us: int) -> None:
        """Before it arrives: it was copied into page-locked memory."""
        self._pins[epoch_index, batch_index] = pin_us
        if len(self._pins) > WAITING:
            del self._pins[next(iter(self._pins))]

    def end_epoch(self, epoch_index: int) -> None:
        """Nothing of it will arrive any more: what was loaded for it was never used."""
        self._over = {epoch for epoch in self._over if epoch > epoch_index - 64} | {epoch_index}
        for key in [key for key in self._loads if key[0] == epoch_index]:
            self._join_unreceived(key)
        for key in [key for key in self._arrivals if key[0] == epoch_index]:
            del self._arrivals[key]

    def finish(self) -> None:
        for key in list(self._loads):
            self._join_unreceived(key)

    def take(self) -> list[Batches]:
        """Grouped so that a column is measured for all batches of an object or for none."""
        joined, self._joined = self._joined, []
        groups: dict[tuple[int, tuple[bool, ...]], list[LoadedBatch]] = {}
        for batch in joined:
            groups.setdefault((batch.load.epoch_index, _measured(batch)), []).append(batch)
        return [
            _columns(self.loader, epoch_index, batches[start : start + STEPS])
            for (epoch_index, _), batches in groups.items()
            for start in range(0, len(batches), STEPS)
        ]

    def _join_unreceived(self, key: Key) -> None:
        self._join(self._loads.pop(key), NOT_MEASURED)

    def _join(self, load: Load, received_us: int) -> None:
        pin_us = self._pins.pop((load.epoch_index, load.batch_index), NOT_MEASURED)
        self._joined.append(LoadedBatch(load, received_us, pin_us))


def _measured(batch: LoadedBatch) -> tuple[bool, ...]:
    load = batch.load
    fields = (load.worker, load.process_cpu_us, load.runqueue_us, load.asked_bytes, load.read_bytes, load.samples)
    return tuple(value != NOT_MEASURED for value in (*fields, batch.received_us, batch.pin_us))


def _columns(loader: str, epoch_index: int, batches: list[LoadedBatch]) -> Batches:
    loads = [batch.load for batch in batches]
    parts = [_parts(load) for load in loads]
    has_runqueue = loads[0].runqueue_us != NOT_MEASURED
    return Batches(
        loader=loader,
        epoch_index=epoch_index,
        batch_index=[load.batch_index for load in loads],
        worker=_column([load.worker for load in loads]),
        start_us=[load.start_us for load in loads],
        load_us=[load.end_us - load.start_us for load in loads],
        cpu_us=[cpu_us for cpu_us, _, _ in parts],
        process_cpu_us=_column([min(load.process_cpu_us, LONGEST_US) for load in loads]),
        runqueue_us=[runqueue_us for _, runqueue_us, _ in parts] if has_runqueue else None,
        blocked_us=[blocked_us for _, _, blocked_us in parts] if has_runqueue else None,
        collate_us=[min(load.collate_us, load.end_us - load.start_us) for load in loads],
        asked_bytes=_column([load.asked_bytes for load in loads]),
        read_bytes=_column([load.read_bytes for load in loads]),
        samples=_column([load.samples for load in loads]),
        received_us=_column([batch.received_us for batch in batches]),
        pin_us=_column([batch.pin_us for batch in batches]),
    )


def _parts(load: Load) -> tuple[int, int, int]:
    """``(cpu, run queue, blocked)``, which add up to the load: the clocks differ by microseconds, blocked gives way."""
    load_us = load.end_us - load.start_us
    cpu_us = min(load.cpu_us, load_us)
    runqueue_us = min(max(0, load.runqueue_us), load_us - cpu_us)
    return cpu_us, runqueue_us, load_us - cpu_us - runqueue_us


def _column(values: list[int]) -> list[int] | None:
    return None if values[0] == NOT_MEASURED else values
