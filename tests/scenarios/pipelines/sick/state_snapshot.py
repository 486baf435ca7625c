"""A stateful loader whose data set keeps a shuffle buffer, and which takes its workers' state with each batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength

BUFFERED: dict[Strength, int] = {"none": 100_000, "weak": 10_000, "clear": 100_000, "strong": 250_000}
"""Numbers in each worker's buffer."""
LOAD_MS, WORK_MS, WORKERS, STEPS = 5, 20, 2, 80
ONCE_IN = 1_000


class Buffered(IterableDataset[Tensor]):
    def __init__(self, length: int, buffered: int) -> None:
        self.length = length
        self.buffer = list(range(buffered))
        self.position = 0

    def __iter__(self) -> Iterator[Tensor]:
        worker = get_worker_info()
        own = range(self.length) if worker is None else range(worker.id, self.length, worker.num_workers)
        for index in own:
            wait(LOAD_MS)
            self.position = index
            self.buffer[index % len(self.buffer)] = -index
            yield torch.full((64,), float(index))

    def state_dict(self) -> dict[str, Any]:
        return {"position": self.position, "buffer": list(self.buffer)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.position, self.buffer = state["position"], state["buffer"]


def run(strength: Strength) -> None:
    from torchdata.stateful_dataloader import StatefulDataLoader

    interval = ONCE_IN if strength == "none" else 1
    data = Buffered(STEPS, BUFFERED[strength])
    loader = StatefulDataLoader(data, batch_size=1, num_workers=WORKERS, snapshot_every_n_steps=interval)
    train(loader, work_ms=WORK_MS)


PIPELINE = Pipeline("state_snapshot", run)
