"""Recorded rows as judges read them: all of a rank's, or its newest, through all incarnations.

Every column is float64 with NaN for "not measured"; instants are on the run's clock, which reads 0 when the run
started; steps are counted through all incarnations of the rank. Oldest row first.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import TypeVar

import numpy as np

from underfed_server.store.columns.chunks import Column, Columns
from underfed_server.store.columns.lanes import columns_of, joined, length
from underfed_server.store.reading.tracks import Reader, Track, shifted


@dataclass(frozen=True, slots=True, eq=False)
class StepRows:
    step_index: Column
    epoch_index: Column
    batch_index: Column
    """Within the epoch."""
    start_us: Column
    step_us: Column
    """NaN for a step whose end was not seen: the last before a pause."""
    data_wait_us: Column
    queue_depth: Column
    sampler_us: Column
    """Drawing indices in the training process, part of the wait."""
    gpu_idle_us: Column
    """Measured in every step that could block, and in some of the others."""
    gpu_work_us: Column
    """Measured where the device still worked when the next batch was requested."""
    h2d_us: Column
    h2d_exposed_us: Column

    def __len__(self) -> int:
        return len(self.step_us)


@dataclass(frozen=True, slots=True, eq=False)
class BatchRows:
    epoch_index: Column
    batch_index: Column
    worker: Column
    """NaN: loaded in the training process."""
    start_us: Column
    load_us: Column
    cpu_us: Column
    process_cpu_us: Column
    """Of all threads of the loading process meanwhile, handing over the batch before included."""
    runqueue_us: Column
    blocked_us: Column
    collate_us: Column
    pin_us: Column
    asked_bytes: Column
    read_bytes: Column
    samples: Column
    received_us: Column
    """The instant at which the training process had it."""

    def __len__(self) -> int:
        return len(self.load_us)


@dataclass(frozen=True, slots=True, eq=False)
class ProcessRows:
    """CPU times are cumulative for the incarnation: a smaller one than before is of a new process."""

    at_us: Column
    main_cpu_us: Column
    main_runqueue_us: Column
    process_cpu_us: Column
    workers_cpu_us: Column
    rss_bytes: Column
    workers_rss_bytes: Column
    threads: Column
    open_files: Column
    """Of the training process."""
    swap_bytes: Column
    """Of it and its workers."""

    def __len__(self) -> int:
        return len(self.at_us)


@dataclass(frozen=True, slots=True, eq=False)
class WorkerRows:
    """One worker number of a loader, through all processes that had it."""

    at_us: Column
    rss_bytes: Column
    pss_bytes: Column
    """Every tenth sample has it: reading it is slow."""
    threads: Column
    cpu_us: Column
    """Cumulative for the process."""

    def __len__(self) -> int:
        return len(self.at_us)


@dataclass(frozen=True, slots=True, eq=False)
class HostRows:
    at_us: Column
    busy_cores: Column
    """Of the allowed CPUs, by anyone."""
    cpu_pressure_us: Column
    io_pressure_us: Column
    memory_pressure_us: Column
    throttled_us: Column
    memory_available_bytes: Column
    memory_used_bytes: Column
    """Of the control group where it limits memory."""
    swap_used_bytes: Column
    shm_free_bytes: Column
    disk_read_bytes: Column
    """Since the machine started, like the three that follow; a smaller one than before: it was started anew."""
    disk_written_bytes: Column
    network_received_bytes: Column
    network_sent_bytes: Column

    def __len__(self) -> int:
        return len(self.at_us)


@dataclass(frozen=True, slots=True, eq=False)
class GpuRows:
    at_us: Column
    util_fraction: Column
    memory_used_bytes: Column
    power_w: Column
    own_process: Column
    """1: this rank's training process computes on it, 0: it does not."""

    def __len__(self) -> int:
        return len(self.at_us)


Rows = TypeVar("Rows", StepRows, BatchRows, ProcessRows, HostRows, WorkerRows, GpuRows)


def read_rows(
    kind: type[Rows], reader: Reader, run_id: str, rank: int, lane: str, run_started_at: datetime, last: int | None
) -> Rows:
    """The newest ``last`` rows of a lane, all of them by default; empty columns where nothing was recorded.

    Those that retention gave up are not among them.
    """
    parts: list[Columns] = []
    missing = last
    for track in reversed(reader.tracks(run_id, rank, lane, run_started_at)):
        found = _newest(reader, track, missing)
        parts[:0] = [shifted(track, columns) for columns in found]
        if missing is not None:
            missing -= sum(length(columns) for columns in found)
            # What lies before a gap is not what came before.
            if missing <= 0 or track.dropped_chunks:
                break
    columns = joined(parts) if parts else {name: np.empty(0) for name in columns_of(lane)}
    first = 0 if last is None else max(0, length(columns) - last)
    return kind(**{each.name: columns[each.name][first:] for each in fields(kind)})


def _newest(reader: Reader, track: Track, last: int | None) -> list[Columns]:
    """At least ``last`` rows where there are so many, in order."""
    hot = reader.hot_rows(track)
    parts = [] if hot is None else [hot]
    missing = track.chunk_rows if last is None else last - sum(length(columns) for columns in parts)
    if missing <= 0 or not track.chunks:
        return parts
    since = 0 if last is None else first_needed(reader, track, missing)
    return reader.chunk_rows(track, range(since, track.chunks), columns_of(track.lane)) + parts


def first_needed(reader: Reader, track: Track, rows: int) -> int:
    """The ordinal from which on the track's chunks have at least ``rows``."""
    # Chunks differ in size, but seldom by much: look at twice as many as the mean asks for before looking at all.
    guess = max(0, track.chunks - 2 - 2 * rows * track.chunks // max(1, track.chunk_rows))
    for since in (guess, 0):
        found = 0
        for place in reversed(reader.chunk_places(track, since)):
            found += place.rows
            if found >= rows:
                return place.ordinal
    return 0
