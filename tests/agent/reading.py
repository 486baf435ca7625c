"""A training that keeps a file open and another mapped while it draws: ``python -m tests.agent.reading WORKERS A B``.

It goes on until it is killed.
"""

from __future__ import annotations

import mmap
import sys
import time
from pathlib import Path
from typing import Any

from torch import Tensor, zeros
from torch.utils.data import DataLoader, Dataset

import underfed


class Files(Dataset[Tensor]):
    """Opened when the first sample is asked for, as data sets for several workers do."""

    def __init__(self, mapped: Path, opened: Path) -> None:
        self.mapped, self.opened = mapped, opened
        self.files: list[Any] = []

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Tensor:
        if not self.files:
            with self.mapped.open("rb") as file:
                self.files.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            self.files.append(self.opened.open("rb"))
        return zeros(1)


def main() -> None:
    workers, mapped, opened = sys.argv[1:]
    for _ in underfed.watch(DataLoader(Files(Path(mapped), Path(opened)), num_workers=int(workers)), name="train"):
        time.sleep(0.01)


if __name__ == "__main__":
    main()
