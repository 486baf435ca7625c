"""Pictures of very different sizes, decoded on busy cores: the loop waits for a core, not for the largest picture."""

from __future__ import annotations

import os
import random

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.effort import compute
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples
from tests.scenarios.pipelines.sick.cpu_limited import CORE_MS, STEPS, WORK_MS

SPREAD = 0.5


class Decode:
    def __init__(self, mean_ms: float) -> None:
        self.mean_ms = mean_ms

    def __call__(self, index: int) -> None:
        compute(self.mean_ms * random.Random(index).lognormvariate(-(SPREAD**2) / 2, SPREAD))


def run(strength: Strength) -> None:
    cores = len(os.sched_getaffinity(0))
    samples = Samples(STEPS[strength], Decode(CORE_MS[strength] * cores))
    train(DataLoader(samples, batch_size=1, num_workers=2 * cores), work_ms=WORK_MS)


PIPELINE = Pipeline("cpu_limited", run)
