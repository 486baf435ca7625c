"""Two problems: workers are started again for each short epoch, and are slightly too few. The first costs more."""

from __future__ import annotations

from functools import partial

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples
from tests.scenarios.pipelines.sick.worker_startup import EPOCHS, STEPS, WORK_MS, open_index

OPEN_MS: dict[Strength, float] = {"none": 300, "weak": 60, "clear": 200, "strong": 600}
LOAD_MS: dict[Strength, float] = {"none": 10, "weak": 22, "clear": 25, "strong": 30}
"""Of the only worker, for one batch."""


class Fetch:
    def __init__(self, ms: float) -> None:
        self.ms = ms

    def __call__(self, index: int) -> None:
        wait(self.ms)


def run(strength: Strength) -> None:
    loader = DataLoader(
        Samples(STEPS, Fetch(LOAD_MS[strength])),
        batch_size=1,
        num_workers=1,
        persistent_workers=strength == "none",
        worker_init_fn=partial(open_index, OPEN_MS[strength]),
    )
    train(loader, work_ms=WORK_MS, epochs=EPOCHS[strength])


PIPELINE = Pipeline("worker_startup", run)
