"""The first epoch reads from the disk what the later ones find in the page cache."""

from __future__ import annotations

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.datafile import Parts, data_file, forget
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples
from tests.scenarios.pipelines.sick.storage_wait import PART_BYTES, Batch

PARTS: dict[Strength, int] = {"none": 500, "weak": 300, "clear": 600, "strong": 1200}
"""Of each batch."""
WORK_MS = 20
STEPS = 50
EPOCHS = 2


def run(strength: Strength) -> None:
    with data_file(PART_BYTES * PARTS[strength] * STEPS) as path:
        if strength != "none":
            forget(path)
        batch = Batch(Parts(path, PART_BYTES), PARTS[strength])
        loader = DataLoader(Samples(STEPS, batch), batch_size=1, num_workers=1, persistent_workers=True)
        train(loader, work_ms=WORK_MS, epochs=EPOCHS)


PIPELINE = Pipeline("storage_wait", run)
