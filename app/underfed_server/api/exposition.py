"""``/metrics``: the service's own figures and those of running runs, as Prometheus reads them.

Durations are seconds here, as everywhere on a Prometheus endpoint; ``docs/operations.md`` lists all of it.
"""

from __future__ import annotations

from collections import Counter as TotalOf
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from platform import python_version

from fastapi import APIRouter, Request, Response
from prometheus_client import ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import CollectorRegistry

from underfed_server.api.dependencies import Parts, PartsDep, PermissionDep
from underfed_server.api.required_scope import needs
from underfed_server.names import Projects
from underfed_server.store.runs.counted import Amounts, Counted
from underfed_server.store.team.gauges import RunGauges, StoreGauges

router = APIRouter(tags=["service"])

MOST_RUNS = 200
"""The running runs that have series of their own, those that lost most: each adds eight to what Prometheus keeps."""

MOST_COUNTED = 1_000
"""Series of each counter that outlives runs: agents name projects and users as they like."""

MOST_LABEL = 100
"""Characters of a name: it is repeated on every line of the run."""

INFO_LABELS = {
    "run_id": "run_id", "project": "project", "name": "name", "user": "user", "host": "hostname",
    "slurm_job_id": "slurm_job_id", "namespace": "namespace", "pod": "pod", "train_job": "train_job", "queue": "queue",
}  # fmt: skip
"""Of ``underfed_run_info``, and the field of :class:`RunGauges`. Other series of a run have its id alone, by which they
are joined with it: a name on every line would begin all of a run's series anew when somebody changes it."""

RUN_GAUGES = (
    ("data_stall_ratio", "Share of step time lost to input", "data_stall_fraction", 1.0),
    ("steps_per_second", "Steps a second of one rank", "steps_per_s", 1.0),
    ("step_seconds", "Typical step", "step_us", 1e-6),
    ("lost_seconds", "Time lost to input so far, summed over ranks", "hours_lost", 3_600.0),
    ("gpu_lost_seconds", "GPU time lost to input so far, summed over GPUs", "gpu_hours_lost", 3_600.0),
    (
        "predicted_speedup_ratio",
        "Predicted factor on the speed of the run, of the best advice that promises one",
        "predicted_speedup",
        1.0,
    ),
)
"""Name, help, field of :class:`RunGauges`, factor."""


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"description": "Prometheus' text format", "content": {"text/plain": {}}}},
    **needs("view"),
)
def metrics(request: Request, parts: PartsDep, permission: PermissionDep) -> Response:
    """The service's own figures, those of the running runs that lost most, and counters of all runs, for Prometheus."""
    encode, kind = choose_encoder(request.headers.get("accept", ""))
    registry = CollectorRegistry(auto_describe=False)
    registry.register(parts.counters.registry)
    registry.register(Exposition(parts, permission.projects()))
    ProcessCollector(registry=registry)
    return Response(encode(registry), media_type=kind)


@dataclass(frozen=True, slots=True)
class Exposition:
    """Collected once, for one answer."""

    parts: Parts
    projects: Projects
    """Whose runs are exposed."""

    def collect(self) -> Iterator[Metric]:
        running, gauges = self.parts.store.gauges(MOST_RUNS, self.projects)
        yield InfoMetricFamily(
            "underfed_build", "Version", value={"version": version("underfed"), "python": python_version()}
        )
        waiting, waiting_bytes = self.parts.store.waiting
        yield _gauge("writer_queue_length", "Writes that wait for the writing thread", waiting)
        yield _gauge("writer_queue_bytes", "Memory that the windows among them take, at most", waiting_bytes)
        lag_s = self.parts.scheduler.lag_s
        yield _gauge("judging_lag_seconds", "Since when the run waits to be judged that waits longest", lag_s)
        yield _gauge("event_streams", "Open event streams: one per open page", self.parts.events.open_streams)
        yield _gauge("streams_set_aside", "Streams that could not be compacted", self.parts.store.aside)
        yield from _store(gauges, len(running))
        yield from _runs(running)
        yield from _counted(self.parts.store.counted(self.projects, MOST_COUNTED))


def _store(gauges: StoreGauges, shown: int) -> Iterator[Metric]:
    runs = GaugeMetricFamily("underfed_runs_by_status", "Runs by status", labels=["status"])
    for status, count in gauges.runs_by_status.items():
        runs.add_metric([status], count)
    yield runs
    left_out = max(0, gauges.runs_by_status["running"] - shown)
    yield _gauge("runs_left_out", f"Running runs without series here: there are more than {MOST_RUNS}", left_out)
    yield _gauge("database_bytes", "Size of the database on disk", gauges.database_bytes)
    yield _gauge("journal_bytes", "Of it, SQLite's write-ahead log", gauges.journal_bytes)
    yield _gauge("hot_streams", "Streams with windows that wait to be compacted", gauges.hot_streams)
    yield _gauge("hot_windows", "Windows that wait to be compacted", gauges.hot_windows)


def _runs(running: Sequence[RunGauges]) -> Iterator[Metric]:
    """The verdict is a series of its own: as a label, each change of it would begin all of a run's series anew."""
    info = GaugeMetricFamily("underfed_run_info", "1, with what to join a run's series on", labels=list(INFO_LABELS))
    verdict = GaugeMetricFamily(
        "underfed_run_verdict", "1, with the last verdict in the labels", labels=["run_id", "bound", "level", "cause"]
    )
    for run in running:
        info.add_metric([_label(getattr(run, field)) for field in INFO_LABELS.values()], 1)
        verdict.add_metric([run.run_id, run.bound, run.level, run.cause or ""], 1)
    yield info
    yield verdict
    for name, documentation, field, factor in RUN_GAUGES:
        family = GaugeMetricFamily(f"underfed_run_{name}", documentation, labels=["run_id"])
        for run in running:
            value: float | None = getattr(run, field)
            # What was not measured has no series: 0 would be a measurement.
            if value is not None:
                family.add_metric([run.run_id], value * factor)
        yield family


def _counted(counted: Counted) -> Iterator[Metric]:
    yield _counter("gpu_lost_seconds", "GPU time lost to input", ("project", "user", "cause"), counted.gpu_lost_us, 1e6)
    yield _counter("gpu_seconds", "GPU time in training loops", ("project", "user"), counted.gpu_us, 1e6)
    yield _counter("runs", "Runs that ended, by verdict", ("project", "bound"), counted.runs, 1)
    yield _gauge(
        "counted_left_out", f"Series of these counters that are not here: beyond {MOST_COUNTED} each", counted.left_out
    )


def _counter(name: str, documentation: str, labels: Sequence[str], amounts: Amounts, divisor: float) -> Metric:
    family = CounterMetricFamily(f"underfed_{name}", documentation, labels=labels)
    # Names that differ behind MOST_LABEL alone are one series: the same one twice is refused by Prometheus.
    sums: TotalOf[tuple[str, ...]] = TotalOf()
    for names, amount in amounts.items():
        sums[tuple(map(_label, names))] += amount
    for names, amount in sums.items():
        family.add_metric(names, amount / divisor)
    return family


def _label(name: str | None) -> str:
    """An empty label is none to Prometheus."""
    return (name or "")[:MOST_LABEL]


def _gauge(name: str, documentation: str, value: float) -> Metric:
    return GaugeMetricFamily(f"underfed_{name}", documentation, value=value)
