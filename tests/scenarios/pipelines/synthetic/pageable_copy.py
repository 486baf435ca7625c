"""Batches of 150 MB are copied to the device from pageable memory, while it has nothing else to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.synthetic_windows import SyntheticRun, synthetic_windows

EXPOSED_US: dict[Strength, int] = {"none": 0, "weak": 16_000, "clear": 50_000, "strong": 120_000}
"""Of a step; the healthy neighbour copies as long, from pinned memory, beside the kernels."""
WORK_US = 200_000


def windows(strength: Strength, run_id: str) -> Iterator[dict[str, Any]]:
    exposed_us = EXPOSED_US[strength]
    return synthetic_windows(
        SyntheticRun(
            steps=100,
            step_us=WORK_US + exposed_us,
            data_wait_us=1_200,
            load_us=60_000,
            gpu_idle_us=1_000,
            h2d_us=max(exposed_us, 50_000),
            h2d_exposed_us=exposed_us,
            util_fraction=0.97,
            is_pinned=strength == "none",
        ),
        run_id,
    )


PIPELINE = Pipeline("pageable_copy", windows=windows)
