"""A model that is trained on the CPU: the training thread computes all the time, and workers beside it."""

from __future__ import annotations

from torch.utils.data import DataLoader

import underfed
from tests.scenarios.pipelines.effort import compute
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

LOAD_MS: dict[Strength, float] = {"none": 1, "weak": 5, "clear": 12, "strong": 20}
WORK_MS = 30
STEPS = 100


class Decode:
    def __init__(self, ms: float) -> None:
        self.ms = ms

    def __call__(self, index: int) -> None:
        compute(self.ms)


def run(strength: Strength) -> None:
    loader = DataLoader(Samples(STEPS, Decode(LOAD_MS[strength])), batch_size=1, num_workers=1)
    for _batch in underfed.watch(loader, name="train"):
        compute(WORK_MS)


PIPELINE = Pipeline(None, run)
