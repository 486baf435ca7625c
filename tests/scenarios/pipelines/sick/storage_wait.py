"""Two workers read small parts of a file that are not in the page cache."""

from __future__ import annotations

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.datafile import Parts, data_file, forget
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

FILE_BYTES = 1 << 26
PART_BYTES = 1 << 12
PARTS: dict[Strength, int] = {"none": 800, "weak": 450, "clear": 900, "strong": 1800}
"""Read for each batch; for the healthy neighbour they are in the page cache."""
WORK_MS = 20
STEPS: dict[Strength, int] = {"none": 100, "weak": 120, "clear": 60, "strong": 50}


class Batch:
    """Parts that lie far from each other; all of the file is visited before one comes again."""

    def __init__(self, file: Parts, parts: int) -> None:
        self.file = file
        self.parts = parts

    def __call__(self, index: int) -> None:
        for part in range(index * self.parts, (index + 1) * self.parts):
            self.file.read(part * 10_007)


def run(strength: Strength) -> None:
    is_cached = strength == "none"
    with data_file(FILE_BYTES) as path:
        if not is_cached:
            forget(path)
        batch = Batch(Parts(path, PART_BYTES, is_cached=is_cached), PARTS[strength])
        train(DataLoader(Samples(STEPS[strength], batch), batch_size=1, num_workers=2), work_ms=WORK_MS)


PIPELINE = Pipeline("storage_wait", run)
