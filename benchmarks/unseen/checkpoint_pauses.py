"""A loader that keeps up, and a loop that pauses every fifty steps to write a checkpoint and its log."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.unseen.job import Loop, device_work, parser, worker_settings


class Rows(Dataset[Tensor]):
    def __init__(self) -> None:
        self.rows = torch.rand(4_096, 256)

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Tensor:
        return self.rows[index % len(self.rows)]


def save(weights: list[Tensor], file: Path) -> None:
    """On disk when it returns."""
    with file.open("wb") as checkpoint:
        torch.save(weights, checkpoint)
        checkpoint.flush()
        os.fsync(checkpoint.fileno())


def main() -> None:
    arguments = parser(__doc__, steps=800, batch_size=32, num_workers=1)
    arguments.add_argument("--save-every", type=int, default=50)
    arguments.add_argument("--save-beside", action="store_true", help="write checkpoints in a thread")
    args = arguments.parse_args()
    args.data.mkdir(parents=True, exist_ok=True)
    weights = [torch.rand(4_000_000) for _ in range(15)]
    loader = DataLoader(Rows(), args.batch_size, shuffle=True, **worker_settings(args))
    writer: threading.Thread | None = None
    loop = Loop(args.steps)
    for number, _ in enumerate(loader, start=1):
        device_work(0.015)
        if number % args.save_every == 0:
            print(f"step {number}: loss {1 / number:.4f}")
            if args.save_beside:
                if writer:
                    writer.join()
                writer = threading.Thread(target=save, args=(weights, args.data / "checkpoint.pt"))
                writer.start()
            else:
                save(weights, args.data / "checkpoint.pt")
        if loop.step():
            break
    if writer:
        writer.join()
    loop.report()


if __name__ == "__main__":
    main()
