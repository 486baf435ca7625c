"""One file in thirty is far larger than the rest: it takes long to go through, and ready batches wait for it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength

FILES = 120
SMALL_BYTES, PART_BYTES = 100_000, 100_000
PART_MS = 8
PARTS: dict[Strength, int] = {"none": 1, "weak": 20, "clear": 60, "strong": 90}
"""Of a large file."""
LARGE = range(13, FILES, 29)
WORK_MS = 20


class Scans(Dataset[Tensor]):
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __len__(self) -> int:
        return FILES

    def __getitem__(self, index: int) -> Tensor:
        with (self.directory / f"{index:04}.dcm").open("rb") as scan:
            while scan.read(PART_BYTES):
                wait(PART_MS)
        return torch.full((64,), float(index))


def run(strength: Strength) -> None:
    with tempfile.TemporaryDirectory(prefix="scans-") as directory:
        for index in range(FILES):
            size = PARTS[strength] * PART_BYTES if index in LARGE else SMALL_BYTES
            (Path(directory) / f"{index:04}.dcm").write_bytes(bytes(size))
        loader = DataLoader(Scans(Path(directory)), batch_size=1, num_workers=2, prefetch_factor=2)
        train(loader, work_ms=WORK_MS, epochs=2)


PIPELINE = Pipeline("slow_samples", run)
