"""``/runs/{run_id}/series``: metrics over the run, in at most as many buckets as requested."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query, Response

from underfed_server.api.dependencies import (
    MOST,
    FromStepQuery,
    LoaderQuery,
    RankQuery,
    StoreDep,
    ToStepQuery,
    check_stretch,
    choose,
)
from underfed_server.api.other_waits import read_other_waits
from underfed_server.api.required_scope import needs
from underfed_server.errors import InvalidError
from underfed_server.facts.pauses import Paused, read_paused
from underfed_server.measurements import (
    BESIDE,
    COMPUTED,
    METRICS,
    OTHERS_WAIT,
    PAUSE,
    STALL,
    STALL_FRACTION,
    Column,
    Metric,
)
from underfed_server.model import Series, SeriesPage
from underfed_server.store.columns.ladder import Rollup, Stat
from underfed_server.store.columns.lanes import batches_lane, steps_lane, worker_lane
from underfed_server.store.reading.details import read_reasons
from underfed_server.store.reading.instants import span_of
from underfed_server.store.reading.samplers import read_samplers
from underfed_server.store.reading.series import read_series
from underfed_server.store.reading.tracks import Reader, RowsLeft
from underfed_server.store.runs.summaries import run_columns

router = APIRouter(tags=["runs"])

MOST_BUCKETS = 4_000
"""Twice the pixels of a wide screen."""

MOST_METRICS = 50


PERCENTILES = (50, 95, 99)
METRIC = (
    "One or more columns of docs/wire.md (with `worker_` before those of workers, `gpu_` before those of GPUs), or "
    f"{', '.join(name for computed in COMPUTED.values() for name in computed if name in METRICS)}, or "
    f"{' or '.join(BESIDE)}, which have no extremes. An unknown one is answered with the list of all."
)


MADE_OF = {STALL_FRACTION: (STALL, "step_us"), **dict.fromkeys(BESIDE, ("step_us", "data_wait_us"))}
"""What else has to be read for a metric."""


@dataclass(frozen=True, slots=True)
class _Question:
    run_id: str
    rank: int
    loader: str | None
    worker: int
    buckets: int
    from_step: int
    to_step: int | None
    percentiles: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    """What was read of one kind of lane."""

    rollup: Rollup | None
    stats: Mapping[str, Stat]
    kept: RowsLeft
    paused: Paused | None = None


@router.get("/runs/{run_id}/series", response_model=SeriesPage, **needs("view"))
def series(
    run_id: str,
    store: StoreDep,
    metric: Annotated[list[str], Query(description=METRIC, max_length=MOST_METRICS)],
    rank: RankQuery = None,
    loader: LoaderQuery = None,
    worker: Annotated[int, Query(ge=0, le=MOST, description="The worker that the `worker_…` metrics are of")] = 0,
    from_step: FromStepQuery = 0,
    to_step: ToStepQuery = None,
    buckets: Annotated[int, Query(ge=1, le=MOST_BUCKETS, description="Maximum number of buckets")] = 240,
    percentiles: Annotated[bool, Query(description="p50, p95 and p99 of durations; buckets may be larger")] = False,
) -> Response:
    """Mean, least and greatest of each metric in buckets of consecutive steps, batches or samples.

    With ``pause_us`` also what the program did beside training with the loader, and when its last step ended.
    """
    metrics = {name: _metric(name) for name in metric}
    check_stretch(from_step, to_step)
    with store.reading() as reader:
        started_at = run_columns(reader.connection, run_id, "started_at")["started_at"]
        chosen, its_loader = choose(reader, run_id, rank, loader)
        asked = PERCENTILES if percentiles else ()
        question = _Question(run_id, chosen, its_loader, worker, buckets, from_step, to_step, asked)
        found = _read(reader, question, metrics.values())
        missing = [name for name, each in metrics.items() if each.measure not in found[each.lane_kind].stats]
        reasons = read_reasons(reader.connection, run_id, its_loader) if missing else {}
    paused = found["steps"].paused if "steps" in found else None
    # Not validated again: these are thousands of figures.
    page = SeriesPage.model_construct(
        run_id=run_id,
        rank=chosen,
        loader=its_loader,
        started_at=started_at,
        end_us=None if paused is None else int(paused.end_us),
        pauses=[] if paused is None else list(paused.pauses),
        series=[
            _nothing(name, each, found[each.lane_kind], reasons)
            if name in missing
            else _series(name, each, found[each.lane_kind])
            for name, each in metrics.items()
        ],
    )
    return Response(page.model_dump_json(), media_type="application/json")


def _metric(name: str) -> Metric:
    metric = METRICS.get(name)
    if metric is None:
        raise InvalidError(f"metric: {name!r} is none of {', '.join(sorted(METRICS))}", field="metric")
    return metric


def _read(reader: Reader, question: _Question, metrics: Iterable[Metric]) -> dict[str, _Found]:
    """Each kind of lane once, all measures of it together, from one state of the database."""
    wanted: dict[str, list[str]] = {}
    for metric in metrics:
        wanted.setdefault(metric.lane_kind, []).extend((*MADE_OF.get(metric.measure, ()), metric.measure))
    return {kind: _find(reader, question, kind, list(dict.fromkeys(names))) for kind, names in wanted.items()}


def _find(reader: Reader, question: _Question, kind: str, names: list[str]) -> _Found:
    place = _place(reader, question, kind)
    if place is None:
        return _Found(None, {}, RowsLeft())
    low, high, from_us, to_us = question.from_step, question.to_step, None, None
    if kind != "steps":
        low, high, (from_us, to_us) = 0, None, _span(reader, question)
    rollup = read_series(
        reader, question.run_id, *place, names=[name for name in names if name not in BESIDE],
        buckets=question.buckets, low=low, high=high, from_us=from_us, to_us=to_us, percentiles=question.percentiles,
    )  # fmt: skip
    stats = {} if rollup is None else rollup.stats
    if rollup is not None and OTHERS_WAIT in names and question.loader is not None:
        waits = read_other_waits(reader, question.run_id, question.rank, question.loader, rollup)
        stats |= {} if waits is None else {OTHERS_WAIT: waits}
    paused = None
    if rollup is not None and PAUSE in names and question.loader is not None:
        paused = read_paused(reader, question.run_id, question.rank, question.loader, rollup)
        stats |= {} if paused is None else {PAUSE: paused.within}
    return _Found(rollup, stats, reader.kept(question.run_id, *place), paused)


def _place(reader: Reader, question: _Question, kind: str) -> tuple[int, str] | None:
    """The rank that recorded it, and the lane: host and GPUs are sampled by one rank of a host."""
    run_id, rank, loader = question.run_id, question.rank, question.loader
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
    steps = reader.tracks(question.run_id, question.rank, steps_lane(question.loader))
    return span_of(reader, steps, question.from_step, question.to_step)


def _nothing(name: str, metric: Metric, found: _Found, reasons: Mapping[str, str]) -> Series:
    facts = (name, metric.measure, metric.explained_by)
    reason = next((reasons[fact] for fact in facts if fact is not None and fact in reasons), None)
    return Series(
        metric=name, unit=metric.unit, at_us=[], first_index=[], count=[], mean=[], min=[], max=[],
        missing=reason or ("nothing was recorded here" if found.rollup is None else "not measured"),
        precision_bits=found.kept.precision_bits, given_up_before=found.kept.given_up_before,
    )  # fmt: skip


def _series(name: str, metric: Metric, found: _Found) -> Series:
    rollup, stat = found.rollup, found.stats[metric.measure]
    assert rollup is not None, "it has figures"
    percentiles = rollup.percentiles.get(metric.measure)
    p50, p95, p99 = (None,) * 3 if percentiles is None else (_figures(row) for row in percentiles)
    return Series.model_construct(
        metric=name,
        unit=metric.unit,
        precision_bits=found.kept.precision_bits,
        given_up_before=found.kept.given_up_before,
        at_us=rollup.first_us.astype(np.int64).tolist(),
        first_index=rollup.first_index.astype(np.int64).tolist(),
        count=stat.count.astype(np.int64).tolist(),
        mean=_figures(_mean(metric, found)),
        min=_figures(stat.min),
        max=_figures(stat.max),
        p50=p50,
        p95=p95,
        p99=p99,
        missing=None,
    )


def _mean(metric: Metric, found: _Found) -> Column:
    stat = found.stats[metric.measure]
    total, weight = stat.sum, stat.count
    if metric.measure == STALL_FRACTION:
        # A share of time is that of the summed times: a bucket's long steps count for more than its short ones.
        total, weight = found.stats[STALL].sum, found.stats["step_us"].sum
    return np.asarray(np.divide(total, weight, out=np.full(len(total), np.nan), where=weight > 0))


def _figures(column: Column) -> list[float | None]:
    figures: list[float | None] = np.round(column, 6).tolist()
    for place in np.flatnonzero(np.isnan(column)).tolist():
        figures[place] = None
    return figures
