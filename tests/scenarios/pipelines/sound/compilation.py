"""The first step compiles the model, and a batch of another shape compiles it once more."""

from __future__ import annotations

import time

from torch.utils.data import DataLoader

import underfed
from tests.scenarios.pipelines.effort import compute, wait
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

COMPILE_MS: dict[Strength, float] = {"none": 0, "weak": 200, "clear": 1000, "strong": 3000}
COMPILES = (0, 30)
WORK_MS = 20
STEPS = 120


def fetch(index: int) -> None:
    wait(8)


def run(strength: Strength) -> None:
    loader = DataLoader(Samples(STEPS, fetch), batch_size=1, num_workers=2)
    for index, _batch in enumerate(underfed.watch(loader, name="train")):
        if index in COMPILES:
            compute(COMPILE_MS[strength])
        time.sleep(WORK_MS / 1e3)


PIPELINE = Pipeline(None, run)
