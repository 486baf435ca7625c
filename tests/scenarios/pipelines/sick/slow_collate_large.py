"""Samples of many megabytes that are in memory: loading is only joining them into a batch in shared memory."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength

MEGABYTES: dict[Strength, int] = {"none": 1, "weak": 12, "clear": 48, "strong": 96}
WORK_MS = 20
STEPS: dict[Strength, int] = {"none": 100, "weak": 120, "clear": 60, "strong": 50}


class InMemory(Dataset[Tensor]):
    """Volumes that were loaded once: a sample is a view of one of them."""

    def __init__(self, length: int, size_bytes: int) -> None:
        self.length = length
        self.volume = torch.rand(size_bytes // 4)

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Tensor:
        return self.volume


def run(strength: Strength) -> None:
    samples = InMemory(STEPS[strength], MEGABYTES[strength] << 20)
    train(DataLoader(samples, batch_size=1, num_workers=1, prefetch_factor=1), work_ms=WORK_MS)


PIPELINE = Pipeline("slow_collate", run)
