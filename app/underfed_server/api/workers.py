"""``/runs/{run_id}/workers``: what each worker spends on a batch, what memory it takes and how its lives ended, and how
load times were spread over the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from fastapi import APIRouter
from numpy.typing import NDArray

from underfed_server.api.dependencies import (
    FromStepQuery,
    LoaderQuery,
    RankQuery,
    StoreDep,
    ToStepQuery,
    check_stretch,
    choose,
)
from underfed_server.api.heatmap import COLUMNS, heatmap
from underfed_server.api.required_scope import needs
from underfed_server.facts.growth import growth_per_hour, is_growing
from underfed_server.facts.long_steps import goes_on
from underfed_server.measurements import BatchRows, Column, StepRows, newest
from underfed_server.model import LoaderInfo, Run, WorkerInfo, WorkersPage
from underfed_server.store.columns.lanes import batches_lane, steps_lane
from underfed_server.store.columns.short_batches import estimated
from underfed_server.store.reading.instants import span_of
from underfed_server.store.reading.series import read_series
from underfed_server.store.reading.worker_lives import WorkerRecord

router = APIRouter(tags=["runs"])

TRAINING = -1
"""In place of a worker's number: batches loaded in the training process."""

NEWEST_BATCHES = 20_000
"""Batches that the figures are computed from: five chunks, and enough for a 95th percentile of each of 100 workers."""

NEWEST_STEPS = 2_000


@router.get("/runs/{run_id}/workers", **needs("view"))
def workers(
    run_id: str,
    store: StoreDep,
    rank: RankQuery = None,
    loader: LoaderQuery = None,
    from_step: FromStepQuery = 0,
    to_step: ToStepQuery = None,
) -> WorkersPage:
    """Each worker's newest batches and samples, and a heat map of load times: of the whole run, or of some steps."""
    check_stretch(from_step, to_step)
    run = store.run(run_id)
    with store.reading() as reader:
        chosen, name = choose(reader, run_id, rank, loader)
    # Workers that died before the first batch leave no step.
    name = name or store.worker_loader(run_id, chosen)
    page = WorkersPage(
        run_id=run_id, rank=chosen, loader=name, workers=[], pin_us_p50=None, limit_us=None, heatmap=None, missing=None
    )
    if name is None:
        return page.model_copy(update={"missing": run.no_loader or "no step was recorded yet"})
    info = next((each for each in run.loaders if each.loader == name), None)
    batches = estimated(store.batches(run_id, chosen, name, NEWEST_BATCHES))
    found = _workers(batches, {each.worker: each for each in store.workers(run_id, chosen, name)})
    with store.reading() as reader:
        steps = reader.tracks(run_id, chosen, steps_lane(name))
        from_us, to_us = span_of(reader, steps, from_step, to_step)
        rollup = read_series(
            reader, run_id, chosen, batches_lane(name),
            names=["load_us"], buckets=4 * COLUMNS, binned=["load_us"], from_us=from_us, to_us=to_us,
        )  # fmt: skip
    if not len(batches):
        deleted_at = None if rollup is None else store.rows_deleted_at(run_id)
        if rollup is None or deleted_at is None:
            return page.model_copy(update={"workers": found, "missing": _missing(run, info)})
        why = f"the single batches were deleted on {deleted_at:%Y-%m-%d} by retention"
        seen = heatmap(rollup, float(rollup.first_us[-1]), None)
        return page.model_copy(update={"workers": found, "heatmap": seen, "missing": why})
    limit_us = _limit(info, store.steps(run_id, chosen, name, NEWEST_STEPS))
    figures = {
        "workers": found,
        "pin_us_p50": _median(batches.pin_us),
        "limit_us": limit_us,
        "heatmap": None if rollup is None else heatmap(rollup, to_us or float(batches.start_us[-1]), limit_us),
    }
    return page.model_copy(update=figures)


