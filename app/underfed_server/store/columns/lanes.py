"""Lanes, which hold recorded rows as columns: one for the steps and one for the batches of each loader, one for each
worker and for each other kind of samples.

Their columns are those of ``measurements.py``; instants are of the incarnation's run clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from underfed_server.measurements import RECORDED, Column, Columns, names_of, or_zero

PROCESS, HOST = "process", "host"

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
    if kind_of(lane) == "steps":
        start, ends = columns["start_us"], _ends(columns)
        return _instead(columns, {"start_us": (GAP, start - np.concatenate(([0.0], ends[:-1])))})
    if kind_of(lane) == "batches":
        load = columns["load_us"]
        rest = load - parts_us(columns)
        handed = columns["received_us"] - columns["start_us"] - load
        return _instead(columns, {"load_us": (REST, rest), "received_us": (HANDED, handed)})
    return columns


def unpacked(columns: Columns) -> Columns:
    """The reverse of :func:`packed`. ``columns`` may be some of a chunk's, as :func:`stored_names` names them."""
    if GAP in columns:
        steps = or_zero(columns["step_us"])
        start = np.cumsum(columns[GAP] + np.concatenate(([0.0], steps[:-1])))
        return _instead(columns, {GAP: ("start_us", start)})
    if REST in columns:
        columns = _instead(columns, {REST: ("load_us", columns[REST] + parts_us(columns))})
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


def parts_us(columns: Columns) -> Column:
    """The measured parts of loading a batch, summed; a part that was not measured counts as 0."""
    parts: Column = sum((or_zero(columns[name]) for name in LOAD_PARTS), np.zeros(length(columns)))
    return parts


def _ends(columns: Columns) -> Column:
    """An open step counts as ending where it began."""
    return columns["start_us"] + or_zero(columns["step_us"])
