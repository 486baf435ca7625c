"""A training that is fed, and a validation after each of its epochs whose loader has no workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.app.made_loops import Thread
from tests.scenarios.pipelines.pipeline import Pipeline, Strength

LOAD_MS: dict[Strength, float] = {"none": 0.5, "weak": 5, "clear": 40, "strong": 150}
EPOCHS = 4


def windows(strength: Strength, run_id: str) -> Iterator[dict[str, Any]]:
    thread = Thread(run_id, train=2, val=0)
    for _ in range(EPOCHS):
        thread.run_through("train", 60, 0.5, 50)
        thread.run_through("val", 30, LOAD_MS[strength], 10)
    yield thread.window(end={"status": "finished"})


PIPELINE = Pipeline("no_workers", windows=windows)
