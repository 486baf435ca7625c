"""Data sets whose loading takes known time, in known ways; importable, so that spawned workers find them."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import Dataset, IterableDataset, get_worker_info


class Numbers(Dataset[Tensor]):
    """``index`` as a tensor, with a random number beside it: seeded order and random state show in the batches."""

    def __init__(self, length: int = 24, sleep_s: float = 0.0) -> None:
        self.length = length
        self.sleep_s = sleep_s

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(self.sleep_s)
        return torch.tensor([float(index), random.random(), float(torch.rand(()))])


class Stream(IterableDataset[Tensor]):
    """Sharded over workers; the first worker's share is smaller."""

    def __init__(self, length: int = 24) -> None:
        self.length = length

    def __iter__(self) -> Iterator[Tensor]:
        worker = get_worker_info()
        start, step = (worker.id, worker.num_workers) if worker is not None else (0, 1)
        for number in range(start, self.length - (6 if start == 0 and step > 1 else 0), step):
            yield torch.tensor([float(number)])


class Unsharded(IterableDataset[Tensor]):
    """Each worker yields all of it."""

    def __init__(self, length: int = 24) -> None:
        self.length = length

    def __iter__(self) -> Iterator[Tensor]:
        return (torch.full((64,), float(number)) for number in range(self.length))


class Failing(Dataset[Tensor]):
    """Raises at one index."""

    def __init__(self, length: int = 24, bad: int = 9) -> None:
        self.length = length
        self.bad = bad

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Tensor:
        if index == self.bad:
            raise ValueError(f"sample {index} is broken")
        return torch.tensor([float(index)])


class Busy(Dataset[Tensor]):
    """Spends CPU time, sleeps, or reads a file, for each sample."""

    def __init__(self, length: int, cpu_s: float = 0.0, sleep_s: float = 0.0, file: Path | None = None) -> None:
        self.length = length
        self.cpu_s = cpu_s
        self.sleep_s = sleep_s
        self.file = file

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Tensor:
        deadline = time.thread_time() + self.cpu_s
        while time.thread_time() < deadline:
            pass
        time.sleep(self.sleep_s)
        if self.file is not None:
            self.file.read_bytes()
        return torch.zeros(4)


class NoLength(Dataset[Tensor]):
    """Map-style with a sampler of its own: torch allows it to have no length."""

    def __getitem__(self, index: int) -> Tensor:
        return torch.zeros(1)


def slow_collate(samples: list[Tensor]) -> Tensor:
    """A user's own collate function that takes 4 ms."""
    time.sleep(0.004)
    return torch.stack(samples)
