"""Batches of many small tensors, each of which is handed over separately."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

TENSORS: dict[Strength, int] = {"none": 1, "weak": 8, "clear": 60, "strong": 200}
WORK_MS = 20
STEPS: dict[Strength, int] = {"none": 100, "weak": 120, "clear": 60, "strong": 50}


class Split:
    """A batch as a graph or a detection task has it: a list of tensors."""

    def __init__(self, tensors: int) -> None:
        self.tensors = tensors

    def __call__(self, samples: list[Tensor]) -> list[Tensor]:
        return [torch.full((4,), float(index)) for index in range(self.tensors)]


def fetch(index: int) -> None:
    wait(2)


def run(strength: Strength) -> None:
    loader = DataLoader(Samples(STEPS[strength], fetch), num_workers=2, collate_fn=Split(TENSORS[strength]))
    train(loader, work_ms=WORK_MS)


PIPELINE = Pipeline("ipc_copy", run)
