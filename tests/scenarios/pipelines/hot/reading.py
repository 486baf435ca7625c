"""A data set that reads parts of a file which are not in the page cache, and computes: by the clock 80 and 20 %."""

from __future__ import annotations

import os
import time
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from tests.scenarios.pipelines.datafile import data_file, forget
from tests.scenarios.pipelines.loop import train_for
from tests.scenarios.pipelines.photographs import SECONDS
from tests.scenarios.pipelines.pipeline import KnownShare, Pipeline, Strength

FILE_BYTES = 1 << 26
PART_BYTES = 1 << 17
SAMPLE_MS: dict[Strength, float] = {"none": 0.5, "weak": 8, "clear": 150, "strong": 200}
WORK_MS = 20
READING = 0.8


class Volumes(Dataset[Tensor]):
    def __init__(self, path: Path, sample_ms: float) -> None:
        self.path = path
        self.sample_ms = sample_ms
        self.part = 0

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Tensor:
        self.read(index)
        self.decode()
        return torch.full((64,), float(index))

    def read(self, index: int) -> None:
        """Parts that lie far from each other, evicted from the page cache before each read."""
        until = time.monotonic() + READING * self.sample_ms / 1e3
        descriptor = os.open(self.path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
        while time.monotonic() < until:
            self.part += 1
            offset = (index * 37 + self.part * 101) * PART_BYTES % FILE_BYTES
            os.posix_fadvise(descriptor, offset, PART_BYTES, os.POSIX_FADV_DONTNEED)
            os.pread(descriptor, PART_BYTES, offset)
        os.close(descriptor)

    def decode(self) -> None:
        until = time.monotonic() + (1 - READING) * self.sample_ms / 1e3
        while time.monotonic() < until:
            pass


def run(strength: Strength) -> None:
    with data_file(FILE_BYTES) as path:
        forget(path)
        loader = DataLoader(Volumes(path, SAMPLE_MS[strength]), batch_size=1, num_workers=2)
        train_for(loader, work_ms=WORK_MS, seconds=SECONDS)


PIPELINE = Pipeline(
    "storage_wait",
    run,
    shares=(
        KnownShare("Volumes.read", READING, "getitem"),
        KnownShare("Volumes.decode", 1 - READING, "getitem"),
    ),
)
