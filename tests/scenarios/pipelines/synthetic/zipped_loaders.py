"""A loop over two loaders at once: the first is ahead, and the second has no workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.app.made_loops import Thread, zipped
from tests.scenarios.pipelines.pipeline import Pipeline, Strength

LOAD_MS: dict[Strength, float] = {"none": 1, "weak": 4, "clear": 40, "strong": 120}


def windows(strength: Strength, run_id: str) -> Iterator[dict[str, Any]]:
    thread = Thread(run_id, images=2, labels=0)
    zipped(thread, 200, work=60, images=1, labels=LOAD_MS[strength])
    yield thread.window(end={"status": "finished"})


PIPELINE = Pipeline("no_workers", windows=windows)
