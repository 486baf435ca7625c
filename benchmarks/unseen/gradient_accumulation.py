"""Seven short steps and a long one, where gradients are averaged: the loader is fast enough on average only."""

from __future__ import annotations

import time

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.unseen.job import Loop, device_work, parser, worker_settings


class Clips(Dataset[Tensor]):
    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(0.0015)
        return torch.full((96,), float(index % 17))


def main() -> None:
    args = parser(__doc__, steps=1_200, batch_size=8, num_workers=1).parse_args()
    loader = DataLoader(Clips(), args.batch_size, shuffle=True, **worker_settings(args))
    loop = Loop(args.steps)
    for number, _ in enumerate(loader, start=1):
        device_work(0.090 if number % 8 == 0 else 0.005)
        if loop.step():
            break
    loop.report()


if __name__ == "__main__":
    main()
