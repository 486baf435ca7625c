"""One sample of hundreds hangs, once: there is nothing about the loader to change."""

from __future__ import annotations

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

HANG_MS: dict[Strength, float] = {"none": 4, "weak": 400, "clear": 1000, "strong": 2500}
WORK_MS = 25
STEPS = 200


class Hang:
    def __init__(self, ms: float) -> None:
        self.ms = ms

    def __call__(self, index: int) -> None:
        wait(self.ms if index == STEPS // 2 else 4)


def run(strength: Strength) -> None:
    train(DataLoader(Samples(STEPS, Hang(HANG_MS[strength])), batch_size=1, num_workers=2), work_ms=WORK_MS)


PIPELINE = Pipeline(None, run)
