"""Roll-ups: summaries of consecutive rows, with which an overview costs the same for any length of run.

A chunk has them for every 256 of its rows; above it, ``rollup`` has one for every 2, 4, 8, … consecutive chunks.
Merging two is exact: counts and sums add, extremes compare.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from underfed_server.measurements import (
    COMPUTE,
    COMPUTED,
    COPY,
    MEASURES,
    OWN_CORES,
    RATES,
    STALL,
    STALL_FRACTION,
    Column,
    Columns,
)
from underfed_server.store.columns.copies import exposed_copy_us
from underfed_server.store.columns.histograms import Bins, bins_of, merged
from underfed_server.store.columns.lanes import instant_of, kind_of, length
from underfed_server.store.columns.short_batches import with_estimates
from underfed_server.store.columns.stall import stall_us

ROLLUP_ROWS = 256
"""Rows in a bucket of a chunk's roll-ups. Finer buckets are computed from rows: for N of them at most 256 × N rows."""

Starts = Sequence[int] | NDArray[np.intp]
Figures = NDArray[np.float64]
"""``[count, sum, least or greatest; measure; bucket]``"""
COUNT, SUM, LEAST, GREATEST = range(4)


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
    names: tuple[str, ...]
    """Of the measures, in the order of the figures."""
    figures: Figures
    bins: Mapping[str, Bins] = field(default_factory=dict)
    """Histograms by measure as ``[bucket, bin]``, where they were requested."""
    percentiles: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """By measure as ``[percentile, bucket]``, where they were requested."""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def stats(self) -> dict[str, Stat]:
        """By measure, without measures that were not measured anywhere here."""
        return {
            name: Stat(*self.figures[:, row]) for row, name in enumerate(self.names) if self.figures[COUNT, row].any()
        }


def summarise(lane: str, columns: Columns, index: Column, starts: Starts, binned: Sequence[str] = ()) -> Rollup:
    """Rows of ``lane`` in buckets that begin at the rows ``starts``. ``index``: of each row.

    ``columns`` come from :func:`with_computed` where computed measures are wanted; the others' are left out.
    """
    at = np.asarray(starts, dtype=np.intp)
    rows = np.diff(at, append=length(columns)).astype(np.float64)
    names = tuple(name for name in MEASURES[kind_of(lane)] if name in columns)
    figures = np.empty((4, len(names), len(at)))
    for row, name in enumerate(names):
        figures[:, row] = _reduced(columns[name], at, rows)
    bins = {name: bins_of(columns[name], at) for name in binned if name in columns}
    return Rollup(rows, index[at], columns[instant_of(lane)][at], names, figures, bins)


def merge(rollup: Rollup, starts: Starts) -> Rollup:
    """Fewer, larger buckets that begin at the buckets ``starts``."""
    at = np.asarray(starts, dtype=np.intp)
    added = np.add.reduceat(rollup.figures[: SUM + 1], at, axis=2)
    extremes = (
        np.fmin.reduceat(rollup.figures[LEAST], at, axis=1),
        np.fmax.reduceat(rollup.figures[GREATEST], at, axis=1),
    )
    return Rollup(
        np.add.reduceat(rollup.rows, at),
        rollup.first_index[at],
        rollup.first_us[at],
        rollup.names,
        np.concatenate((added, extremes)),
        {name: merged(bins, at) for name, bins in rollup.bins.items()},
    )


def total(rollup: Rollup) -> Rollup:
    return merge(rollup, [0])


def joined(rollups: Sequence[Rollup]) -> Rollup:
    """Buckets one after the other; a measure that some lack was not measured there."""
    if len(rollups) == 1:
        return rollups[0]
    names = tuple(dict.fromkeys(name for rollup in rollups for name in rollup.names))
    even = [with_names(rollup, names) for rollup in rollups]
    binned = dict.fromkeys(name for rollup in rollups for name in rollup.bins)
    return Rollup(
        np.concatenate([rollup.rows for rollup in even]),
        np.concatenate([rollup.first_index for rollup in even]),
        np.concatenate([rollup.first_us for rollup in even]),
        names,
        np.concatenate([rollup.figures for rollup in even], axis=2),
        {name: np.concatenate(list(_binned(even, name))) for name in binned},
    )


