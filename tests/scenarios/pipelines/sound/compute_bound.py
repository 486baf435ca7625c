"""The device is busy all the time: loading is hidden behind it however long it takes."""

from __future__ import annotations

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.effort import compute, wait
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

LOAD_MS: dict[Strength, float] = {"none": 1, "weak": 15, "clear": 30, "strong": 45}
"""Of two workers, for one step."""
WORK_MS = 30
STEPS = 120


class Load:
    def __init__(self, ms: float) -> None:
        self.ms = ms

    def __call__(self, index: int) -> None:
        compute(self.ms / 4)
        wait(self.ms * 3 / 4)


def run(strength: Strength) -> None:
    loader = DataLoader(Samples(STEPS, Load(LOAD_MS[strength])), batch_size=1, num_workers=2)
    train(loader, work_ms=WORK_MS)


PIPELINE = Pipeline(None, run)
