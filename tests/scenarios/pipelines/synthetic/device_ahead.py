"""The host waits for batches while the device works on kernels that were queued before: no device time is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.synthetic_windows import SyntheticRun, synthetic_windows

WAIT_US: dict[Strength, int] = {"none": 2_000, "weak": 40_000, "clear": 100_000, "strong": 180_000}


def windows(strength: Strength, run_id: str) -> Iterator[dict[str, Any]]:
    run = SyntheticRun(
        steps=100,
        step_us=200_000,
        data_wait_us=WAIT_US[strength],
        load_us=300_000,
        gpu_idle_us=300,
        h2d_us=2_000,
        h2d_exposed_us=100,
        util_fraction=0.98,
    )
    return synthetic_windows(run, run_id)


PIPELINE = Pipeline(None, windows=windows)
