"""Workers of a busy training whose memory grows with each sample that they touch: copy-on-write without an end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.synthetic_windows import GB, SyntheticRun, synthetic_windows

GB_PER_HOUR: dict[Strength, float] = {"none": 0, "weak": 0.8, "clear": 4, "strong": 20}
"""Of each of two workers; 32 GB are left."""


def windows(strength: Strength, run_id: str) -> Iterator[dict[str, Any]]:
    run = SyntheticRun(
        steps=200,
        step_us=1_800_000,
        data_wait_us=1_200,
        load_us=60_000,
        worker_bytes_per_s=round(GB_PER_HOUR[strength] * GB / 3_600),
    )
    return synthetic_windows(run, run_id)


PIPELINE = Pipeline("memory_pressure", windows=windows)
