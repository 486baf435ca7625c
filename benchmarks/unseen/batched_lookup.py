"""A key-value store behind a data set that has ``__getitems__`` already, but asks for one key after the other in it."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.unseen.job import Loop, device_work, parser, worker_settings


class Store(Dataset[Tensor]):
    def __init__(self, *, at_once: int) -> None:
        self.at_once = at_once

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(0.003)
        return torch.full((64,), float(index))

    def __getitems__(self, indices: list[int]) -> list[Tensor]:
        if self.at_once == 1:
            return [self[index] for index in indices]
        with ThreadPoolExecutor(self.at_once) as threads:
            return list(threads.map(self.__getitem__, indices))


def main() -> None:
    arguments = parser(__doc__, steps=350, batch_size=16, num_workers=1)
    arguments.add_argument("--at-once", type=int, default=1, help="requests of one batch that run side by side")
    args = arguments.parse_args()
    loader = DataLoader(Store(at_once=args.at_once), args.batch_size, shuffle=True, **worker_settings(args))
    loop = Loop(args.steps)
    for _ in loader:
        device_work(0.015)
        if loop.step():
            break
    loop.report()


if __name__ == "__main__":
    main()
