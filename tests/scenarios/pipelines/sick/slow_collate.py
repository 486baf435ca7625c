"""Samples are cheap, and joining them into a batch is not: a loop over Python objects."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from tests.scenarios.pipelines.effort import compute
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

COLLATE_MS: dict[Strength, float] = {"none": 0.2, "weak": 20, "clear": 40, "strong": 80}
SAMPLE_MS = 0.5
BATCH = 8
WORK_MS = 20
STEPS: dict[Strength, int] = {"none": 100, "weak": 120, "clear": 60, "strong": 50}


class Pad:
    """As many collate functions do: list by list, number by number."""

    def __init__(self, ms: float) -> None:
        self.ms = ms

    def __call__(self, samples: list[Tensor]) -> Tensor:
        compute(self.ms)
        return torch.stack(samples)


def decode(index: int) -> None:
    compute(SAMPLE_MS)


def run(strength: Strength) -> None:
    loader = DataLoader(
        Samples(STEPS[strength] * BATCH, decode),
        batch_size=BATCH,
        num_workers=1,
        collate_fn=Pad(COLLATE_MS[strength]),
    )
    train(loader, work_ms=WORK_MS)


PIPELINE = Pipeline("slow_collate", run)
