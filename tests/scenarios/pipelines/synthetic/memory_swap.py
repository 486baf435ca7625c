"""A host that swaps while its workers load: they wait for their own pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.synthetic_windows import GB, SyntheticRun, synthetic_windows

WAIT_US: dict[Strength, int] = {"none": 1_200, "weak": 50_000, "clear": 200_000, "strong": 600_000}
"""Of a step beyond the work, in which tasks waited for memory."""
WORK_US = 400_000


def windows(strength: Strength, run_id: str) -> Iterator[dict[str, Any]]:
    is_short = strength != "none"
    wait_us = WAIT_US[strength]
    step_us = WORK_US + wait_us
    run = SyntheticRun(
        steps=200,
        step_us=step_us,
        data_wait_us=wait_us,
        load_us=2 * step_us if is_short else 200_000,
        available_bytes=GB if is_short else 32 * GB,
        memory_pressure_fraction=wait_us / step_us if is_short else 0.0,
        swap_bytes_per_s=20_000_000 if is_short else 0,
    )
    return synthetic_windows(run, run_id)


PIPELINE = Pipeline("memory_pressure", windows=windows)
