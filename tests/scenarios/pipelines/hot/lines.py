"""Lines of known cost: two in ``__getitem__`` and one in the collate function, of all loading 55, 30 and 15 %."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from tests.scenarios.pipelines.effort import compute
from tests.scenarios.pipelines.loop import train_for
from tests.scenarios.pipelines.pipeline import KnownShare, Pipeline, Strength

BATCH = 4
SAMPLE_MS: dict[Strength, float] = {"none": 0.5, "weak": 4, "clear": 20, "strong": 30}
WORK_MS = 20
SECONDS = 18.0
SAMPLES = 100_000

DECODE, AUGMENT, JOIN = 0.55, 0.30, 0.15


class Photographs(Dataset[Tensor]):
    def __init__(self, length: int, sample_ms: float) -> None:
        self.length = length
        self.sample_ms = sample_ms

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Tensor:
        self.decode(index)
        self.augment(index)
        return torch.full((64,), float(index))

    def decode(self, index: int) -> None:
        compute(DECODE * self.sample_ms)

    def augment(self, index: int) -> None:
        compute(AUGMENT * self.sample_ms)


class Join:
    def __init__(self, sample_ms: float) -> None:
        self.sample_ms = sample_ms

    def __call__(self, samples: list[Tensor]) -> Tensor:
        compute(JOIN * self.sample_ms * len(samples))
        return torch.stack(samples)


def run(strength: Strength) -> None:
    sample_ms = SAMPLE_MS[strength]
    photographs = Photographs(SAMPLES, sample_ms)
    loader = DataLoader(photographs, batch_size=BATCH, num_workers=2, collate_fn=Join(sample_ms))
    train_for(loader, work_ms=WORK_MS, seconds=SECONDS)


PIPELINE = Pipeline(
    "cpu_limited",
    run,
    shares=(
        KnownShare("Photographs.decode", DECODE, "getitem"),
        KnownShare("Photographs.augment", AUGMENT, "getitem"),
        KnownShare("Join.__call__", JOIN, "collate"),
    ),
)