def with_names(rollup: Rollup, names: tuple[str, ...]) -> Rollup:
    """The roll-up with the figures of these measures only, in this order."""
    if rollup.names == names:
        return rollup
    figures = np.empty((4, len(names), len(rollup)))
    figures[: SUM + 1], figures[LEAST:] = 0.0, np.nan
    for row, name in enumerate(names):
        if name in rollup.names:
            figures[:, row] = rollup.figures[:, rollup.names.index(name)]
    return replace(rollup, names=names, figures=figures)


def rollups_of(lane: str, columns: Columns, index: Column) -> Rollup:
    """The roll-ups that are stored beside a chunk of these rows, which come from :func:`with_computed`."""
    return summarise(lane, columns, index, range(0, length(columns), ROLLUP_ROWS))


def with_computed(lane: str, columns: Columns) -> Columns:
    """Adds the measures that are computed from several columns, where all of these are present.

    What was lost in steps that were not timed, and what they copied, is estimated from the others, as is what short
    batches took, and growth needs the row before: give a whole chunk, not part of it.
    """
    kind = kind_of(lane)
    if kind == "batches":
        return with_estimates(columns)
    computed = COMPUTED.get(kind, {})
    wanted = [name for name, each in computed.items() if columns.keys() >= set(each.made_of)]
    if kind == "steps":
        found = _of_steps(columns) if STALL in wanted else {}
        copies = {COPY: exposed_copy_us(columns["h2d_exposed_us"], columns["queue_depth"])} if COPY in wanted else {}
        return columns | found | copies
    return columns | {name: _growth_per_s(columns, name) for name in wanted}


def _growth_per_s(columns: Columns, rate: str) -> Column:
    """Not known for the first row, and where a counter was reset."""
    if rate == OWN_CORES:
        # Microseconds of CPU time per microsecond.
        return _per_us(columns["process_cpu_us"] + columns["workers_cpu_us"], columns["at_us"])
    return _per_us(columns[RATES[rate]], columns["at_us"]) * 1e6


def _of_steps(columns: Columns) -> Columns:
    step, wait = columns["step_us"], columns["data_wait_us"]
    stall = stall_us(wait, columns["gpu_idle_us"], columns["queue_depth"])
    stall[np.isnan(step)] = np.nan
    fraction = np.full(len(step), np.nan)
    np.divide(stall, step, out=fraction, where=step > 0)
    return {COMPUTE: step - wait, STALL: stall, STALL_FRACTION: fraction}


def _per_us(grown: Column, at_us: Column) -> Column:
    """Growth since the row before, per microsecond."""
    by, within_us = np.diff(grown, prepend=np.nan), np.diff(at_us, prepend=np.nan)
    rate = np.full(len(grown), np.nan)
    return np.asarray(np.divide(by, within_us, out=rate, where=(by >= 0) & (within_us > 0)))


def _reduced(column: Column, at: NDArray[np.intp], rows: Column) -> tuple[Column, Column, Column, Column]:
    """Count, sum, least and greatest of each bucket."""
    known = np.isfinite(column)
    if known.all():
        return rows, np.add.reduceat(column, at), np.minimum.reduceat(column, at), np.maximum.reduceat(column, at)
    if not known.any():
        zeros, unknown = np.zeros(len(at)), np.full(len(at), np.nan)
        return zeros, zeros, unknown, unknown
    return (
        np.add.reduceat(known.astype(np.float64), at),
        np.add.reduceat(np.where(known, column, 0.0), at),
        np.fmin.reduceat(column, at),
        np.fmax.reduceat(column, at),
    )


def _binned(rollups: Sequence[Rollup], name: str) -> Iterator[Bins]:
    for rollup in rollups:
        bins = rollup.bins.get(name)
        yield np.zeros((len(rollup), 0), np.uint32) if bins is None else bins
