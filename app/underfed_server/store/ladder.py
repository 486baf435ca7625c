"""Roll-ups: what a bucket of consecutive rows measured, by which an overview costs the same for any length of run.

A chunk has a tier of them (one for 256 rows); above it, ``rollup`` has one for every 2, 4, 8, … consecutive chunks.
Merging two is exact: counts and sums add, extremes compare.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from underfed_server.store.chunks import Column, Columns, decode, encode
from underfed_server.store.lanes import instant_of, kind_of, length
from underfed_server.store.stall import stall_us

TIER_ROWS = 256
"""Rows of a tier's bucket. Finer buckets are made from a chunk's rows: for N of them that is at most 256 × N rows."""

BINS_PER_OCTAVE = 4
"""Bins of load times: each edge 19 % above the one before, 128 of them up to 2^32 µs."""
BINS = 32 * BINS_PER_OCTAVE

COMPUTE, STALL, STALL_FRACTION = "compute_us", "stall_us", "data_stall_fraction"

MEASURES = {
    "steps": (
        "step_us", "data_wait_us", "queue_depth", "sampler_us", "gpu_idle_us", "gpu_work_us", "h2d_us",
        "h2d_exposed_us", COMPUTE, STALL, STALL_FRACTION,
    ),
    "batches": ("load_us", "cpu_us", "runqueue_us", "blocked_us", "collate_us", "pin_us", "read_bytes"),
    "process": ("rss_bytes", "workers_rss_bytes", "threads", "open_files", "swap_bytes"),
    "host": ("busy_cores", "memory_available_bytes", "memory_used_bytes", "swap_used_bytes", "shm_free_bytes"),
    "worker": ("rss_bytes", "pss_bytes", "threads"),
    "gpu": ("util_fraction", "memory_used_bytes", "power_w", "own_process"),
}  # fmt: skip
"""By kind of lane."""

DERIVED_FROM = ("step_us", "data_wait_us", "gpu_idle_us", "queue_depth")
"""The columns of steps that the measures which no column holds are made of."""


@dataclass(frozen=True, slots=True, eq=False)
class Stat:
    """One measure in consecutive buckets. Where nothing was measured, count and sum are 0, the extremes NaN."""

    count: Column
    sum: Column
    min: Column
    max: Column


@dataclass(frozen=True, slots=True, eq=False)
class Rollup:
    """Consecutive buckets. ``first_index`` is a step's index, or a row's number in lanes that have no index."""

    rows: Column
    first_index: Column
    first_us: Column
    stats: dict[str, Stat]
    load_bins: NDArray[np.float64] | None = None
    """Of batches: how many took how long, ``[bucket, bin]``."""

    def __len__(self) -> int:
        return len(self.rows)


def summarise(lane: str, columns: Columns, index: Column, starts: Sequence[int] | NDArray[np.intp]) -> Rollup:
    """Rows of ``lane`` in buckets that begin at the rows ``starts``. ``index``: of each row.

    ``columns`` come from :func:`with_derived` where derived measures are wanted. What was measured nowhere is left out.
    """
    ones = np.ones(length(columns))
    measured = {name: columns[name] for name in MEASURES[kind_of(lane)] if name in columns}
    stats = {name: _reduced(_single(column), starts) for name, column in measured.items() if np.isfinite(column).any()}
    bins = _load_bins(columns["load_us"], starts) if kind_of(lane) == "batches" and "load_us" in columns else None
    starts = np.asarray(starts, dtype=np.intp)
    return Rollup(np.add.reduceat(ones, starts), index[starts], columns[instant_of(lane)][starts], stats, bins)


def merge(rollup: Rollup, starts: Sequence[int] | NDArray[np.intp]) -> Rollup:
    """Fewer, larger buckets that begin at the buckets ``starts``."""
    starts = np.asarray(starts, dtype=np.intp)
    bins = rollup.load_bins
    return Rollup(
        np.add.reduceat(rollup.rows, starts),
        rollup.first_index[starts],
        rollup.first_us[starts],
        {name: _reduced(stat, starts) for name, stat in rollup.stats.items()},
        None if bins is None else np.add.reduceat(bins, starts, axis=0),
    )


def total(rollup: Rollup) -> Rollup:
    return merge(rollup, [0])


def joined(rollups: Sequence[Rollup]) -> Rollup:
    """Buckets one after the other; a measure that some lack was not measured there."""
    names = list(dict.fromkeys(name for rollup in rollups for name in rollup.stats))
    bins = [rollup.load_bins for rollup in rollups if rollup.load_bins is not None]
    return Rollup(
        np.concatenate([rollup.rows for rollup in rollups]),
        np.concatenate([rollup.first_index for rollup in rollups]),
        np.concatenate([rollup.first_us for rollup in rollups]),
        {name: _joined([rollup.stats.get(name) or _nothing(len(rollup)) for rollup in rollups]) for name in names},
        np.concatenate(bins) if bins else None,
    )


def tier_of(lane: str, columns: Columns, index: Column) -> Rollup:
    """What a chunk of these rows has beside it."""
    return summarise(lane, with_derived(lane, columns), index, range(0, length(columns), TIER_ROWS))


def to_bytes(rollup: Rollup) -> bytes:
    columns: Columns = {"rows": rollup.rows, "first_index": rollup.first_index, "first_us": rollup.first_us}
    for name, stat in rollup.stats.items():
        if stat.count.any():
            columns |= {f"{name}.count": stat.count, f"{name}.sum": stat.sum}
            columns |= {f"{name}.min": stat.min, f"{name}.max": stat.max}
    if rollup.load_bins is not None:
        columns |= {f"bin.{bin_}": rollup.load_bins[:, bin_] for bin_ in np.flatnonzero(rollup.load_bins.any(axis=0))}
    return encode(columns)


def from_bytes(body: bytes, names: Iterable[str] | None = None, *, with_bins: bool = True) -> Rollup:
    """With the measures ``names`` only; all by default."""
    columns = decode(body, None if names is None else _stored(names, with_bins=with_bins))
    rows = columns["rows"]
    present = [name.removesuffix(".count") for name in columns if name.endswith(".count")]
    stats = {name: Stat(*(columns[f"{name}.{part}"] for part in ("count", "sum", "min", "max"))) for name in present}
    binned = {int(name[4:]): column for name, column in columns.items() if name.startswith("bin.")}
    return Rollup(rows, columns["first_index"], columns["first_us"], stats, _bins_of(binned, len(rows)))


def bin_edges_us() -> Column:
    """Lower edge of each bin and, last, the upper one of the last."""
    return np.asarray(2.0 ** (np.arange(BINS + 1) / BINS_PER_OCTAVE))


def _stored(names: Iterable[str], *, with_bins: bool) -> set[str]:
    stored = {f"{name}.{part}" for name in names for part in ("count", "sum", "min", "max")}
    stored |= {"rows", "first_index", "first_us"}
    return stored | {f"bin.{bin_}" for bin_ in range(BINS)} if with_bins else stored


def with_derived(lane: str, columns: Columns) -> Columns:
    """With the measures that are made of several columns, where all of these are there.

    What was lost in steps that were not timed is estimated from the others: give a whole chunk, not a cut of it.
    """
    if not columns.keys() >= set(DERIVED_FROM) or kind_of(lane) != "steps":
        return columns
    step, wait = columns["step_us"], columns["data_wait_us"]
    stall = stall_us(wait, columns["gpu_idle_us"], columns["queue_depth"])
    stall[np.isnan(step)] = np.nan
    fraction = np.full(len(step), np.nan)
    np.divide(stall, step, out=fraction, where=step > 0)
    return columns | {COMPUTE: step - wait, STALL: stall, STALL_FRACTION: fraction}


def _single(column: Column) -> Stat:
    known = np.isfinite(column)
    return Stat(known.astype(np.float64), np.where(known, column, 0.0), column, column)


def _reduced(stat: Stat, starts: Sequence[int] | NDArray[np.intp]) -> Stat:
    at = np.asarray(starts, dtype=np.intp)
    return Stat(
        np.add.reduceat(stat.count, at),
        np.add.reduceat(stat.sum, at),
        np.fmin.reduceat(stat.min, at),
        np.fmax.reduceat(stat.max, at),
    )


def _joined(stats: Sequence[Stat]) -> Stat:
    return Stat(
        np.concatenate([stat.count for stat in stats]),
        np.concatenate([stat.sum for stat in stats]),
        np.concatenate([stat.min for stat in stats]),
        np.concatenate([stat.max for stat in stats]),
    )


def _nothing(buckets: int) -> Stat:
    zeros, unknown = np.zeros(buckets), np.full(buckets, np.nan)
    return Stat(zeros, zeros, unknown, unknown)


def _load_bins(load_us: Column, starts: Sequence[int] | NDArray[np.intp]) -> NDArray[np.float64]:
    at = np.asarray(starts, dtype=np.intp)
    bucket = np.zeros(len(load_us), dtype=np.intp)
    bucket[at[1:]] = 1
    bins = np.floor(np.log2(np.maximum(load_us, 1)) * BINS_PER_OCTAVE).astype(np.intp)
    cells = np.cumsum(bucket) * BINS + np.minimum(bins, BINS - 1)
    return np.bincount(cells, minlength=len(at) * BINS).astype(np.float64).reshape(len(at), BINS)


def _bins_of(binned: dict[int, Column], rows: int) -> NDArray[np.float64] | None:
    if not binned:
        return None
    bins = np.zeros((rows, BINS))
    for bin_, column in binned.items():
        bins[:, bin_] = column
    return bins
