"""Everything that agents measure row by row: each column of each kind of lane, declared once.

What the wire takes, how a column is rounded, rolled up, served and exported follows from its declaration here. To add a
column, declare it at the end of its class; to measure it, have the agent send it (docs/wire.md).

A column is float64 with NaN for "not measured". Instants are microseconds of a run clock: of the incarnation's as they
are stored, of the run's (0 when it started) as they are read. Rows are in order, the oldest first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from underfed_server.model import Unit

Column = NDArray[np.float64]
Columns = dict[str, Column]


def newest(column: Column) -> int | None:
    """The last that was measured; ``None``: nothing was."""
    # Mostly the last row has one, and of hundreds of workers it is asked at each judgement.
    if len(column) and math.isfinite(column[-1]):
        return int(column[-1])
    known = column[np.isfinite(column)]
    return int(known[-1]) if len(known) else None


def or_zero(values: Column) -> Column:
    """0 for what was not measured, in a sum. ``np.nan_to_num`` takes five times as long: it finds infinities, too."""
    return np.where(np.isnan(values), 0.0, values)


ValueKind = Literal["index", "instant", "duration", "count", "amount", "fraction", "flag", "total"]
"""What values a column has. ``count`` is a whole number, ``amount`` any; a ``total`` grows as long as its process, or
its host, lives; a ``flag`` is 0 or 1."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a column, or what is computed from several, has in it and is used for."""

    kind: ValueKind
    unit: Unit
    is_rolled_up: bool = True
    """Overviews have its count, sum, least and greatest."""
    has_histogram: bool = False
    """And its percentiles. Durations alone: a histogram takes as much room as all else of a roll-up."""
    is_served: bool = True
    """``/series`` has it, where it is rolled up."""
    is_sent: bool = True
    """It stands in a window; ``False``: it follows from other fields of the window."""
    exported_as: str | None = None
    """``None``: under its own name."""
    explained_by: str | None = None
    """Another fact whose reason for not being measured is this one's too."""
    made_of: tuple[str, ...] = ()
    """The columns of the lane that it is computed from (``store/columns/ladder.py`` says how)."""


INDEX = Measurement("index", "count", is_rolled_up=False)
INSTANT = Measurement("instant", "us", is_rolled_up=False)
DURATION = Measurement("duration", "us")
BINNED_DURATION = replace(DURATION, has_histogram=True)
COUNT = Measurement("count", "count")
BYTES = Measurement("count", "bytes")
CPU_TOTAL = Measurement("total", "us", is_rolled_up=False)
DISK_TOTAL = Measurement("total", "bytes", is_rolled_up=False, explained_by="disks")
NETWORK_TOTAL = replace(DISK_TOTAL, explained_by="networks")

Index = Annotated[Column, INDEX]
Instant = Annotated[Column, INSTANT]
Duration = Annotated[Column, DURATION]
BinnedDuration = Annotated[Column, BINNED_DURATION]
Count = Annotated[Column, COUNT]
Bytes = Annotated[Column, BYTES]
CpuTotal = Annotated[Column, CPU_TOTAL]
DiskTotal = Annotated[Column, DISK_TOTAL]
NetworkTotal = Annotated[Column, NETWORK_TOTAL]


@dataclass(frozen=True, slots=True, eq=False)
class StepRows:
    """Of one rank with one loader."""

    epoch_index: Annotated[Column, replace(INDEX, exported_as="epoch")]
    step_index: Annotated[Column, replace(INDEX, is_sent=False)]
    """Through all incarnations."""
    batch_index: Index
    """Within the epoch."""
    start_us: Annotated[Column, replace(INSTANT, exported_as="started_at")]
    step_us: BinnedDuration
    """NaN for a step whose end was not seen: the last before a pause."""
    data_wait_us: BinnedDuration
    sampler_us: Duration
    """The sampler, in the training process; part of the wait."""
    queue_depth: Count
    gpu_idle_us: BinnedDuration
    """Measured in every step that could block, and in some of the others."""
    gpu_work_us: Duration
    """Measured where the device still worked when the next batch was requested."""
    h2d_us: BinnedDuration
    h2d_exposed_us: BinnedDuration

    def __len__(self) -> int:
        return len(self.step_us)


