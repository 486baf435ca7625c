"""A sampler that sorts the whole data set at the start of each epoch, while everything else waits."""

from __future__ import annotations

from collections.abc import Iterator

from torch.utils.data import DataLoader, Sampler

from tests.scenarios.pipelines.effort import compute, wait
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

SORT_MS: dict[Strength, float] = {"none": 1, "weak": 60, "clear": 400, "strong": 1_000}
WORK_MS = 20
STEPS = 20
EPOCHS = 4


class ByLength(Sampler[int]):
    """Groups samples of like length, as batching sentences does."""

    def __init__(self, length: int, ms: float) -> None:
        self.length = length
        self.ms = ms

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[int]:
        compute(self.ms)
        return iter(range(self.length))


def fetch(index: int) -> None:
    wait(5)


def run(strength: Strength) -> None:
    loader = DataLoader(
        Samples(STEPS, fetch),
        batch_size=1,
        num_workers=2,
        sampler=ByLength(STEPS, SORT_MS[strength]),
        persistent_workers=True,
    )
    train(loader, work_ms=WORK_MS, epochs=EPOCHS)


PIPELINE = Pipeline("slow_sampler", run)
