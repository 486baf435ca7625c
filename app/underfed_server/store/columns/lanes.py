"""Lanes, in which recorded rows lie as columns: one for the steps and one for the batches of each loader, one for each
worker and for each other kind of samples.

A column is float64 with NaN for "not measured"; instants are of the incarnation's run clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from underfed_server.store.columns.chunks import Column, Columns

PROCESS, HOST = "process", "host"

STEP_COLUMNS = (
    "step_index", "epoch_index", "batch_index", "start_us",
    "step_us", "data_wait_us", "queue_depth", "sampler_us", "gpu_idle_us", "gpu_work_us", "h2d_us", "h2d_exposed_us",
)  # fmt: skip
BATCH_COLUMNS = (
    "epoch_index", "batch_index", "worker", "start_us", "load_us", "cpu_us", "process_cpu_us", "runqueue_us",
    "blocked_us", "collate_us", "pin_us", "asked_bytes", "read_bytes", "samples", "received_us",
)  # fmt: skip
PROCESS_COLUMNS = (
    "at_us", "main_cpu_us", "main_runqueue_us", "process_cpu_us", "workers_cpu_us", "rss_bytes",
    "workers_rss_bytes", "threads", "open_files", "swap_bytes",
)  # fmt: skip
HOST_COLUMNS = (
    "at_us", "busy_cores", "cpu_pressure_us", "io_pressure_us", "memory_pressure_us", "throttled_us",
    "memory_available_bytes", "memory_used_bytes", "swap_used_bytes", "shm_free_bytes", "disk_read_bytes",
    "disk_written_bytes", "network_received_bytes", "network_sent_bytes",
)  # fmt: skip
WORKER_COLUMNS = ("at_us", "rss_bytes", "pss_bytes", "threads", "cpu_us")
GPU_COLUMNS = ("at_us", "util_fraction", "memory_used_bytes", "power_w", "own_process")

GAP = "gap_us"
"""How a chunk holds ``start_us`` of a step: as the time between it and the end of the step before, mostly 0."""


LOAD_PARTS = ("cpu_us", "runqueue_us", "blocked_us")
REST = "rest_us"
"""How a chunk holds ``load_us`` of a batch: as what its parts leave of it, mostly 0."""

HANDED = "handed_us"
"""How a chunk holds ``received_us``: as the time from the end of loading, which is small."""


def steps_lane(loader: str) -> str:
    return f"steps:{loader}"


def batches_lane(loader: str) -> str:
    return f"batches:{loader}"


def worker_lane(loader: str, worker: int) -> str:
    return f"worker:{worker}:{loader}"


def worker_of(lane: str, loader: str) -> int | None:
    """Whose samples the lane has; ``None``: not those of a worker of ``loader``."""
    kind, _, rest = lane.partition(":")
    worker, _, name = rest.partition(":")
    return int(worker) if kind == "worker" and name == loader else None


def gpu_lane(gpu_index: int) -> str:
    return f"gpu:{gpu_index}"


def columns_of(lane: str) -> tuple[str, ...]:
    """The columns a lane has, measured or not."""
    return {
        "steps": STEP_COLUMNS,
        "batches": BATCH_COLUMNS,
        "process": PROCESS_COLUMNS,
        "host": HOST_COLUMNS,
        "worker": WORKER_COLUMNS,
        "gpu": GPU_COLUMNS,
    }[kind_of(lane)]


def kind_of(lane: str) -> str:
    return lane.partition(":")[0]


def instant_of(lane: str) -> str:
    """The column that says when a row of the lane was."""
    return "start_us" if kind_of(lane) in ("steps", "batches") else "at_us"


def joined(parts: Sequence[Columns]) -> Columns:
    """Rows one after the other; all parts have the same columns."""
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def length(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def index_of(columns: Columns, rows_before: int) -> Column:
    """What rows are counted by: a step's index, else their number in the lane."""
    if "step_index" in columns:
        return columns["step_index"]
    return rows_before + np.arange(length(columns), dtype=np.float64)


def packed(lane: str, columns: Columns) -> Columns:
    """As a chunk holds them."""
    if kind_of(lane) == "steps":
        start, ends = columns["start_us"], _ends(columns)
        return _instead(columns, {"start_us": (GAP, start - np.concatenate(([0.0], ends[:-1])))})
    if kind_of(lane) == "batches":
        load = columns["load_us"]
        rest = load - _parts_us(columns)
        handed = columns["received_us"] - columns["start_us"] - load
        return _instead(columns, {"load_us": (REST, rest), "received_us": (HANDED, handed)})
    return columns


def unpacked(columns: Columns) -> Columns:
    """The reverse of :func:`packed`. ``columns`` may be some of a chunk's, as :func:`stored_names` names them."""
    if GAP in columns:
        steps = np.nan_to_num(columns["step_us"])
        start = np.cumsum(columns[GAP] + np.concatenate(([0.0], steps[:-1])))
        return _instead(columns, {GAP: ("start_us", start)})
    if REST in columns:
        columns = _instead(columns, {REST: ("load_us", columns[REST] + _parts_us(columns))})
    if HANDED in columns:
        received = columns[HANDED] + columns["start_us"] + columns["load_us"]
        columns = _instead(columns, {HANDED: ("received_us", received)})
    return columns


def stored_names(lane: str, names: Iterable[str]) -> set[str]:
    """What must be read from a chunk to have ``names``."""
    wanted = set(names)
    if kind_of(lane) == "steps" and "start_us" in wanted:
        wanted |= {GAP, "step_us"}
    if kind_of(lane) == "batches" and "received_us" in wanted:
        wanted |= {HANDED, "start_us", "load_us"}
    if kind_of(lane) == "batches" and "load_us" in wanted:
        wanted |= {REST, *LOAD_PARTS}
    return wanted


def _instead(columns: Columns, others: Mapping[str, tuple[str, Column]]) -> Columns:
    """The same order, with some columns replaced by others of another name."""
    return dict(others.get(name, (name, column)) for name, column in columns.items())


def _parts_us(columns: Columns) -> Column:
    """What of loading a batch is told apart; what was not measured counts for nothing."""
    parts: Column = sum((np.nan_to_num(columns[name]) for name in LOAD_PARTS), np.zeros(length(columns)))
    return parts


def _ends(columns: Columns) -> Column:
    """An open step ends where it began, as far as the next one's start is told from it."""
    return columns["start_us"] + np.nan_to_num(columns["step_us"])
