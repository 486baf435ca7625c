"""Lanes, which hold recorded rows as columns: one for the steps and one for the batches of each loader, one for each
worker and for each other kind of samples.

Their columns are those of ``measurements.py``; instants are of the incarnation's run clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from underfed_server.measurements import RECORDED, Column, Columns, names_of, or_zero

PROCESS, HOST = "process", "host"

GAP = "gap_us"
"""How a chunk holds ``start_us`` of a step: as the time between it and the end of the step before, mostly 0."""

LOAD_PARTS = ("cpu_us", "runqueue_us", "blocked_us")
REST = "rest_us"
"""How a chunk holds ``load_us`` of a batch: as what its parts leave of it, mostly 0."""

HANDED = "handed_us"
"""How a chunk holds ``received_us``: as the time from the end of loading, which is small."""

OTHERS = "others_cpu_us"
"""How a chunk holds ``process_cpu_us`` where that varies less: as that of other threads than ``cpu_us``."""

WORK = "work_us"
"""How a chunk holds ``step_us`` where that varies less: as what the step took beside its wait. A device that works on
while its host waits makes steps even, and this uneven."""

IDLE = "idle_us"
"""How a chunk holds ``start_us`` of a batch where that varies less: as the time since its worker was done with the one
before. Where workers keep up they begin when the training asks, and batches follow each other as steps do."""

SUMS: Mapping[str, Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "steps": {"step_us": (WORK, ("data_wait_us",))},
    "batches": {"load_us": (REST, LOAD_PARTS), "process_cpu_us": (OTHERS, ("cpu_us",))},
}
"""By kind of lane and column: how a chunk holds it without the parts that other columns have, and which these are."""

EXACT = 2.0**53
"""Up to here a float64 has every whole number."""


def steps_lane(loader: str) -> str:
    return f"steps:{loader}"


def batches_lane(loader: str) -> str:
    return f"batches:{loader}"


def worker_lane(loader: str, worker: int) -> str:
    return f"worker:{worker}:{loader}"


def worker_of(lane: str, loader: str) -> int | None:
    """The worker whose samples the lane has; ``None``: they are not of a worker of ``loader``."""
    kind, _, rest = lane.partition(":")
    worker, _, name = rest.partition(":")
    return int(worker) if kind == "worker" and name == loader else None


def gpu_lane(gpu_index: int) -> str:
    return f"gpu:{gpu_index}"


def columns_of(lane: str) -> tuple[str, ...]:
    """The columns of a lane, measured or not."""
    return tuple(RECORDED[kind_of(lane)])


@lru_cache(1024)
def kind_of(lane: str) -> str:
    return lane.partition(":")[0]


def instant_of(lane: str) -> str:
    """The column that says when a row of the lane was."""
    return names_of(kind_of(lane), "instant")[0]


def joined(parts: Sequence[Columns]) -> Columns:
    """Rows one after the other; all parts have the same columns."""
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def length(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def index_of(columns: Columns, rows_before: int) -> Column:
    """The index of each row: of a step its step index, else its number in the lane."""
    if "step_index" in columns:
        return columns["step_index"]
    return rows_before + np.arange(length(columns), dtype=np.float64)


def packed(lane: str, columns: Columns) -> Columns:
    """The columns as a chunk holds them."""
    kind = kind_of(lane)
    others = {name: (SUMS[kind][name][0], rest) for name, rest in rests(lane, columns).items()}
    if kind == "steps":
        start, ends = columns["start_us"], _ends(columns, "step_us")
        others["start_us"] = GAP, start - np.concatenate(([0.0], ends[:-1]))
    if kind == "batches":
        start, ends = columns["start_us"], _ends(columns, "load_us")
        others["received_us"] = HANDED, columns["received_us"] - start - columns["load_us"]
        idle = start - _before_in_worker(columns["worker"], ends)
        if ends.max() <= EXACT and _bits(idle) < _bits(np.diff(start)):
            others["start_us"] = IDLE, idle
    return _instead(columns, others)


def rests(lane: str, columns: Columns) -> Columns:
    """Of those of :data:`SUMS` that take fewer bytes without their parts what is left of them."""
    found = {name: columns[name] - parts_us(columns, parts) for name, (_, parts) in SUMS.get(kind_of(lane), {}).items()}
    return {name: rest for name, rest in found.items() if _bits(rest) < _bits(columns[name])}


def unpacked(columns: Columns) -> Columns:
    """The reverse of :func:`packed`. ``columns`` may be some of a chunk's, as :func:`stored_names` names them."""
    for sums in SUMS.values():
        for name, (held, parts) in sums.items():
            if held in columns:
                columns = _instead(columns, {held: (name, columns[held] + parts_us(columns, parts))})
    if GAP in columns:
        steps = or_zero(columns["step_us"])
        start = np.cumsum(columns[GAP] + np.concatenate(([0.0], steps[:-1])))
        return _instead(columns, {GAP: ("start_us", start)})
    if IDLE in columns:
        columns = _instead(columns, {IDLE: ("start_us", _starts(columns))})
    if HANDED in columns:
        received = columns[HANDED] + columns["start_us"] + columns["load_us"]
        columns = _instead(columns, {HANDED: ("received_us", received)})
    return columns


