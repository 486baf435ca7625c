"""A collate function that pads rows one after the other, in Python: of all loading 80 %."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from tests.scenarios.pipelines.effort import compute
from tests.scenarios.pipelines.loop import train_for
from tests.scenarios.pipelines.photographs import SECONDS
from tests.scenarios.pipelines.pipeline import KnownShare, Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

BATCH = 4
SAMPLE_MS: dict[Strength, float] = {"none": 0.5, "weak": 2, "clear": 12, "strong": 20}
JOINING = 0.8
WORK_MS = 20


class Load:
    def __init__(self, sample_ms: float) -> None:
        self.sample_ms = sample_ms

    def __call__(self, index: int) -> None:
        compute((1 - JOINING) * self.sample_ms)


class Pad:
    def __init__(self, sample_ms: float) -> None:
        self.sample_ms = sample_ms

    def __call__(self, samples: list[Tensor]) -> Tensor:
        return torch.stack([self.padded(sample) for sample in samples])

    def padded(self, sample: Tensor) -> Tensor:
        compute(JOINING * self.sample_ms)
        return sample


def run(strength: Strength) -> None:
    sample_ms = SAMPLE_MS[strength]
    loader = DataLoader(Samples(100_000, Load(sample_ms)), batch_size=BATCH, num_workers=1, collate_fn=Pad(sample_ms))
    train_for(loader, work_ms=WORK_MS, seconds=SECONDS)


PIPELINE = Pipeline(
    "slow_collate",
    run,
    shares=(KnownShare("Pad.padded", JOINING, "collate"), KnownShare("Load.__call__", 1 - JOINING, "getitem")),
)
