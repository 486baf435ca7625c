"""A server whose answers take very different times, and workers too few even for its mean."""

from __future__ import annotations

import random

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

MEAN_MS: dict[Strength, float] = {"none": 12, "weak": 38, "clear": 80, "strong": 160}
SPREAD = 0.5
"""Standard deviation of the logarithm: the slowest 5 % take 2.3 times the median."""
WORK_MS = 20
STEPS: dict[Strength, int] = {"none": 120, "weak": 120, "clear": 80, "strong": 60}


class Answer:
    def __init__(self, mean_ms: float) -> None:
        self.mean_ms = mean_ms

    def __call__(self, index: int) -> None:
        wait(self.mean_ms * random.Random(index).lognormvariate(-(SPREAD**2) / 2, SPREAD))


def run(strength: Strength) -> None:
    loader = DataLoader(Samples(STEPS[strength], Answer(MEAN_MS[strength])), batch_size=1, num_workers=2)
    train(loader, work_ms=WORK_MS)


PIPELINE = Pipeline("too_few_workers", run)
