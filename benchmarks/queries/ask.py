"""Requests from the stores, over HTTP as the page does and inside the service, and how long each answer took."""

from __future__ import annotations

import http.client
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.ingest.service import serving
from benchmarks.queries.build import LOADER
from benchmarks.queries.stores import COMPARED, RANKS, Stores
from underfed_server.measurements import MEASURES, METRICS
from underfed_server.store.columns.lanes import steps_lane
from underfed_server.store.reading.series import read_series
from underfed_server.store.store import Store

OVERVIEW, COMPARISON = 1_000, 600
"""Buckets: as many as a wide screen has room for, and as a panel beside others has."""

SHORTEST_ZOOM = 20
ALL = [name for name, metric in METRICS.items() if metric.measure in MEASURES["steps"] and metric.lane_kind == "steps"]
PERCENTILES = (50, 95, 99)

Stretch = tuple[int, int | None]
WHOLE: Stretch = (0, None)


@dataclass(frozen=True, slots=True)
class Question:
    """For several ranks or runs one after the other, the time is that of all together."""

    metrics: Sequence[str]
    buckets: int
    asked: Sequence[tuple[str, int]] = (("long", 0),)
    """``(run, rank)``"""
    has_percentiles: bool = False
    is_zoom: bool = False


QUESTIONS = {
    "whole run, all metrics of a rank": (Question(ALL, OVERVIEW), 10),
    "the same of 8 ranks": (Question(ALL, OVERVIEW, [("long", rank) for rank in range(RANKS)]), None),
    "p50, p95, p99 of one metric": (Question(["step_us"], OVERVIEW, has_percentiles=True), 60),
    "any zoom, all metrics": (Question(ALL, OVERVIEW, is_zoom=True), 30),
    "any zoom with percentiles": (Question(["step_us"], OVERVIEW, has_percentiles=True, is_zoom=True), 60),
    "20 runs compared, one metric": (
        Question(["step_us"], COMPARISON, [(f"compared-{index}", 0) for index in range(COMPARED)]),
        200,
    ),
}
"""With the milliseconds that each may take."""


def print_answers(stores: Stores, times: int) -> None:
    head = f"{'a run of ' + format(stores.steps, ',') + ' steps × 8 ranks':<42}{'median ms':>11}{'p95 ms':>9}"
    print(f"\n{head}{'CPU ms':>9}{'inside':>9}{'p95':>9}{'at most':>9}")
    store = Store(f"sqlite:///{stores.long}")
    try:
        inside = {name: _times(_asker(store, question, stores), times) for name, (question, _) in QUESTIONS.items()}
    finally:
        store.close()
    with _client(stores.long) as (get, service):
        for name, (question, most) in QUESTIONS.items():
            outside = _measured(service, _requester(get, question, stores), times)
            _print(name, [*outside, *inside[name]], most)
    with _client(stores.many) as (get, service):
        listed = _measured(service, lambda _: get("/api/v1/runs?limit=5000"), times)
        _print("5,000 runs in one list", listed, 50)


def _print(name: str, figures: Sequence[float], most: int | None) -> None:
    columns = [f"{figure:.1f}" for figure in figures] + [""] * (5 - len(figures))
    widths = (11, 9, 9, 9, 9)
    row = "".join(f"{column:>{width}}" for column, width in zip(columns, widths, strict=True))
    print(f"{name:<42}{row}{'' if most is None else most:>9}", flush=True)


def _measured(
    service: psutil.Process, ask: Callable[[random.Random], object], times: int
) -> tuple[float, float, float]:
    """Median, 95th percentile, and the CPU time of the service for one: on a loaded machine the steadier figure."""
    before = sum(service.cpu_times()[:2])
    median, p95 = _times(ask, times)
    cpu_ms = (sum(service.cpu_times()[:2]) - before) * 1_000
    return median, p95, cpu_ms / (times + 1)


def _times(ask: Callable[[random.Random], object], times: int) -> tuple[float, float]:
    """Median and 95th percentile, after one request to warm up; always at the same places."""
    places = random.Random(1)
    ask(places)
    took_ms = []
    for _ in range(times):
        began = time.perf_counter()
        ask(places)
        took_ms.append((time.perf_counter() - began) * 1_000)
    return statistics.median(took_ms), statistics.quantiles(took_ms, n=20)[-1]


def _stretch(places: random.Random, question: Question, steps: int) -> Stretch:
    """A random span of any length from 20 steps to the whole run, log-uniform in length."""
    if not question.is_zoom:
        return WHOLE
    length = round(SHORTEST_ZOOM * (steps / SHORTEST_ZOOM) ** places.random())
    low = places.randrange(steps - length + 1)
    return low, low + length


def _asker(store: Store, question: Question, stores: Stores) -> Callable[[random.Random], object]:
    measures = [METRICS[name].measure for name in question.metrics]

    def ask(places: random.Random) -> None:
        low, high = _stretch(places, question, stores.steps)
        for run_id, rank in question.asked:
            with store.reading() as reader:
                read_series(
                    reader, run_id, rank, steps_lane(LOADER),
                    names=measures, buckets=question.buckets, low=low, high=high,
                    percentiles=PERCENTILES if question.has_percentiles else (),
                )  # fmt: skip

    return ask


def _requester(get: Callable[[str], None], question: Question, stores: Stores) -> Callable[[random.Random], object]:
    def ask(places: random.Random) -> None:
        low, high = _stretch(places, question, stores.steps)
        metrics = "&".join(f"metric={name}" for name in question.metrics)
        where = f"&from_step={low}" + ("" if high is None else f"&to_step={high}")
        more = "&percentiles=true" if question.has_percentiles else ""
        for run_id, rank in question.asked:
            get(f"/api/v1/runs/{run_id}/series?{metrics}&rank={rank}&buckets={question.buckets}{where}{more}")

    return ask


@contextmanager
def _client(database: Path) -> Iterator[tuple[Callable[[str], None], psutil.Process]]:
    """Requests over one connection from a service in a process of its own."""
    with serving(database, judges=False) as service:
        connection = http.client.HTTPConnection("127.0.0.1", service.port)

        def get(path: str) -> None:
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200:
                raise RuntimeError(body.decode())

        try:
            yield get, psutil.Process(service.pid)
        finally:
            connection.close()
