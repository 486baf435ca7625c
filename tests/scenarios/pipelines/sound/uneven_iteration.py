"""A loop that requests two batches for some steps, breaks off epochs, and creates its iterators itself."""

from __future__ import annotations

import time
from itertools import islice

from torch.utils.data import DataLoader

import underfed
from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

EVERY: dict[Strength, int] = {"none": 1_000, "weak": 8, "clear": 4, "strong": 2}
"""Every so many steps, one requests a second batch."""
WORK_MS = 25
STEPS = 60
EPOCHS = 3


def fetch(index: int) -> None:
    wait(8)


def run(strength: Strength) -> None:
    loader = underfed.watch(
        DataLoader(Samples(STEPS, fetch), batch_size=1, num_workers=2, persistent_workers=True), name="train"
    )
    for _ in range(EPOCHS):
        batches = iter(loader)
        for index, _batch in enumerate(islice(batches, STEPS * 2 // 3), 1):
            if index % EVERY[strength] == 0:
                next(batches, None)
            time.sleep(WORK_MS / 1e3)


PIPELINE = Pipeline(None, run)
