"""A stream that every worker reads from its beginning: each sample is loaded once by each worker."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength

LOAD_MS: dict[Strength, float] = {"none": 20, "weak": 46, "clear": 80, "strong": 160}
WORK_MS = 20
WORKERS = 2
STEPS: dict[Strength, int] = {"none": 100, "weak": 120, "clear": 60, "strong": 50}


class Stream(IterableDataset[Tensor]):
    """Repeats itself in each worker unless it is sharded."""

    def __init__(self, length: int, ms: float, *, is_sharded: bool) -> None:
        self.length = length
        self.ms = ms
        self.is_sharded = is_sharded

    def __iter__(self) -> Iterator[Tensor]:
        return self.sharded() if self.is_sharded else self.read(range(self.length))

    def sharded(self) -> Iterator[Tensor]:
        worker = get_worker_info()
        own = range(self.length) if worker is None else islice(range(self.length), worker.id, None, worker.num_workers)
        return self.read(own)

    def read(self, indices: range | islice[int]) -> Iterator[Tensor]:
        for index in indices:
            wait(self.ms)
            yield torch.full((64,), float(index))


def run(strength: Strength) -> None:
    is_sharded, steps = strength == "none", STEPS[strength]
    stream = Stream(steps if is_sharded else steps // WORKERS, LOAD_MS[strength], is_sharded=is_sharded)
    train(DataLoader(stream, batch_size=1, num_workers=WORKERS), work_ms=WORK_MS)


PIPELINE = Pipeline("unsharded_iterable", run)