@dataclass(frozen=True, slots=True, eq=False)
class BatchRows:
    """Of one rank with one loader, in the order in which the training process had them."""

    epoch_index: Index
    batch_index: Index
    worker: Index
    """NaN: loaded in the training process."""
    start_us: Annotated[Column, replace(INSTANT, exported_as="load_started_at")]
    load_us: BinnedDuration
    cpu_us: Duration
    process_cpu_us: Annotated[Column, replace(DURATION, is_rolled_up=False)]
    """Of all threads of the loading process meanwhile, handing over the batch before included."""
    runqueue_us: Duration
    blocked_us: Duration
    collate_us: Duration
    pin_us: Duration
    asked_bytes: Annotated[Column, replace(BYTES, is_rolled_up=False)]
    read_bytes: Bytes
    samples: Annotated[Column, replace(COUNT, is_rolled_up=False)]
    received_us: Annotated[Column, replace(INSTANT, exported_as="received_at")]
    """When the training process had it."""

    def __len__(self) -> int:
        return len(self.load_us)


@dataclass(frozen=True, slots=True, eq=False)
class ProcessRows:
    """CPU times are of the incarnation: a smaller one than before is of a new process."""

    at_us: Instant
    main_cpu_us: CpuTotal
    main_runqueue_us: CpuTotal
    process_cpu_us: CpuTotal
    workers_cpu_us: CpuTotal
    rss_bytes: Bytes
    workers_rss_bytes: Bytes
    threads: Count
    open_files: Count
    """Of the training process."""
    swap_bytes: Bytes
    """Of it and its workers."""
    written_bytes: Annotated[Column, Measurement("total", "bytes", is_rolled_up=False)]
    """Of the training process: what it passed to ``write``, to files or to anything else."""

    def __len__(self) -> int:
        return len(self.at_us)


@dataclass(frozen=True, slots=True, eq=False)
class WorkerRows:
    """One worker number of a loader, through all processes that had it."""

    at_us: Instant
    rss_bytes: Bytes
    pss_bytes: Bytes
    """Every tenth sample has it: reading it is slow."""
    threads: Count
    cpu_us: CpuTotal
    """Of the process."""
    received_bytes: Annotated[Column, Measurement("total", "bytes", is_rolled_up=False)]
    """By its own TCP connections; NaN: they come and go too fast, or were not seen."""
    connections: Annotated[Column, replace(COUNT, is_rolled_up=False)]
    """Of them, those open when it was asked."""

    def __len__(self) -> int:
        return len(self.at_us)


@dataclass(frozen=True, slots=True, eq=False)
class HostRows:
    at_us: Instant
    busy_cores: Annotated[Column, Measurement("amount", "cores")]
    """Of the allowed CPUs, by anyone."""
    cpu_pressure_us: CpuTotal
    io_pressure_us: CpuTotal
    memory_pressure_us: CpuTotal
    throttled_us: CpuTotal
    memory_available_bytes: Bytes
    memory_used_bytes: Bytes
    """Of the control group where it limits memory."""
    swap_used_bytes: Bytes
    shm_free_bytes: Bytes
    disk_read_bytes: DiskTotal
    """Since the machine started, like the three that follow; a smaller one than before: it was started anew."""
    disk_written_bytes: DiskTotal
    network_received_bytes: NetworkTotal
    network_sent_bytes: NetworkTotal

    def __len__(self) -> int:
        return len(self.at_us)


@dataclass(frozen=True, slots=True, eq=False)
class GpuRows:
    at_us: Instant
    util_fraction: Annotated[Column, Measurement("fraction", "fraction")]
    memory_used_bytes: Annotated[Column, replace(BYTES, explained_by="gpu_util_fraction")]
    power_w: Annotated[Column, Measurement("amount", "w", explained_by="gpu_util_fraction")]
    own_process: Annotated[Column, Measurement("flag", "count", is_served=False)]
    """1: this rank's training process computes on it, 0: it does not."""

    def __len__(self) -> int:
        return len(self.at_us)


Rows = TypeVar("Rows", StepRows, BatchRows, ProcessRows, WorkerRows, HostRows, GpuRows)


