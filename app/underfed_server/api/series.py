"""``/runs/{run_id}/series``: how metrics went over the run, in at most as many buckets as there is room for."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query

from underfed_server.api.given import ALLOWED, GivenLoader, GivenRank, GivenStore, choose
from underfed_server.api.metrics import METRICS, Metric, metric_of
from underfed_server.errors import InvalidError
from underfed_server.model import Run, Series, SeriesPage
from underfed_server.store.chunks import Column
from underfed_server.store.hosts import read_samplers
from underfed_server.store.ladder import STALL, STALL_FRACTION, Rollup
from underfed_server.store.lanes import batches_lane, steps_lane, worker_lane
from underfed_server.store.series import read_series, read_series_between
from underfed_server.store.store import Store
from underfed_server.store.tracks import Reader

router = APIRouter(tags=["runs"], dependencies=ALLOWED)

MOST_BUCKETS = 4_000
"""Twice the pixels of a wide screen."""

MOST_METRICS = 50


@dataclass(frozen=True, slots=True)
class _Question:
    run: Run
    rank: int
    loader: str | None
    worker: int
    buckets: int
    from_step: int
    to_step: int | None

    @property
    def is_whole(self) -> bool:
        return self.from_step == 0 and self.to_step is None


@router.get("/runs/{run_id}/series")
def series(
    run_id: str,
    store: GivenStore,
    metric: Annotated[list[str], Query(description=f"One or more of: {', '.join(METRICS)}", max_length=MOST_METRICS)],
    rank: GivenRank = None,
    loader: GivenLoader = None,
    worker: Annotated[int, Query(ge=0, description="Whose samples the `worker_…` metrics are of")] = 0,
    from_step: Annotated[int, Query(ge=0)] = 0,
    to_step: Annotated[int | None, Query(ge=1, description="Left out itself; default: to the end")] = None,
    buckets: Annotated[int, Query(ge=1, le=MOST_BUCKETS, description="At most so many")] = 240,
) -> SeriesPage:
    """Mean, least and greatest of each metric in buckets of consecutive steps, batches or samples."""
    metrics = {name: metric_of(name) for name in metric}
    if to_step is not None and to_step <= from_step:
        raise InvalidError(f"to_step: {to_step} does not come after from_step {from_step}", field="to_step")
    question = _Question(*choose(store, run_id, rank, loader), worker, buckets, from_step, to_step)
    found = _read(store, question, metrics.values())
    return SeriesPage(
        run_id=run_id,
        rank=question.rank,
        loader=question.loader,
        started_at=question.run.started_at,
        series=[_series(name, each, found.get(each.lane), question) for name, each in metrics.items()],
    )


def _read(store: Store, question: _Question, metrics: Iterable[Metric]) -> dict[str, Rollup | None]:
    """Each kind of lane once, all measures of it together, from one state of the database."""
    wanted: dict[str, list[str]] = {}
    for metric in metrics:
        wanted.setdefault(metric.lane, []).extend(metric.measures)
    with store.reading() as reader:
        return {kind: _rollup(reader, question, kind, list(dict.fromkeys(names))) for kind, names in wanted.items()}


def _rollup(reader: Reader, question: _Question, kind: str, names: list[str]) -> Rollup | None:
    place = _place(reader, question, kind)
    if place is None:
        return None
    rank, lane = place
    run = question.run
    if kind == "steps":
        return read_series(
            reader, run.run_id, rank, lane, run.started_at,
            names=names, buckets=question.buckets, low=question.from_step, high=question.to_step,
        )  # fmt: skip
    from_us, to_us = (None, None) if question.is_whole else _span(reader, question)
    return read_series_between(
        reader, run.run_id, rank, lane, run.started_at,
        names=names, buckets=question.buckets, from_us=from_us, to_us=to_us,
    )  # fmt: skip


def _place(reader: Reader, question: _Question, kind: str) -> tuple[int, str] | None:
    """The rank that recorded it, and the lane: host and GPUs are sampled by one rank of a host."""
    run_id, rank, loader = question.run.run_id, question.rank, question.loader
    if kind == "process":
        return rank, kind
    if kind in ("steps", "batches", "worker"):
        if loader is None:
            return None
        lanes = {"steps": steps_lane(loader), "batches": batches_lane(loader)}
        return rank, lanes.get(kind) or worker_lane(loader, question.worker)
    samplers = read_samplers(reader, run_id)
    return (samplers.host_rank(rank), kind) if kind == "host" else samplers.gpu_lane(rank)


def _span(reader: Reader, question: _Question) -> tuple[float | None, float | None]:
    """From the first step that is asked for until the one after the last, on the run's clock; ``None``: no bound."""
    if question.loader is None:
        return None, None
    first = _start_us(reader, question, question.from_step)
    after = None if question.to_step is None else _start_us(reader, question, question.to_step)
    return (np.inf if first is None else first), after


def _start_us(reader: Reader, question: _Question, step: int) -> float | None:
    """When the first step from ``step`` on began; ``None``: there is none."""
    run, lane = question.run, steps_lane(question.loader or "")
    rollup = read_series(
        reader, run.run_id, question.rank, lane, run.started_at, names=["step_us"], buckets=1, low=step
    )
    return None if rollup is None else float(rollup.first_us[0])


def _series(name: str, metric: Metric, rollup: Rollup | None, question: _Question) -> Series:
    stat = None if rollup is None else rollup.stats.get(metric.measure)
    if rollup is None or stat is None or not stat.count.any():
        missing = _missing(name, metric, question, is_empty=rollup is None)
        return Series(
            metric=name, unit=metric.unit, at_us=[], first_index=[], count=[], mean=[], min=[], max=[], missing=missing
        )
    total, weight = stat.sum, stat.count
    if metric.measure == STALL_FRACTION:
        # A share of time is that of the summed times: a bucket's long steps count for more than its short ones.
        total, weight = rollup.stats[STALL].sum, rollup.stats["step_us"].sum
    mean = np.divide(total, weight, out=np.full(len(rollup), np.nan), where=weight > 0)
    return Series(
        metric=name,
        unit=metric.unit,
        at_us=rollup.first_us.astype(np.int64).tolist(),
        first_index=rollup.first_index.astype(np.int64).tolist(),
        count=stat.count.astype(np.int64).tolist(),
        mean=_figures(mean),
        min=_figures(stat.min),
        max=_figures(stat.max),
        missing=None,
    )


def _figures(column: Column) -> list[float | None]:
    return [None if math.isnan(value) else value for value in np.round(column, 6).tolist()]


def _missing(name: str, metric: Metric, question: _Question, *, is_empty: bool) -> str:
    """The reason that the agent gave, else what can be seen from here."""
    told = [question.run.not_measured]
    told += [each.not_measured for each in question.run.loaders if each.loader == question.loader]
    for fact in (name, metric.measure, metric.explained_by):
        for reasons in reversed(told):
            if fact is not None and fact in reasons:
                return reasons[fact]
    return "nothing was recorded here" if is_empty else "not measured"
