"""Pictures that lie normalised in memory: joined as floats they fill four times the memory of their bytes."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength

BATCH: dict[Strength, int] = {"none": 2, "weak": 20, "clear": 80, "strong": 160}
"""Pictures of 3 × 224 × 224, 0.6 MB each."""
KEPT = 16
"""Different ones."""
WORK_MS = 20
STEPS: dict[Strength, int] = {"none": 100, "weak": 120, "clear": 60, "strong": 50}
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Pictures(Dataset[Tensor]):
    def __init__(self, length: int) -> None:
        self.length = length
        mean, deviation = (torch.tensor(values)[:, None, None] for values in (MEAN, DEVIATION))
        decoded = torch.randint(256, (KEPT, 3, 224, 224), dtype=torch.uint8)
        self.pictures = (decoded.float() / 255 - mean) / deviation

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Tensor:
        return self.pictures[index % KEPT]


def run(strength: Strength) -> None:
    batch = BATCH[strength]
    pictures = Pictures(STEPS[strength] * batch)
    train(DataLoader(pictures, batch_size=batch, num_workers=1, prefetch_factor=1), work_ms=WORK_MS)


PIPELINE = Pipeline("slow_collate", run)
