"""Eight workers on object storage where one read of a hundred takes fifty times as long."""

from __future__ import annotations

import random
import time

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.unseen.job import Loop, device_work, parser, worker_settings


class ObjectStore(Dataset[Tensor]):
    """The same objects are slow in every pass: they lie on a slow node."""

    def __init__(self, usual_s: float, slow_s: float) -> None:
        self.usual_s = usual_s
        self.slow_s = slow_s

    def __len__(self) -> int:
        return 200_000

    def __getitem__(self, index: int) -> Tensor:
        is_slow = random.Random(index).random() < 0.01
        time.sleep(self.slow_s if is_slow else self.usual_s)
        return torch.full((3, 32, 32), float(index % 255))


def main() -> None:
    arguments = parser(__doc__, steps=1_000, batch_size=16, num_workers=8)
    arguments.add_argument("--any-order", action="store_true", help="hand out batches as they are ready")
    args = arguments.parse_args()
    loader = DataLoader(
        ObjectStore(usual_s=0.004, slow_s=0.200),
        batch_size=args.batch_size,
        shuffle=True,
        in_order=not args.any_order,
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