def _missing(run: Run, info: LoaderInfo | None) -> str:
    reasons = {**run.not_measured, **(info.not_measured if info else {})}
    return reasons.get("load_us", "no batch was recorded")


def _median(column: Column) -> int | None:
    known = column[np.isfinite(column)]
    return round(float(np.median(known))) if len(known) else None


def _limit(info: LoaderInfo | None, steps: StepRows) -> int | None:
    """Workers × mean work of a step, pauses of the program left out: loads that take longer on average cannot keep up,
    however deep the queue.
    """
    work = (steps.step_us - steps.data_wait_us)[~goes_on(steps)]
    if info is None or not info.num_workers or not np.isfinite(work).any():
        return None
    return round(info.num_workers * float(np.nanmean(work)))


def _workers(batches: BatchRows, records: Mapping[int, WorkerRecord]) -> list[WorkerInfo]:
    """Workers that loaded a batch, and known ones that loaded none."""
    loading = {int(worker) for worker in np.unique(np.nan_to_num(batches.worker, nan=TRAINING))}
    return [_worker(batches, worker, records.get(worker)) for worker in sorted(loading | records.keys())]


def _worker(batches: BatchRows, worker: int, record: WorkerRecord | None) -> WorkerInfo:
    mine = np.nan_to_num(batches.worker, nan=TRAINING) == worker
    load = batches.load_us[mine]
    p5, p50, p95 = np.percentile(load, (5, 50, 95)) if len(load) else (None, None, None)
    return WorkerInfo(
        worker=None if worker == TRAINING else worker,
        batches=len(load),
        load_us_p5=_whole(p5),
        load_us_p50=_whole(p50),
        load_us_p95=_whole(p95),
        load_us_mean=_whole(float(np.mean(load)) if len(load) else None),
        cpu_fraction=_share(batches.cpu_us[mine], load),
        runqueue_fraction=_share(batches.runqueue_us[mine], load),
        blocked_fraction=_share(batches.blocked_us[mine], load),
        collate_fraction=_share(batches.collate_us[mine], load),
        read_bytes_per_s=_rate(batches, mine, is_sample=worker == TRAINING),
        **_process_of(record),
    )


def _process_of(record: WorkerRecord | None) -> dict[str, Any]:
    """What is known of a worker's processes; nothing for the training process."""
    if record is None:
        unknown = ("rss_bytes", "pss_bytes", "rss_bytes_per_hour", "pss_bytes_per_hour", "is_growing", "threads")
        return {"lives": [], "died": 0, "raised": 0, **dict.fromkeys(unknown)}
    samples = record.newest_samples
    # Unshared memory grows when a worker writes to shared pages, resident size when it allocates more.
    growing = [is_growing(samples.at_us, column) for column in (samples.rss_bytes, samples.pss_bytes)]
    known = [each for each in growing if each is not None]
    return {
        "lives": list(record.lives),
        "died": record.ended.get("died", 0),
        "raised": record.ended.get("raised", 0),
        "rss_bytes": newest(samples.rss_bytes),
        "pss_bytes": newest(samples.pss_bytes),
        "rss_bytes_per_hour": growth_per_hour(samples.at_us, samples.rss_bytes),
        "pss_bytes_per_hour": growth_per_hour(samples.at_us, samples.pss_bytes),
        "is_growing": any(known) if known else None,
        "threads": newest(samples.threads),
    }


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


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
    loaded = _batches_between(batches, known) if is_sample else np.count_nonzero(known)
    read_bytes = float(np.mean(batches.read_bytes[known])) * loaded
    return round(read_bytes / span_us * 1e6, 3) if span_us > 0 else None


def _batches_between(batches: BatchRows, known: NDArray[np.bool_]) -> int:
    """How many batches were loaded from the first to the last of each epoch."""
    epochs, indexes = batches.epoch_index[known], batches.batch_index[known]
    return int(sum(np.ptp(indexes[epochs == epoch]) + 1 for epoch in np.unique(epochs)))
