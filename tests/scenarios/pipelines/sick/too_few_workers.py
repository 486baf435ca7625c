"""One worker waits for a server, sample after sample, and cores are free."""

from __future__ import annotations

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.effort import compute, wait
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

LOAD_MS: dict[Strength, float] = {"none": 12, "weak": 23, "clear": 40, "strong": 90}
WORK_MS = 20
STEPS: dict[Strength, int] = {"none": 100, "weak": 120, "clear": 60, "strong": 50}


class Request:
    """An answer after ``ms``; decoding it takes a fifth of that."""

    def __init__(self, ms: float) -> None:
        self.ms = ms

    def __call__(self, index: int) -> None:
        wait(self.ms * 0.8)
        compute(self.ms * 0.2)


def run(strength: Strength) -> None:
    loader = DataLoader(Samples(STEPS[strength], Request(LOAD_MS[strength])), batch_size=1, num_workers=1)
    train(loader, work_ms=WORK_MS)


PIPELINE = Pipeline("too_few_workers", run)
