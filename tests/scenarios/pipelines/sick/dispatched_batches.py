"""Two ranks of which one loads the batches of both, as Accelerate has it for an iterable data set by default."""

from __future__ import annotations

import time
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

import underfed
from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.pipeline import Pipeline, Strength

LOAD_MS: dict[Strength, float] = {"none": 8, "weak": 46, "clear": 80, "strong": 160}
"""Of one sample; two workers load one for each of two ranks beside a step."""
WORK_MS = 40
WORKERS, RANKS = 2, 2
STEPS: dict[Strength, int] = {"none": 60, "weak": 60, "clear": 60, "strong": 40}


class Stream(IterableDataset[Tensor]):
    def __init__(self, length: int, ms: float) -> None:
        self.length = length
        self.ms = ms

    def __iter__(self) -> Iterator[Tensor]:
        worker = get_worker_info()
        own = range(self.length) if worker is None else range(worker.id, self.length, worker.num_workers)
        for index in own:
            wait(self.ms)
            yield torch.full((64,), float(index))


def run(strength: Strength) -> None:
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    loader = DataLoader(Stream(RANKS * STEPS[strength], LOAD_MS[strength]), batch_size=1, num_workers=WORKERS)
    for _batch in underfed.watch(accelerator.prepare(loader), name="train"):
        time.sleep(WORK_MS / 1e3)
        accelerator.reduce(torch.zeros(8))
    accelerator.end_training()


PIPELINE = Pipeline("dispatched_batches", run, ranks=RANKS)
