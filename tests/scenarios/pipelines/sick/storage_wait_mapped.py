"""Samples lie in a memory-mapped file: touching a page that is not in memory reads it, without a system call."""

from __future__ import annotations

import mmap
from pathlib import Path

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.datafile import data_file, forget
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

PAGES: dict[Strength, int] = {"none": 300, "weak": 300, "clear": 700, "strong": 1500}
"""Pages that a batch touches."""
WORK_MS = 20
STEPS = 80


class Touch:
    """Pages far from each other; mapped anew in each worker."""

    def __init__(self, path: Path, pages: int) -> None:
        self.path = path
        self.pages = pages
        self.mapped: mmap.mmap | None = None

    def __call__(self, index: int) -> None:
        if self.mapped is None:
            with self.path.open("rb") as stream:
                self.mapped = mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ)
            self.mapped.madvise(mmap.MADV_RANDOM)
        for page in range(self.pages):
            self.mapped[(index * self.pages + page) * mmap.PAGESIZE]


def run(strength: Strength) -> None:
    pages = PAGES[strength]
    with data_file(pages * STEPS * mmap.PAGESIZE) as path:
        if strength != "none":
            forget(path)
        loader = DataLoader(Samples(STEPS, Touch(path, pages)), batch_size=1, num_workers=1)
        train(loader, work_ms=WORK_MS)


PIPELINE = Pipeline("storage_wait", run)
