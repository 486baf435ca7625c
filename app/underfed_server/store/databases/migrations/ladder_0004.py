"""How step 0004 makes tiers, roll-ups and histograms of a chunk's rows: figures and forms as they were then, for good.

The service's own may change; what this step leaves must stay what the steps after it, and files already upgraded, know.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

Column = NDArray[np.float64]
Columns = dict[str, Column]
Matrix = NDArray[np.float64]
"""``[figure of a record, bucket]``: rows, first index, first instant, then counts, sums, least and greatest."""
Counts = NDArray[np.int64]
"""Values of a measure in each bin."""

TIER_ROWS = 256
BINS_PER_OCTAVE = 32
BINS = 1 + 32 * BINS_PER_OCTAVE
HEAD, PARTS = 3, 4
LEVEL = 3

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "steps": (
        "step_index", "epoch_index", "batch_index", "start_us", "step_us", "data_wait_us", "queue_depth",
        "sampler_us", "gpu_idle_us", "gpu_work_us", "h2d_us", "h2d_exposed_us",
    ),
    "batches": (
        "epoch_index", "batch_index", "worker", "start_us", "load_us", "cpu_us", "process_cpu_us", "runqueue_us",
        "blocked_us", "collate_us", "pin_us", "asked_bytes", "read_bytes", "samples", "received_us",
    ),
    "process": (
        "at_us", "main_cpu_us", "main_runqueue_us", "process_cpu_us", "workers_cpu_us", "rss_bytes",
        "workers_rss_bytes", "threads", "open_files", "swap_bytes",
    ),
    "host": (
        "at_us", "busy_cores", "cpu_pressure_us", "io_pressure_us", "memory_pressure_us", "throttled_us",
        "memory_available_bytes", "memory_used_bytes", "swap_used_bytes", "shm_free_bytes", "disk_read_bytes",
        "disk_written_bytes", "network_received_bytes", "network_sent_bytes",
    ),
    "worker": ("at_us", "rss_bytes", "pss_bytes", "threads", "cpu_us"),
    "gpu": ("at_us", "util_fraction", "memory_used_bytes", "power_w", "own_process"),
}  # fmt: skip
RATES = {
    "disk_read_bytes_per_s": "disk_read_bytes",
    "disk_written_bytes_per_s": "disk_written_bytes",
    "network_received_bytes_per_s": "network_received_bytes",
    "network_sent_bytes_per_s": "network_sent_bytes",
}
MEASURES: Mapping[str, tuple[str, ...]] = {
    "steps": (
        "step_us", "data_wait_us", "queue_depth", "sampler_us", "gpu_idle_us", "gpu_work_us", "h2d_us",
        "h2d_exposed_us", "compute_us", "stall_us", "data_stall_fraction",
    ),
    "batches": ("load_us", "cpu_us", "runqueue_us", "blocked_us", "collate_us", "pin_us", "read_bytes"),
    "process": ("rss_bytes", "workers_rss_bytes", "threads", "open_files", "swap_bytes", "own_cores"),
    "host": (
        "busy_cores", "memory_available_bytes", "memory_used_bytes", "swap_used_bytes", "shm_free_bytes", *RATES,
    ),
    "worker": ("rss_bytes", "pss_bytes", "threads"),
    "gpu": ("util_fraction", "memory_used_bytes", "power_w", "own_process"),
}  # fmt: skip
BINNED: Mapping[str, tuple[str, ...]] = {
    "steps": ("step_us", "data_wait_us", "compute_us", "gpu_idle_us", "h2d_us", "h2d_exposed_us"),
    "batches": ("load_us",),
}


def rows_of(kind: str, body: bytes) -> Columns:
    """All columns of a chunk of this kind of lane, with the measures that are made of several."""
    columns = _unpacked(_decoded(body))
    rows = length(columns)
    columns |= {name: np.full(rows, np.nan) for name in COLUMNS[kind] if name not in columns}
    if kind == "steps":
        return columns | _of_steps(columns)
    if kind == "host":
        return columns | {rate: _per_us(columns[name], columns["at_us"]) * 1e6 for rate, name in RATES.items()}
    if kind == "process":
        return columns | {"own_cores": _per_us(columns["process_cpu_us"] + columns["workers_cpu_us"], columns["at_us"])}
    return columns


def length(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def _decoded(body: bytes) -> Columns:
    start = 4 + int.from_bytes(body[:4], "little")
    rows, parts = msgspec.msgpack.decode(body[4:start])
    columns: Columns = {}
    for name, kind, width, size in parts:
        columns[name] = np.full(rows, np.nan) if kind == "n" else _column(kind, width, body[start : start + size], rows)
        start += size
    return columns


def _column(kind: str, width: int, frame: bytes, rows: int) -> Column:
    """``f``: floats; ``d``: differences; ``z``: with a sign; ``u``: without one."""
    planes = np.frombuffer(zstandard.ZstdDecompressor().decompress(frame), np.uint8).reshape(width, rows)
    words = sum((plane.astype(np.uint64) << np.uint64(8 * place) for place, plane in enumerate(planes)), np.uint64(0))
    words = np.asarray(words, np.uint64)
    if kind == "f":
        return words.view(np.float64)
    signed = (words >> np.uint64(1)).view(np.int64) ^ -(words & np.uint64(1)).view(np.int64)
    if kind == "d":
        return np.cumsum(signed).astype(np.float64)
    figures = (words if kind == "u" else signed).astype(np.float64)
    return np.where(words == np.uint64(2 ** (8 * width) - 1), np.nan, figures)


def _unpacked(columns: Columns) -> Columns:
    """With what a chunk holds as a small difference put back."""
    if "gap_us" in columns:
        steps = np.nan_to_num(columns["step_us"])
        columns["start_us"] = np.cumsum(columns.pop("gap_us") + np.concatenate(([0.0], steps[:-1])))
    if "rest_us" in columns:
        told = sum(np.nan_to_num(columns[name]) for name in ("cpu_us", "runqueue_us", "blocked_us"))
        columns["load_us"] = columns.pop("rest_us") + told
    if "handed_us" in columns:
        columns["received_us"] = columns.pop("handed_us") + columns["start_us"] + columns["load_us"]
    return columns


def _of_steps(columns: Columns) -> Columns:
    step, wait = columns["step_us"], columns["data_wait_us"]
    stall = np.where(np.isnan(step), np.nan, _stall_us(wait, columns["gpu_idle_us"], columns["queue_depth"]))
    fraction = np.full(len(step), np.nan)
    np.divide(stall, step, out=fraction, where=step > 0)
    return {"compute_us": step - wait, "stall_us": stall, "data_stall_fraction": fraction}


def _stall_us(wait_us: Column, idle_us: Column, queue_depth: Column) -> Column:
    timed, ready = np.isfinite(idle_us), queue_depth >= 1
    blocking = np.count_nonzero(timed & ~ready) >= 0.8 * np.count_nonzero(~ready)
    if not (timed.any() and blocking and np.count_nonzero(timed & ready) >= np.count_nonzero(ready) // 32):
        return wait_us
    stall = idle_us.copy()
    for kind in (ready, ~ready):
        known, missing = kind & timed, kind & ~timed
        waited = float(np.sum(wait_us[known]))
        share = min(1.0, float(np.sum(idle_us[known])) / waited) if waited > 0 else float(not known.any())
        stall[missing] = wait_us[missing] * share
    return stall


def _per_us(grown: Column, at_us: Column) -> Column:
    by, within_us = np.diff(grown, prepend=np.nan), np.diff(at_us, prepend=np.nan)
    rate = np.full(len(grown), np.nan)
    np.divide(by, within_us, out=rate, where=(by >= 0) & (within_us > 0))
    return rate


def tier_of(kind: str, columns: Columns, rows_before: int) -> Matrix:
    """A bucket for 256 rows each; ``columns`` come from :func:`rows_of`."""
    instants = columns["start_us" if kind in ("steps", "batches") else "at_us"]
    at = np.arange(0, len(instants), TIER_ROWS)
    index = columns.get("step_index", rows_before + np.arange(len(instants), dtype=np.float64))
    head = (np.diff(at, append=len(instants)).astype(np.float64), index[at], instants[at])
    parts = zip(*(_reduced(columns[name], at) for name in MEASURES[kind]), strict=True)
    return np.stack((*head, *(figures for part in parts for figures in part)))


def _reduced(column: Column, at: NDArray[np.int64]) -> tuple[Column, Column, Column, Column]:
    known = np.isfinite(column)
    return (
        np.add.reduceat(known.astype(np.float64), at),
        np.add.reduceat(np.where(known, column, 0.0), at),
        np.fmin.reduceat(column, at),
        np.fmax.reduceat(column, at),
    )


def total(matrix: Matrix) -> Matrix:
    """All buckets as one."""
    count, sums, least, most = matrix[HEAD:].reshape(PARTS, -1, matrix.shape[1])
    parts = (
        count.sum(axis=1),
        np.add.reduceat(sums, [0], axis=1)[:, 0],
        np.fmin.reduce(least, 1),
        np.fmax.reduce(most, 1),
    )
    return np.concatenate((matrix[:1].sum(axis=1), matrix[1:HEAD, 0], *parts))[:, None]


def merged(left: Matrix, right: Matrix) -> Matrix:
    """Two nodes as one."""
    return total(np.concatenate((left, right), axis=1))


def tier_to_bytes(tier: Matrix) -> bytes:
    """In byte planes, compressed, behind the number of figures."""
    figures, buckets = tier.shape
    planes = tier.astype("<f8").view(np.uint8).reshape(figures, buckets, 8).transpose(0, 2, 1)
    head: bytes = figures.to_bytes(2, "little")
    return head + _compressed(planes.tobytes())


def counts_of(column: Column) -> Counts:
    octaves = np.log2(np.maximum(column[np.isfinite(column)], 0.5))
    bins = np.clip(np.floor(octaves * BINS_PER_OCTAVE).astype(np.intp) + 1, 0, BINS - 1)
    return np.bincount(bins, minlength=BINS)


def counts_to_bytes(counts: Counts) -> bytes:
    """From the first bin that has something to the last, in as few bytes as the largest needs."""
    used = np.flatnonzero(counts)
    low, trimmed = int(used[0]), counts[used[0] : used[-1] + 1]
    width = next(width for width in (1, 2, 4, 8) if int(trimmed.max()) < 2 ** (8 * width))
    return low.to_bytes(2, "little") + bytes([width]) + _compressed(trimmed.astype(f"<u{width}").tobytes())


def _compressed(body: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=LEVEL).compress(body)
