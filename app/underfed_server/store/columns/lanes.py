"""Lanes, which hold recorded rows as columns: one for the steps and one for the batches of each loader, one for each
worker and for each other kind of samples.

Their columns are those of ``measurements.py``; instants are of the incarnation's run clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

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

STARTS: Mapping[str, tuple[str, str]] = {"steps": (GAP, "step_us"), "batches": (IDLE, "load_us")}
"""By kind of lane: how a chunk holds ``start_us``, as the time since the end of the row before, and which column says
how long that lasted."""

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
    others = {}
    for name, (rest, parts) in SUMS.get(kind, {}).items():
        left = columns[name] - parts_us(columns, parts)
        if _bits(left) < _bits(columns[name]):
            others[name] = rest, left
    if kind in STARTS:
        distance, took = STARTS[kind]
        start = columns["start_us"]
        ends = start + or_zero(columns[took])  # an open step counts as ending where it began
        since = start - before(by_worker(columns), ends)
        if kind == "steps" or (ends.max() <= EXACT and _bits(since) < _bits(np.diff(start))):
            others["start_us"] = distance, since
    if kind == "batches":
        others["received_us"] = HANDED, columns["received_us"] - columns["start_us"] - columns["load_us"]
    return _instead(columns, others)


def unpacked(columns: Columns) -> Columns:
    """The reverse of :func:`packed`. ``columns`` may be some of a chunk's, as :func:`stored_names` names them."""
    for kind, sums in SUMS.items():
        for name, (rest, _) in sums.items():
            if rest in columns:
                columns = _instead(columns, {rest: (name, sum_us(kind, columns, name))})
    for distance, took in STARTS.values():
        if distance in columns:
            order = by_worker(columns)
            start = summed(order, columns[distance] + before(order, or_zero(columns[took])))
            columns = _instead(columns, {distance: ("start_us", start)})
    if HANDED in columns:
        received = columns[HANDED] + columns["start_us"] + columns["load_us"]
        columns = _instead(columns, {HANDED: ("received_us", received)})
    return columns


def stored_names(lane: str, names: Iterable[str]) -> set[str]:
    """What must be read from a chunk to have ``names``."""
    wanted, kind = set(names), kind_of(lane)
    if kind == "batches" and "received_us" in wanted:
        wanted |= {HANDED, "start_us", "load_us"}
    if kind in STARTS and "start_us" in wanted:
        wanted |= {*STARTS[kind], "worker"}
    for name, (rest, parts) in SUMS.get(kind, {}).items():
        if name in wanted:
            wanted |= {rest, *parts}
    return wanted


def _instead(columns: Columns, others: Mapping[str, tuple[str, Column]]) -> Columns:
    """The same order, with some columns replaced by others of another name."""
    return dict(others.get(name, (name, column)) for name, column in columns.items())


def sum_us(kind: str, held: Columns, name: str) -> Column:
    """A column of :data:`SUMS`, or another, of what a chunk holds."""
    if name in held:
        return held[name]
    rest, parts = SUMS[kind][name]
    return held[rest] + parts_us(held, parts)


def parts_us(columns: Columns, parts: Iterable[str]) -> Column:
    """These parts, summed; one that was not measured counts as 0."""
    total: Column = sum((or_zero(columns[name]) for name in parts), np.zeros(length(columns)))
    return total


class ByWorker(NamedTuple):
    """Rows in the order of their workers, each worker's in the order in which they are. All steps are one worker's."""

    order: NDArray[np.intp]
    firsts: NDArray[np.intp]
    """Places in ``order`` at which a worker's rows begin."""


def by_worker(columns: Columns) -> ByWorker:
    if "worker" not in columns:
        return ByWorker(np.arange(length(columns)), np.zeros(1, np.intp))
    known = or_zero(columns["worker"])
    order = np.argsort(known, kind="stable")
    return ByWorker(order, np.flatnonzero(np.diff(known[order], prepend=np.nan) != 0))


def before(rows: ByWorker, values: Column) -> Column:
    """Of each row, the value of its worker's row before; 0: there is none."""
    if len(rows.firsts) == 1:
        return np.concatenate(([0.0], values[:-1]))
    found = np.zeros(len(values))
    found[rows.order[1:]] = values[rows.order[:-1]]
    found[rows.order[rows.firsts]] = 0
    return found


def summed(rows: ByWorker, values: Column) -> Column:
    """Of each row, the sum of its worker's values up to it. They are whole numbers."""
    if len(rows.firsts) == 1:
        return np.cumsum(values)
    # Sums over several workers may be larger than a float64 has exactly, differences of them are not.
    whole = values[rows.order].astype(np.int64)
    total = np.cumsum(whole)
    lengths = np.diff(rows.firsts, append=len(values))
    found = np.empty(len(values))
    found[rows.order] = total - np.repeat(total[rows.firsts] - whole[rows.firsts], lengths)
    return found


def _bits(column: Column) -> float:
    """About how many a value takes: how far it is from the middle, few outliers counting little."""
    known = column[np.isfinite(column)]
    return float(np.mean(np.log2(1 + np.abs(known - np.median(known))))) if len(known) else 0.0
