"""A sampler that computes which sample comes next, in the training process."""

from __future__ import annotations

from collections.abc import Iterator

from torch.utils.data import DataLoader, Sampler

from tests.scenarios.pipelines.effort import compute, wait
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

DRAW_MS: dict[Strength, float] = {"none": 0.05, "weak": 2.5, "clear": 12, "strong": 40}
WORK_MS = 20
STEPS: dict[Strength, int] = {"none": 100, "weak": 120, "clear": 60, "strong": 50}


class Weighted(Sampler[int]):
    """Weighs every sample again before each index, as hard-example mining does."""

    def __init__(self, length: int, ms: float) -> None:
        self.length = length
        self.ms = ms

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[int]:
        for index in range(self.length):
            compute(self.ms)
            yield index


def fetch(index: int) -> None:
    wait(5)


def run(strength: Strength) -> None:
    steps = STEPS[strength]
    loader = DataLoader(Samples(steps, fetch), batch_size=1, num_workers=2, sampler=Weighted(steps, DRAW_MS[strength]))
    train(loader, work_ms=WORK_MS)


PIPELINE = Pipeline("slow_sampler", run)
