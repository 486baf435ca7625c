"""Loads of files that share one rate: half as many at once take half as long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.synthetic_windows import SyntheticRun, synthetic_windows

WAIT_US: dict[Strength, int] = {"none": 2_000, "weak": 15_000, "clear": 50_000, "strong": 80_000}


def windows(strength: Strength, run_id: str) -> Iterator[dict[str, Any]]:
    run = SyntheticRun(steps=120, step_us=100_000, data_wait_us=WAIT_US[strength], load_us=400_000, shares_a_rate=True)
    return synthetic_windows(run, run_id)


PIPELINE = Pipeline("storage_limit", windows=windows)
