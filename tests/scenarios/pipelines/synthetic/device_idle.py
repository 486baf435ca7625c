"""The device has no kernels to run: the program logs and launches them late, while its input is ready."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.synthetic_windows import SyntheticRun, synthetic_windows

UTIL: dict[Strength, float] = {"none": 0.98, "weak": 0.85, "clear": 0.6, "strong": 0.3}


def windows(strength: Strength, run_id: str) -> Iterator[dict[str, Any]]:
    run = SyntheticRun(
        steps=100,
        step_us=200_000,
        data_wait_us=1_500,
        load_us=60_000,
        gpu_idle_us=1_400,
        h2d_us=2_000,
        h2d_exposed_us=100,
        util_fraction=UTIL[strength],
    )
    return synthetic_windows(run, run_id)


PIPELINE = Pipeline(None, windows=windows)
