"""The windows of a run that was not trained: all steps alike, two workers, samples once a second."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.app.made_windows import RUN, made_window

STEPS_A_WINDOW = 10
WORKERS = 2
GB = 1 << 30
MEMORY_BYTES = 64 * GB
BATCH_BYTES = 150_000_000


@dataclass(frozen=True, slots=True)
class SyntheticRun:
    """What each step and each second of the run measures. ``None``: not measured."""

    steps: int
    step_us: int
    data_wait_us: int
    load_us: int
    """Of a batch, in one of two workers; 1 ms of it computes, the rest is blocked."""
    gpu_idle_us: int | None = None
    h2d_us: int | None = None
    h2d_exposed_us: int | None = None
    util_fraction: float | None = None
    is_pinned: bool = True
    worker_bytes_per_s: int = 0
    """Growth of each worker's own memory."""
    available_bytes: int = 32 * GB
    """At the start, of 64 GiB; the growth of the workers is subtracted."""
    memory_pressure_fraction: float = 0.0
    swap_bytes_per_s: int = 0
    collate_us: int = 300
    """Of a load."""
    fits_uint8: bool | None = None
    """Whether bytes would hold the numbers of a batch, which are float32."""
    shares_a_rate: bool = False
    """In each third window half as many loads are in progress, and each takes half as long."""


def synthetic_windows(run: SyntheticRun, run_id: str) -> Iterator[dict[str, Any]]:
    """Its windows, the last of which ends the run."""
    windows = run.steps // STEPS_A_WINDOW
    for index in range(windows):
        begin_us = index * STEPS_A_WINDOW * run.step_us
        end_us = begin_us + STEPS_A_WINDOW * run.step_us
        parts = {"run_id": run_id, "start_us": begin_us, "end_us": end_us}
        parts |= {"steps": [_steps(run, index, begin_us)], "batches": [_batches(run, index, begin_us)]}
        parts |= _samples(run, begin_us, end_us)
        if index == 0:
            parts |= {"run": _run(run_id), "loaders": [_loader(run)]}
        if index == windows - 1:
            parts |= {"end": {"status": "finished"}}
        yield made_window(index, **parts)


def _run(run_id: str) -> dict[str, Any]:
    host = {"cpu_count": 16, "usable_cores": 16.0, "memory_total_bytes": MEMORY_BYTES, "swap_total_bytes": 16 * GB}
    return RUN | {"name": run_id, "job": f"vision/{run_id}", "host": host, "not_measured": {}}


def _loader(run: SyntheticRun) -> dict[str, Any]:
    settings = {"num_workers": WORKERS, "prefetch_factor": 2, "batch_size": 32, "pin_memory": run.is_pinned}
    loader = {"loader": "train", "settings": settings, "batch_tensors": 2, "batch_bytes": BATCH_BYTES}
    floats = {"batch_dtypes": {"float32": BATCH_BYTES}, "batch_fits_uint8": run.fits_uint8}
    return loader if run.fits_uint8 is None else loader | floats


def _steps(run: SyntheticRun, index: int, begin_us: int) -> dict[str, Any]:
    columns = {
        "step_us": run.step_us,
        "data_wait_us": run.data_wait_us,
        "sampler_us": 20,
        "queue_depth": 0 if run.data_wait_us > 5_000 else WORKERS * 2,
        "gpu_idle_us": run.gpu_idle_us,
        "h2d_us": run.h2d_us,
        "h2d_exposed_us": run.h2d_exposed_us,
    }
    first = index * STEPS_A_WINDOW
    return {
        "loader": "train",
        "epoch_index": 0,
        "first_step_index": first,
        "first_batch_index": first,
        "start_us": begin_us,
        **{name: [value] * STEPS_A_WINDOW for name, value in columns.items() if value is not None},
    }


def _batches(run: SyntheticRun, index: int, begin_us: int) -> dict[str, Any]:
    """A batch that is waited for arrives as soon as it is loaded; any other is ready one step earlier."""
    numbers = range(index * STEPS_A_WINDOW, (index + 1) * STEPS_A_WINDOW)
    given = [begin_us + step * run.step_us + run.data_wait_us for step in range(STEPS_A_WINDOW)]
    early_us = 500 if run.data_wait_us > 5_000 else run.step_us
    load_us = run.load_us // 2 if run.shares_a_rate and index % 3 == 0 else run.load_us
    columns = {"load_us": load_us, "cpu_us": 1_000, "runqueue_us": 0, "blocked_us": load_us - 1_000}
    return {
        "loader": "train",
        "epoch_index": 0,
        "batch_index": list(numbers),
        "worker": [number % WORKERS for number in numbers],
        "start_us": [max(0, at - early_us - load_us) for at in given],
        **{name: [value] * STEPS_A_WINDOW for name, value in columns.items()},
        "collate_us": [run.collate_us] * STEPS_A_WINDOW,
        "asked_bytes": [10_000_000] * STEPS_A_WINDOW,
        "read_bytes": [0] * STEPS_A_WINDOW,
        "samples": [32] * STEPS_A_WINDOW,
        "received_us": given,
    }


def _samples(run: SyntheticRun, begin_us: int, end_us: int) -> dict[str, Any]:
    seconds = range(-(-begin_us // 1_000_000), -(-end_us // 1_000_000))
    at_us = [second * 1_000_000 for second in seconds]
    grown = [run.worker_bytes_per_s * second for second in seconds]
    host = {
        "at_us": at_us,
        "busy_cores": [1.0 for _ in seconds],
        "memory_available_bytes": [run.available_bytes - WORKERS * each for each in grown],
        "memory_pressure_us": [round(at * run.memory_pressure_fraction) for at in at_us],
        "swap_used_bytes": [run.swap_bytes_per_s * second for second in seconds],
    }
    rss = [GB + each for each in grown]
    workers = [{"loader": "train", "worker": worker, "at_us": at_us, "rss_bytes": rss} for worker in range(WORKERS)]
    gpus = [] if run.util_fraction is None else [_gpu(at_us, run.util_fraction)]
    return {"host": host, "worker_samples": workers, "gpus": gpus} if at_us else {}


def _gpu(at_us: list[int], util_fraction: float) -> dict[str, Any]:
    return {
        "gpu_index": 0,
        "at_us": at_us,
        "util_fraction": [util_fraction for _ in at_us],
        "own_process": [True for _ in at_us],
    }
