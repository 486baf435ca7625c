"""One sample in twenty takes many times as long, and batches that are ready wait for it, because of the order."""

from __future__ import annotations

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

TIMES: dict[Strength, float] = {"none": 1, "weak": 15, "clear": 30, "strong": 60}
LOAD_MS = 8
WORK_MS = 20
STEPS = 120
SLOW_OF = 20


class Uneven:
    def __init__(self, times: float) -> None:
        self.times = times

    def __call__(self, index: int) -> None:
        # A stride that is coprime to the number of workers, so that each gets some.
        is_slow = index * 7 % SLOW_OF == 3
        wait(LOAD_MS * (self.times if is_slow else 1))


def run(strength: Strength) -> None:
    loader = DataLoader(Samples(STEPS, Uneven(TIMES[strength])), batch_size=1, num_workers=2, prefetch_factor=2)
    train(loader, work_ms=WORK_MS)


PIPELINE = Pipeline("slow_samples", run)
