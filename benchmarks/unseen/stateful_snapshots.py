"""A loader that can be resumed: torchdata keeps the data set's whole shuffle buffer after each step."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info
from torchdata.stateful_dataloader import StatefulDataLoader

from benchmarks.unseen.job import Loop, device_work, parser, worker_settings


class Shuffled(IterableDataset[Tensor]):
    """Rows by way of a buffer, which is part of the state: without it a resumed run would repeat rows."""

    def __init__(self, buffer_size: int) -> None:
        self.buffer_size = buffer_size
        self.buffer: list[tuple[int, str]] = []
        self.position = 0

    def __iter__(self) -> Iterator[Tensor]:
        worker = get_worker_info()
        first, stride = (worker.id, worker.num_workers) if worker else (0, 1)
        chance = random.Random(first)
        while True:
            while len(self.buffer) < self.buffer_size:
                self.buffer.append((self.position, f"row {self.position}"))
                self.position += stride
            number, _ = self.buffer.pop(chance.randrange(len(self.buffer)))
            yield torch.full((32,), float(number + first))

    def state_dict(self) -> dict[str, Any]:
        return {"buffer": list(self.buffer), "position": self.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.buffer, self.position = list(state["buffer"]), state["position"]


def main() -> None:
    arguments = parser(__doc__, steps=300, batch_size=32, num_workers=1)
    arguments.add_argument("--snapshot-every", type=int, default=1)
    arguments.add_argument("--buffer-size", type=int, default=40_000)
    args = arguments.parse_args()
    loader = StatefulDataLoader(
        Shuffled(args.buffer_size),
        batch_size=args.batch_size,
        snapshot_every_n_steps=args.snapshot_every,
        **worker_settings(args),
    )
    loop = Loop(args.steps)
    for _ in loader:
        device_work(0.015)
        if loop.step():
            break
    loop.report()


if __name__ == "__main__":
    main()