def chosen(rows: Rows, which: NDArray[np.int64] | NDArray[np.bool_]) -> Rows:
    """Some of the rows, by their places or by a mask."""
    if which.dtype == np.bool_ and which.all():
        return rows
    # Not by `fields` and `replace`, which take longer than the columns: a judgement chooses a hundred times.
    return type(rows)(*(getattr(rows, name)[which] for name in rows.__dataclass_fields__))


def _declared(rows: type[Any]) -> Mapping[str, Measurement]:
    hints = get_type_hints(rows, include_extras=True)
    return {each.name: hints[each.name].__metadata__[-1] for each in fields(rows)}


RECORDED: Mapping[str, Mapping[str, Measurement]] = {
    "steps": _declared(StepRows),
    "batches": _declared(BatchRows),
    "process": _declared(ProcessRows),
    "worker": _declared(WorkerRows),
    "host": _declared(HostRows),
    "gpu": _declared(GpuRows),
}
"""By kind of lane, the columns of its rows."""

COMPUTE, STALL, STALL_FRACTION, OWN_CORES = "compute_us", "stall_us", "data_stall_fraction", "own_cores"
OTHERS_WAIT = "others_wait_us"
"""Of a step: waits for the other loaders of the same loop. Their records show it, so no roll-up has it."""
PAUSE = "pause_us"
"""Of a step: what the program did in it beside the step's work, such as a validation. No roll-up has it either."""
BESIDE = (OTHERS_WAIT, PAUSE)
COPY = "exposed_copy_us"
RATES = {
    f"{name}_per_s": name for name, each in RECORDED["host"].items() if (each.kind, each.unit) == ("total", "bytes")
}
"""Measures of a host, with the columns that they are the growth of."""

_OF_STEPS = ("step_us", "data_wait_us", "gpu_idle_us", "queue_depth")
COMPUTED: Mapping[str, Mapping[str, Measurement]] = {
    "steps": {
        COMPUTE: replace(BINNED_DURATION, made_of=_OF_STEPS),
        STALL: replace(DURATION, is_served=False, made_of=_OF_STEPS),
        STALL_FRACTION: Measurement("fraction", "fraction", made_of=_OF_STEPS),
        COPY: replace(DURATION, is_served=False, made_of=("h2d_exposed_us", "queue_depth")),
    },
    "process": {
        OWN_CORES: Measurement("amount", "cores", made_of=("process_cpu_us", "workers_cpu_us", "at_us")),
    },
    "host": {
        rate: Measurement(
            "amount", "bytes_per_s", made_of=(total, "at_us"), explained_by=RECORDED["host"][total].explained_by
        )
        for rate, total in RATES.items()
    },
}
"""By kind of lane, what no column holds."""

MEASURES: Mapping[str, Mapping[str, Measurement]] = {
    kind: {name: each for name, each in {**COMPUTED.get(kind, {}), **recorded}.items() if each.is_rolled_up}
    for kind, recorded in RECORDED.items()
}
"""By kind of lane, what is rolled up. Roll-ups on disk have them in this order: a recorded column that is declared last
of its lane is new to old roll-ups, anything else in between is a migration of them."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One of ``/series``."""

    lane_kind: str
    measure: str
    unit: Unit
    explained_by: str | None


_PREFIXES = {"worker": "worker_", "gpu": "gpu_"}
METRICS: Mapping[str, Metric] = {
    _PREFIXES.get(kind, "") + name: Metric(kind, name, each.unit, each.explained_by)
    for kind, measures in MEASURES.items()
    for name, each in measures.items()
    if each.is_served
} | {name: Metric("steps", name, "us", None) for name in BESIDE}
"""By the name that they are asked for by."""


def names_of(lane_kind: str, kind: ValueKind) -> tuple[str, ...]:
    """The columns of a kind of lane that are of one kind themselves."""
    return tuple(name for name, each in RECORDED[lane_kind].items() if each.kind == kind)


def explained_by(metric: str) -> str | None:
    """The other fact whose reason for not being measured is this metric's too."""
    return METRICS[metric].explained_by if metric in METRICS else None
