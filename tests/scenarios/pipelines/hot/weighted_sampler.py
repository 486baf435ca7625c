"""A sampler that weighs all samples again for each index, in the training process, which ``--profile`` looks at."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.utils.data import DataLoader, Sampler

from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.loop import train_for
from tests.scenarios.pipelines.photographs import SECONDS
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

WEIGHTS: dict[Strength, int] = {"none": 1_000, "weak": 200_000, "clear": 2_000_000, "strong": 8_000_000}
WORK_MS = 20
LENGTH = 100_000


class Weighted(Sampler[int]):
    def __init__(self, weights: int) -> None:
        self.weights = torch.rand(weights)

    def __len__(self) -> int:
        return LENGTH

    def __iter__(self) -> Iterator[int]:
        for _ in range(LENGTH):
            yield int(torch.multinomial(self.weights, 1)) % LENGTH


def fetch(index: int) -> None:
    wait(5)


def run(strength: Strength) -> None:
    torch.set_num_threads(1)
    loader = DataLoader(Samples(LENGTH, fetch), batch_size=1, num_workers=2, sampler=Weighted(WEIGHTS[strength]))
    train_for(loader, work_ms=WORK_MS, seconds=SECONDS)


PIPELINE = Pipeline("slow_sampler", run, is_profiled=True)
