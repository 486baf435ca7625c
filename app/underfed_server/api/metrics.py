"""The metrics of ``/series``: which lane each is recorded in, under what name, and in what unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from underfed_server.errors import InvalidError
from underfed_server.model import Unit
from underfed_server.store.columns.ladder import COMPUTE, OWN_CORES, RATES, STALL, STALL_FRACTION, explained_by


@dataclass(frozen=True, slots=True)
class Metric:
    lane: str
    """Its kind: ``steps``, ``batches``, ``worker``, ``process``, ``host`` or ``gpu``."""
    measure: str
    unit: Unit
    explained_by: str | None = None
    """Another metric whose reason for not being measured is this one's too."""

    @property
    def measures(self) -> tuple[str, ...]:
        """What must be read for it."""
        return (STALL, "step_us", self.measure) if self.measure == STALL_FRACTION else (self.measure,)


UTIL = "gpu_util_fraction"


def _us(lane: str, *names: str) -> dict[str, Metric]:
    return {name: Metric(lane, name, "us") for name in names}


METRICS: Mapping[str, Metric] = {
    **_us("steps", "step_us", "data_wait_us", COMPUTE, "sampler_us", "h2d_us", "h2d_exposed_us"),
    **_us("steps", "gpu_idle_us", "gpu_work_us"),
    "queue_depth": Metric("steps", "queue_depth", "count"),
    STALL_FRACTION: Metric("steps", STALL_FRACTION, "fraction"),
    **_us("batches", "load_us", "cpu_us", "runqueue_us", "blocked_us", "collate_us", "pin_us"),
    "read_bytes": Metric("batches", "read_bytes", "bytes"),
    UTIL: Metric("gpu", "util_fraction", "fraction"),
    "gpu_memory_used_bytes": Metric("gpu", "memory_used_bytes", "bytes", UTIL),
    "gpu_power_w": Metric("gpu", "power_w", "w", UTIL),
    "busy_cores": Metric("host", "busy_cores", "cores"),
    "memory_available_bytes": Metric("host", "memory_available_bytes", "bytes"),
    "memory_used_bytes": Metric("host", "memory_used_bytes", "bytes"),
    "swap_used_bytes": Metric("host", "swap_used_bytes", "bytes"),
    "shm_free_bytes": Metric("host", "shm_free_bytes", "bytes"),
    **{rate: Metric("host", rate, "bytes_per_s", explained_by(rate)) for rate in RATES},
    OWN_CORES: Metric("process", OWN_CORES, "cores"),
    "rss_bytes": Metric("process", "rss_bytes", "bytes"),
    "workers_rss_bytes": Metric("process", "workers_rss_bytes", "bytes"),
    "threads": Metric("process", "threads", "count"),
    "open_files": Metric("process", "open_files", "count"),
    "swap_bytes": Metric("process", "swap_bytes", "bytes"),
    "worker_rss_bytes": Metric("worker", "rss_bytes", "bytes"),
    "worker_pss_bytes": Metric("worker", "pss_bytes", "bytes"),
    "worker_threads": Metric("worker", "threads", "count"),
}


def metric_of(name: str) -> Metric:
    """Raises:
    InvalidError: there is no such metric.
    """
    metric = METRICS.get(name)
    if metric is None:
        raise InvalidError(f"metric: {name!r} is none of {', '.join(sorted(METRICS))}", field="metric")
    return metric