def stored_names(lane: str, names: Iterable[str]) -> set[str]:
    """What must be read from a chunk to have ``names``."""
    wanted, kind = set(names), kind_of(lane)
    if kind == "steps" and "start_us" in wanted:
        wanted |= {GAP, "step_us"}
    if kind == "batches" and "received_us" in wanted:
        wanted |= {HANDED, "start_us", "load_us"}
    if kind == "batches" and "start_us" in wanted:
        wanted |= {IDLE, "worker", "load_us"}
    for name, (held, parts) in SUMS.get(kind, {}).items():
        if name in wanted:
            wanted |= {held, *parts}
    return wanted


def _instead(columns: Columns, others: Mapping[str, tuple[str, Column]]) -> Columns:
    """The same order, with some columns replaced by others of another name."""
    return dict(others.get(name, (name, column)) for name, column in columns.items())


def parts_us(columns: Columns, parts: Iterable[str]) -> Column:
    """These parts, summed; one that was not measured counts as 0."""
    summed: Column = sum((or_zero(columns[name]) for name in parts), np.zeros(length(columns)))
    return summed


def _ends(columns: Columns, took: str) -> Column:
    """An open step counts as ending where it began. ``took``: the column that says how long each lasted."""
    return columns["start_us"] + or_zero(columns[took])


def _before_in_worker(worker: Column, values: Column) -> Column:
    """Of each row, the value of the row before that has the same worker; 0: there is none. Without workers, all rows
    have the same."""
    order, is_first = _by_worker(worker)
    before = np.zeros(len(values))
    before[order[1:]] = np.where(is_first[1:], 0, values[order[:-1]])
    return before


def _starts(columns: Columns) -> Column:
    """From :data:`IDLE` and the time that loading took."""
    order, is_first = _by_worker(columns["worker"])
    # Whole numbers: sums over several workers may be larger than a float64 has exactly, differences of them are not.
    since = columns[IDLE][order].astype(np.int64)
    loads = or_zero(columns["load_us"])[order].astype(np.int64)
    since[1:] += np.where(is_first[1:], 0, loads[:-1])
    total = np.cumsum(since)
    first = np.flatnonzero(is_first)
    base = np.repeat(total[first] - since[first], np.diff(first, append=len(total)))
    starts = np.empty(len(total))
    starts[order] = total - base
    return starts


def _by_worker(worker: Column) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The order of rows by worker, and which of them, in this order, is its worker's first."""
    known = or_zero(worker)
    order = np.argsort(known, kind="stable")
    return order, np.concatenate(([True], np.diff(known[order]) != 0))


def _bits(column: Column) -> float:
    """About how many a value takes: how far it is from the middle, few outliers counting little."""
    known = column[np.isfinite(column)]
    return float(np.mean(np.log2(1 + np.abs(known - np.median(known))))) if len(known) else 0.0
