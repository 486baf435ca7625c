"""Pictures that are bytes in memory and become floats by way of doubles in the user's own collate."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.unseen.job import Loop, device_work, parser, worker_settings

Picture = NDArray[np.uint8]


class Pictures(Dataset[Picture]):
    def __init__(self) -> None:
        self.pictures = np.random.default_rng(9).integers(0, 256, (128, 256, 256, 3), dtype=np.uint8)

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Picture:
        picture: Picture = self.pictures[index % len(self.pictures)]
        return picture


def to_floats(pictures: list[Picture]) -> Tensor:
    stacked: NDArray[Any] = np.stack([picture / 255.0 for picture in pictures])
    stacked = (stacked - np.array([0.48, 0.45, 0.41])) / np.array([0.23, 0.22, 0.22])
    return torch.tensor(stacked.transpose(0, 3, 1, 2), dtype=torch.float32).contiguous()


def to_bytes(pictures: list[Picture]) -> Tensor:
    """The device scales and normalises."""
    return torch.from_numpy(np.stack(pictures))


def main() -> None:
    arguments = parser(__doc__, steps=150, batch_size=32, num_workers=1)
    arguments.add_argument("--as-bytes", action="store_true")
    args = arguments.parse_args()
    torch.set_num_threads(1)
    collate = to_bytes if args.as_bytes else to_floats
    loader = DataLoader(Pictures(), args.batch_size, shuffle=True, collate_fn=collate, **worker_settings(args))
    loop = Loop(args.steps)
    for _ in loader:
        device_work(0.025)
        if loop.step():
            break
    loop.report()


if __name__ == "__main__":
    main()
