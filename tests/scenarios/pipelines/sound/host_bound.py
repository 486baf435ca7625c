"""Logging every tenth step, a checkpoint every fiftieth, and a metric that is read each step."""

from __future__ import annotations

import time

from torch.utils.data import DataLoader

import underfed
from tests.scenarios.pipelines.effort import compute, wait
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

LOG_MS: dict[Strength, float] = {"none": 1, "weak": 20, "clear": 60, "strong": 150}
CHECKPOINT_MS: dict[Strength, float] = {"none": 10, "weak": 100, "clear": 400, "strong": 1000}
WORK_MS = 25
STEPS = 150


def fetch(index: int) -> None:
    wait(8)


def run(strength: Strength) -> None:
    loader = DataLoader(Samples(STEPS, fetch), batch_size=1, num_workers=2)
    for index, batch in enumerate(underfed.watch(loader, name="train"), 1):
        time.sleep(WORK_MS / 1e3)
        batch.sum().item()
        if index % 10 == 0:
            compute(LOG_MS[strength])
        if index % 50 == 0:
            wait(CHECKPOINT_MS[strength])


PIPELINE = Pipeline(None, run)
