"""Large tiles in memory, augmented whole by NumPy before a small crop is taken: bytes moved limit it, on two cores."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.unseen.job import Loop, device_work, parser, worker_settings

SIDE, CROP = 1_024, 256


class Tiles(Dataset[Tensor]):
    def __init__(self, *, crop_first: bool) -> None:
        self.tiles = np.random.default_rng(6).random((12, 4, SIDE, SIDE), dtype=np.float32)
        self.crop_first = crop_first

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Tensor:
        chance = np.random.default_rng(index)
        tile = self.tiles[index % len(self.tiles)]
        top, left = chance.integers(0, SIDE - CROP, 2)
        if self.crop_first:
            tile = tile[:, top : top + CROP, left : left + CROP]
        tile = tile[:, ::-1, ::-1] * chance.uniform(0.8, 1.2)
        tile = np.clip(tile + chance.uniform(-0.1, 0.1), 0, 1) ** 2
        tile = (tile - tile.mean(axis=(1, 2), keepdims=True)) / tile.std(axis=(1, 2), keepdims=True)
        if not self.crop_first:
            tile = tile[:, top : top + CROP, left : left + CROP]
        return torch.from_numpy(np.ascontiguousarray(tile, dtype=np.float32))


def main() -> None:
    arguments = parser(__doc__, steps=150, batch_size=4, num_workers=2)
    arguments.add_argument("--crop-first", action="store_true")
    args = arguments.parse_args()
    loader = DataLoader(Tiles(crop_first=args.crop_first), args.batch_size, shuffle=True, **worker_settings(args))
    loop = Loop(args.steps)
    for _ in loader:
        device_work(0.020)
        if loop.step():
            break
    loop.report()


if __name__ == "__main__":
    main()
