"""Twice as many workers as cores, and all of them compute."""

from __future__ import annotations

import os

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.effort import compute
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

CORE_MS: dict[Strength, float] = {"none": 6, "weak": 20, "clear": 40, "strong": 80}
"""CPU time of a batch divided by the number of cores: the shortest time between two batches."""
WORK_MS = 20
STEPS: dict[Strength, int] = {"none": 100, "weak": 120, "clear": 60, "strong": 50}


class Decode:
    def __init__(self, ms: float) -> None:
        self.ms = ms

    def __call__(self, index: int) -> None:
        compute(self.ms)


def run(strength: Strength, workers_per_core: int = 2) -> None:
    cores = len(os.sched_getaffinity(0))
    samples = Samples(STEPS[strength], Decode(CORE_MS[strength] * cores))
    train(DataLoader(samples, batch_size=1, num_workers=workers_per_core * cores), work_ms=WORK_MS)


PIPELINE = Pipeline("cpu_limited", run)
