"""Workers that are spawned import the whole program again, at the beginning of each epoch."""

from __future__ import annotations

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

STEPS: dict[Strength, int] = {"none": 50, "weak": 400, "clear": 50, "strong": 15}
"""Of an epoch."""
EPOCHS: dict[Strength, int] = {"none": 3, "weak": 2, "clear": 3, "strong": 4}
WORK_MS = 20


def fetch(index: int) -> None:
    wait(5)


def run(strength: Strength) -> None:
    loader = DataLoader(
        Samples(STEPS[strength], fetch),
        batch_size=1,
        num_workers=1,
        persistent_workers=strength == "none",
        multiprocessing_context="spawn",
    )
    train(loader, work_ms=WORK_MS, epochs=EPOCHS[strength])


PIPELINE = Pipeline("worker_startup", run)
