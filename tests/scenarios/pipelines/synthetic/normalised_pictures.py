"""Pictures that were normalised: joined as floats they fill four times the memory of their bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.synthetic_windows import SyntheticRun, synthetic_windows

LOAD_US: dict[Strength, int] = {"none": 60_000, "weak": 90_000, "clear": 200_000, "strong": 400_000}
"""Of a batch in each of two workers, nearly all of it joining."""
WORK_US = 40_000


def joining(strength: Strength, *, fits_uint8: bool = True) -> SyntheticRun:
    load_us = LOAD_US[strength]
    wait_us = max(1_200, load_us // 2 - WORK_US)
    return SyntheticRun(
        steps=100,
        step_us=WORK_US + wait_us,
        data_wait_us=wait_us,
        load_us=load_us,
        collate_us=load_us - 1_000,
        fits_uint8=fits_uint8,
    )


def windows(strength: Strength, run_id: str) -> Iterator[dict[str, Any]]:
    return synthetic_windows(joining(strength), run_id)


PIPELINE = Pipeline("slow_collate", windows=windows)
