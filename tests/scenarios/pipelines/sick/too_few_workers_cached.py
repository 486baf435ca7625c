"""One worker reads a great deal, and all of it from the page cache: a faster disk would change nothing."""

from __future__ import annotations

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.datafile import Parts, data_file
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples
from tests.scenarios.pipelines.sick.storage_wait import PART_BYTES, Batch

FILE_BYTES = 1 << 24
PARTS: dict[Strength, int] = {"none": 3_000, "weak": 18_000, "clear": 32_000, "strong": 64_000}
"""Of each batch; a system call and a copy of 4 KiB each."""
WORK_MS = 20
STEPS: dict[Strength, int] = {"none": 100, "weak": 120, "clear": 60, "strong": 50}


def run(strength: Strength) -> None:
    with data_file(FILE_BYTES) as path:
        batch = Batch(Parts(path, PART_BYTES), PARTS[strength])
        train(DataLoader(Samples(STEPS[strength], batch), batch_size=1, num_workers=1), work_ms=WORK_MS)


PIPELINE = Pipeline("too_few_workers", run)
