"""Short epochs, each of which starts its workers again, and each worker first opens an index."""

from __future__ import annotations

from functools import partial

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

OPEN_MS: dict[Strength, float] = {"none": 300, "weak": 15, "clear": 150, "strong": 600}
"""The healthy neighbour opens it as slowly, but only once."""
WORK_MS = 20
STEPS = 15
EPOCHS: dict[Strength, int] = {"none": 6, "weak": 10, "clear": 6, "strong": 4}


def open_index(ms: float, worker: int) -> None:
    wait(ms)


def fetch(index: int) -> None:
    wait(5)


def run(strength: Strength) -> None:
    loader = DataLoader(
        Samples(STEPS, fetch),
        batch_size=1,
        num_workers=2,
        persistent_workers=strength == "none",
        worker_init_fn=partial(open_index, OPEN_MS[strength]),
    )
    train(loader, work_ms=WORK_MS, epochs=EPOCHS[strength])


PIPELINE = Pipeline("worker_startup", run)
