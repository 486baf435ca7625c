"""Epochs of twenty steps whose workers start anew each time and read an index before their first sample."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from benchmarks.unseen.job import Loop, device_work, made_once, parser, worker_settings


class Indexed(Dataset[Tensor]):
    """The index is read by each worker for itself, at its first sample."""

    def __init__(self, index_file: Path, length: int) -> None:
        self.index_file = index_file
        self.length = length
        self.index: dict[str, int] | None = None

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, number: int) -> Tensor:
        if self.index is None:
            self.index = json.loads(self.index_file.read_text())
        return torch.full((128,), float(self.index[f"sample-{number:08}"]))


def make_index(folder: Path) -> None:
    (folder / "index.json").write_text(json.dumps({f"sample-{number:08}": number % 1_000 for number in range(400_000)}))


def main() -> None:
    arguments = parser(__doc__, steps=500, batch_size=16, num_workers=2)
    arguments.add_argument("--persistent", action="store_true")
    args = arguments.parse_args()
    folder = made_once(args.data / "index", make_index)
    loader = DataLoader(
        Indexed(folder / "index.json", 20 * args.batch_size),
        args.batch_size,
        shuffle=True,
        **worker_settings(args, persistent=args.persistent),
    )
    loop = Loop(args.steps)
    while not loop.done:
        for _ in loader:
            device_work(0.020)
            if loop.step():
                break
    loop.report()


if __name__ == "__main__":
    main()
