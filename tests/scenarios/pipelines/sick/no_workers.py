"""The training process decodes its own batches."""

from __future__ import annotations

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.effort import compute, wait
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

LOAD_MS: dict[Strength, float] = {"none": 0.2, "weak": 3, "clear": 20, "strong": 60}
WORK_MS = 20
STEPS: dict[Strength, int] = {"none": 100, "weak": 120, "clear": 60, "strong": 50}


class Load:
    """Half of it computes, half waits."""

    def __init__(self, ms: float) -> None:
        self.ms = ms

    def __call__(self, index: int) -> None:
        compute(self.ms / 2)
        wait(self.ms / 2)


def run(strength: Strength) -> None:
    train(DataLoader(Samples(STEPS[strength], Load(LOAD_MS[strength])), batch_size=1), work_ms=WORK_MS)


PIPELINE = Pipeline("no_workers", run)
