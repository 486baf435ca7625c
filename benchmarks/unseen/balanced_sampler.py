"""Two million samples balanced by weight: the sampler goes through all weights again for each batch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from benchmarks.unseen.job import Loop, device_work, parser, worker_settings

SAMPLES = 2_000_000


class Embeddings(Dataset[Tensor]):
    def __init__(self) -> None:
        self.rows = torch.rand(4_096, 64)

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> Tensor:
        return self.rows[index % len(self.rows)]


class BalancedBatches(Sampler[list[int]]):
    def __init__(self, batch_size: int, *, batches_at_once: int) -> None:
        frequency = np.random.default_rng(12).random(SAMPLES)
        self.weights = frequency / frequency.sum()
        self.batch_size = batch_size
        self.batches_at_once = batches_at_once

    def __len__(self) -> int:
        return SAMPLES // self.batch_size

    def __iter__(self) -> Iterator[list[int]]:
        chance = np.random.default_rng()
        while True:
            shape = (self.batches_at_once, self.batch_size)
            yield from chance.choice(SAMPLES, size=shape, p=self.weights).tolist()


def main() -> None:
    arguments = parser(__doc__, steps=400, batch_size=64, num_workers=2)
    arguments.add_argument(
        "--batches-at-once", type=int, default=1, help="batches for which indices are chosen at once"
    )
    args = arguments.parse_args()
    sampler = BalancedBatches(args.batch_size, batches_at_once=args.batches_at_once)
    loader = DataLoader(Embeddings(), batch_sampler=sampler, **worker_settings(args))
    loop = Loop(args.steps)
    for _ in loader:
        device_work(0.012)
        if loop.step():
            break
    loop.report()


if __name__ == "__main__":
    main()
