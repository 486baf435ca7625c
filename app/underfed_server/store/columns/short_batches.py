"""What short batches took, of which a worker measures one in so many, and of the others when they began and ended.

A batch that was not measured is taken to be like the one before it that its worker measured. Means and sums of what was
measured alone would be wrong: of long batches among short ones each is measured.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from underfed_server.measurements import BatchRows, Column, Columns

OF_ITS_LOAD = ("cpu_us", "process_cpu_us", "runqueue_us", "blocked_us")
"""A batch has as large a part of its load as the other."""

AS_MUCH = ("collate_us", "asked_bytes", "read_bytes", "samples")
"""It has as much as the other."""

Mask = NDArray[np.bool_]
Places = NDArray[np.intp]

SAMPLED = (*OF_ITS_LOAD, *AS_MUCH)
ESTIMATED_WITH = ("worker", "load_us")
"""The columns with which these are estimated."""


def estimated(batches: BatchRows) -> BatchRows:
    return BatchRows(**with_estimates({name: getattr(batches, name) for name in batches.__dataclass_fields__}))


def with_estimates(columns: Columns) -> Columns:
    """The columns of a batches lane, or some of them. Unknown stays what a worker measured of no batch before, and what
    the training process did not measure, which records no others."""
    if not columns.keys() >= set(ESTIMATED_WITH):
        return columns
    worker, load = columns["worker"], columns["load_us"]
    of_workers = np.isfinite(worker)
    unknown = {name: np.isnan(columns[name]) & of_workers for name in SAMPLED if name in columns}
    lacking = [name for name, missing in unknown.items() if missing.any() and not missing.all()]
    found = dict(columns)
    order = np.argsort(worker, kind="stable") if lacking else np.arange(0)
    for name in lacking:
        to, like = _alike(unknown[name], worker, order)
        share = load[to] / np.maximum(load[like], 1.0) if name in OF_ITS_LOAD else 1.0
        most = load[to] if name == "collate_us" else np.inf
        found[name] = columns[name].copy()
        found[name][to] = np.minimum(np.rint(columns[name][like] * share), most)
    return found


def _alike(unknown: Mask, worker: Column, order: Places) -> tuple[Places, Places]:
    """Rows that are unknown, and for each the last known one of its worker before it, where there is one. ``order``: of
    the rows, by worker."""
    is_known, place = ~unknown[order], np.arange(len(order))
    last = np.maximum.accumulate(np.where(is_known, place, 0))
    to, like = order[place[~is_known]], order[last[~is_known]]
    has_one = ~unknown[like] & (worker[like] == worker[to])
    return to[has_one], like[has_one]
