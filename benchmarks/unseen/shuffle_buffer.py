"""A stream with a shuffle buffer: four seconds until the first batch, and no wait after it."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from benchmarks.unseen.job import Loop, device_work, parser, worker_settings


class Buffered(IterableDataset[Tensor]):
    def __init__(self, buffer_size: int) -> None:
        self.buffer_size = buffer_size

    def read(self) -> Iterator[int]:
        worker = get_worker_info()
        position, stride = (worker.id, worker.num_workers) if worker else (0, 1)
        while True:
            time.sleep(0.001)
            yield position
            position += stride

    def __iter__(self) -> Iterator[Tensor]:
        chance = random.Random(11)
        rows = self.read()
        buffer = [next(rows) for _ in range(self.buffer_size)]
        while True:
            place = chance.randrange(self.buffer_size)
            row, buffer[place] = buffer[place], next(rows)
            yield torch.full((64,), float(row))


def main() -> None:
    arguments = parser(__doc__, steps=800, batch_size=16, num_workers=2)
    arguments.add_argument("--buffer-size", type=int, default=3_500)
    args = arguments.parse_args()
    loader = DataLoader(Buffered(args.buffer_size), args.batch_size, **worker_settings(args))
    loop = Loop(args.steps)
    for _ in loader:
        device_work(0.020)
        if loop.step():
            break
    loop.report()


if __name__ == "__main__":
    main()
