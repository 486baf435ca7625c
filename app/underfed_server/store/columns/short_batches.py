"""What short batches took, of which a worker measures one in so many; of the others it records when they began and
ended, and their time on a CPU.

What was not measured of a batch is taken to be as in one that its worker did measure and that took about as long. Means
and sums of the measured ones alone would be wrong: of long batches among short ones each is measured. One that was
found to be long when it was over has what was counted since the last that was measured; those between have none then.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from underfed_server.measurements import BatchRows, Column, Columns

OFF_THE_CPU = ("runqueue_us", "blocked_us")
"""Parts of the load that is not on a CPU."""

AS_MUCH = ("asked_bytes", "read_bytes", "samples")
"""A batch has as much as the other."""

COUNTED_ON = ("process_cpu_us", *OFF_THE_CPU, "asked_bytes", "read_bytes")
"""Of a long batch that was measured when it was over, these are since the one that was measured before it."""

Mask = NDArray[np.bool_]
Places = NDArray[np.intp]
Pairs = tuple[Places, Places]

SAMPLED = ("process_cpu_us", *OFF_THE_CPU, "collate_us", *AS_MUCH)
ESTIMATED_WITH = ("worker", "load_us", "cpu_us", "runqueue_us", "collate_us")
"""The columns with which these are estimated."""

A_WORKER = 1 << 10
"""Far more than there are doublings of a time."""


def estimated(batches: BatchRows) -> BatchRows:
    return BatchRows(**with_estimates({name: getattr(batches, name) for name in batches.__dataclass_fields__}))


def with_estimates(columns: Columns) -> Columns:
    """The columns of a batches lane, or some of them. Unknown stays what a worker measured of no batch, and what the
    training process did not measure, which records no others."""
    if not columns.keys() >= set(ESTIMATED_WITH):
        return columns
    of_workers = np.isfinite(columns["worker"])
    unknown = {name: np.isnan(columns[name]) & of_workers for name in SAMPLED if name in columns}
    lacking = [name for name, missing in unknown.items() if missing.any() and not missing[of_workers].all()]
    if not lacking:
        return columns
    found, late = dict(columns), _late(columns, of_workers)
    counted_later = _before(late, columns)
    alike: dict[tuple[bool, bool, bytes], Pairs] = {}
    """Mostly the same for several columns."""
    for name in lacking:
        is_off, is_counted_on = name in OFF_THE_CPU, name in COUNTED_ON
        key = is_off, is_counted_on, unknown[name].tobytes()
        if key not in alike:
            like = ~unknown[name] & of_workers & ~(late & is_counted_on)
            alike[key] = _alike(columns, is_off, unknown[name], like)
        to, values = _estimates(columns, name, alike[key], counted_later)
        found[name] = columns[name].copy()
        found[name][to] = np.rint(values)
    return found


def _late(columns: Columns, of_workers: Mask) -> Mask:
    """Rows that were measured when they were over: without joining their samples."""
    joined = np.isfinite(columns["collate_us"]) & of_workers
    return np.isfinite(columns["runqueue_us"]) & of_workers & ~joined & joined.any()


def _before(late: Mask, columns: Columns) -> Mask:
    """Rows that were not measured, before a late one of their worker's."""
    worker, known = columns["worker"], np.isfinite(columns["runqueue_us"])
    order = np.argsort(worker, kind="stable")[::-1]
    after = order[np.maximum.accumulate(np.where(known[order], np.arange(len(order)), 0))]
    found = np.zeros_like(late)
    found[order] = late[after] & (worker[after] == worker[order])
    return found & ~known


def _estimates(columns: Columns, name: str, pairs: Pairs, counted_later: Mask) -> tuple[Places, Column]:
    """Rows in which ``name`` is unknown, and what it is taken to be there."""
    (to, like), column, load, cpu = pairs, columns[name], columns["load_us"], columns["cpu_us"]
    is_none = counted_later[to] & (name in COUNTED_ON)
    if name in OFF_THE_CPU:
        off = load - cpu
        share = columns["runqueue_us"][like] / np.maximum(off[like], 1.0)
        waited = np.where(is_none, 0.0, np.rint(off[to] * share))
        return to, waited if name == "runqueue_us" else off[to] - waited
    share = load[to] / np.maximum(load[like], 1.0)
    if name == "collate_us":
        return to, np.minimum(column[like] * share, load[to])
    if name == "process_cpu_us":
        return to, cpu[to] + np.where(is_none, 0.0, (column - cpu)[like] * share)
    return to, np.where(is_none, 0.0, column[like])


def _alike(columns: Columns, is_off: bool, unknown: Mask, known: Mask) -> Pairs:
    """Rows that are unknown, and for each a known one of its worker: the last before it that took as long, within a
    doubling, else the first after it, else of the nearest doubling of which one is known. ``is_off``: that was off the
    CPU for as long, since a batch that slept is not like one that computed."""
    worker, time_us = columns["worker"], columns["load_us"]
    if is_off:
        time_us = time_us - columns["cpu_us"]
    rows = np.flatnonzero(np.isfinite(worker) & np.isfinite(time_us))
    kind = worker[rows].astype(np.int64) * A_WORKER + np.log2(np.maximum(time_us[rows], 1.0)).astype(np.int64)
    is_wanted, is_there = unknown[rows], known[rows]
    if not is_wanted.any() or not is_there.any():
        return rows[:0], rows[:0]
    to, like, kinds = rows[is_wanted], rows[is_there], kind[is_there]
    nearest = _nearest(kind[is_wanted], np.unique(kinds))
    has_one = nearest // A_WORKER == kind[is_wanted] // A_WORKER
    to, nearest = to[has_one], nearest[has_one]
    order = np.lexsort((like, kinds))
    like, kinds = like[order], kinds[order]
    before = np.searchsorted(kinds * len(worker) + like, nearest * len(worker) + to) - 1
    is_before = (before >= 0) & (kinds[before] == nearest)
    return to, like[np.where(is_before, before, before + 1)]


def _nearest(wanted: NDArray[np.int64], known: NDArray[np.int64]) -> NDArray[np.int64]:
    """``known`` is in order."""
    above = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    below = np.maximum(above - 1, 0)
    return np.where(np.abs(known[above] - wanted) <= np.abs(wanted - known[below]), known[above], known[below])
