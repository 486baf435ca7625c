"""``/runs/{run_id}/workers``: what each worker spends on a batch, and how load times were spread over the run."""

from __future__ import annotations

import numpy as np
from fastapi import APIRouter
from numpy.typing import NDArray

from underfed_server.api.given import ALLOWED, GivenLoader, GivenRank, GivenStore, choose
from underfed_server.model import LoaderInfo, LoadHeatmap, Run, WorkerInfo, WorkersPage
from underfed_server.store.chunks import Column
from underfed_server.store.ladder import BINS, BINS_PER_OCTAVE, Rollup, bin_edges_us
from underfed_server.store.lanes import batches_lane
from underfed_server.store.rows import BatchRows, StepRows
from underfed_server.store.series import read_series

router = APIRouter(tags=["runs"], dependencies=ALLOWED)

NEWEST_BATCHES = 20_000
"""That a worker's figures are of: five chunks, and enough for a 95th percentile of each of 100 workers."""

NEWEST_STEPS = 2_000
COLUMNS = 120
BINS_SHOWN = 26
"""More are merged in pairs: a heat map of 26 rows is 5 pixels a row."""

LIMIT_WITHIN_BINS = 3 * BINS_PER_OCTAVE
"""The limit is shown in the map when it is at most three octaves from the load times."""


@router.get("/runs/{run_id}/workers")
def workers(
    run_id: str,
    store: GivenStore,
    rank: GivenRank = None,
    loader: GivenLoader = None,
) -> WorkersPage:
    """Each worker's newest batches, and a heat map of load times over the whole run."""
    run, chosen, name = choose(store, run_id, rank, loader)
    info = next((each for each in run.loaders if each.loader == name), None)
    if name is None:
        return _nothing(run_id, chosen, None, "no step was recorded yet")
    batches = store.batches(run_id, chosen, name, NEWEST_BATCHES)
    if not len(batches):
        return _nothing(run_id, chosen, name, _missing(run, info))
    limit_us = _limit(info, store.steps(run_id, chosen, name, NEWEST_STEPS))
    with store.reading() as reader:
        rollup = read_series(
            reader, run_id, chosen, batches_lane(name), run.started_at, names=["load_us"], buckets=4 * COLUMNS
        )
    return WorkersPage(
        run_id=run_id,
        rank=chosen,
        loader=name,
        workers=[_worker(batches, worker) for worker in np.unique(np.nan_to_num(batches.worker, nan=-1))],
        limit_us=limit_us,
        heatmap=None if rollup is None else heatmap(rollup, float(batches.start_us[-1]), limit_us),
        missing=None,
    )


def _nothing(run_id: str, rank: int, loader: str | None, why: str) -> WorkersPage:
    return WorkersPage(run_id=run_id, rank=rank, loader=loader, workers=[], limit_us=None, heatmap=None, missing=why)


def _missing(run: Run, info: LoaderInfo | None) -> str:
    reasons = {**run.not_measured, **(info.not_measured if info else {})}
    return reasons.get("load_us", "no batch was recorded")


def _limit(info: LoaderInfo | None, steps: StepRows) -> int | None:
    """Workers × mean work of a step: loads that take longer on average cannot keep up, however deep the queue."""
    num_workers = info.settings.get("num_workers") if info else None
    work = steps.step_us - steps.data_wait_us
    if not isinstance(num_workers, int) or not num_workers or not np.isfinite(work).any():
        return None
    return round(num_workers * float(np.nanmean(work)))


def _worker(batches: BatchRows, worker: float) -> WorkerInfo:
    """``worker`` −1: the training process."""
    mine = np.nan_to_num(batches.worker, nan=-1) == worker
    load = batches.load_us[mine]
    p5, p50, p95 = np.percentile(load, (5, 50, 95))
    return WorkerInfo(
        worker=None if worker < 0 else int(worker),
        batches=len(load),
        load_us_p5=round(p5),
        load_us_p50=round(p50),
        load_us_p95=round(p95),
        load_us_mean=round(float(np.mean(load))),
        cpu_fraction=_share(batches.cpu_us[mine], load),
        runqueue_fraction=_share(batches.runqueue_us[mine], load),
        blocked_fraction=_share(batches.blocked_us[mine], load),
        collate_fraction=_share(batches.collate_us[mine], load),
        read_bytes_per_s=_rate(batches, mine, is_sample=worker < 0),
    )


def _share(part: Column, load: Column) -> float | None:
    known = np.isfinite(part)
    total = float(np.sum(load[known]))
    return round(min(1.0, float(np.sum(part[known])) / total), 6) if total > 0 else None


def _rate(batches: BatchRows, mine: NDArray[np.bool_], is_sample: bool) -> float | None:
    """Bytes from storage a second, over the time that these batches span.

    Args:
    is_sample: the training process measures only some of its own batches; the others read as much on average.
    """
    known = mine & np.isfinite(batches.read_bytes)
    if not known.any():
        return None
    start_us, load_us = batches.start_us[known], batches.load_us[known]
    span_us = float(np.max(start_us + load_us) - np.min(start_us))
    loaded = _drawn(batches, known) if is_sample else np.count_nonzero(known)
    read_bytes = float(np.mean(batches.read_bytes[known])) * loaded
    return round(read_bytes / span_us * 1e6, 3) if span_us > 0 else None


def _drawn(batches: BatchRows, known: NDArray[np.bool_]) -> int:
    """How many batches were loaded from the first to the last of each epoch."""
    epochs, indexes = batches.epoch_index[known], batches.batch_index[known]
    return int(sum(np.ptp(indexes[epochs == epoch]) + 1 for epoch in np.unique(epochs)))


def heatmap(rollup: Rollup, last_us: float, limit_us: int | None) -> LoadHeatmap | None:
    """At most 120 columns of equal time, about 26 logarithmic bins around the load times that occurred."""
    bins = rollup.load_bins
    if bins is None:
        return None
    first_us = float(rollup.first_us[0])
    end_us = max(last_us, float(rollup.first_us[-1])) + 1
    columns = min(COLUMNS, len(rollup))
    edges = np.linspace(first_us, end_us, columns + 1)
    column_of = np.clip(np.searchsorted(edges, rollup.first_us, side="right") - 1, 0, columns - 1)
    counts = np.zeros((columns, BINS))
    np.add.at(counts, column_of, bins)
    low, high, step = _shown(counts, limit_us)
    shown = counts[:, low:high].reshape(columns, -1, step).sum(axis=2)
    return LoadHeatmap(
        at_us=edges[:-1].astype(np.int64).tolist(),
        end_us=int(end_us),
        edges_us=np.round(bin_edges_us()[low : high + 1 : step]).astype(np.int64).tolist(),
        counts=shown.astype(np.int64).tolist(),
    )


def _shown(counts: NDArray[np.float64], limit_us: int | None) -> tuple[int, int, int]:
    """The bins ``low … high`` to show, and how many of them are merged into one."""
    used = np.flatnonzero(counts.any(axis=0))
    low, high = int(used[0]), int(used[-1]) + 1
    if limit_us is not None and limit_us >= 1:
        limit_bin = int(np.log2(limit_us) * BINS_PER_OCTAVE)
        if low - LIMIT_WITHIN_BINS <= limit_bin < high + LIMIT_WITHIN_BINS:
            low, high = min(low, limit_bin), max(high, limit_bin + 1)
    step = 1
    while (high - low) / step > BINS_SHOWN:
        step *= 2
    low -= low % step
    high = min(BINS, high + -high % step)
    return low, high, step
