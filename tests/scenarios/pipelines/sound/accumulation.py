"""Gradients of several batches are accumulated before the one long step in which they are applied."""

from __future__ import annotations

import time

from torch.utils.data import DataLoader

import underfed
from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

GATHERED: dict[Strength, int] = {"none": 1, "weak": 2, "clear": 4, "strong": 8}
SHORT_MS, LONG_MS = 10, 60
STEPS = 200


def fetch(index: int) -> None:
    wait(8)


def run(strength: Strength) -> None:
    loader = DataLoader(Samples(STEPS, fetch), batch_size=1, num_workers=2, prefetch_factor=4)
    for index, _batch in enumerate(underfed.watch(loader, name="train"), 1):
        time.sleep((SHORT_MS if index % GATHERED[strength] else LONG_MS) / 1e3)


PIPELINE = Pipeline(None, run)
