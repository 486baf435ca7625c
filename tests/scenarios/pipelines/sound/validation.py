"""A validation loop after each short epoch, with a loader of its own that keeps up; the training's workers stay."""

from __future__ import annotations

from torch.utils.data import DataLoader

import underfed
from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.loop import consume, train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

STEPS: dict[Strength, int] = {"none": 2, "weak": 10, "clear": 30, "strong": 60}
"""Of a validation."""
WORK_MS = 25
TRAINING_STEPS = 30
EPOCHS = 4


def fetch(index: int) -> None:
    wait(8)


def run(strength: Strength) -> None:
    training = DataLoader(Samples(TRAINING_STEPS, fetch), batch_size=1, num_workers=2, persistent_workers=True)
    held_out = DataLoader(Samples(STEPS[strength], fetch), batch_size=1, num_workers=1, persistent_workers=True)
    watched = underfed.watch(held_out, name="val")
    train(training, work_ms=WORK_MS, epochs=EPOCHS, after_epoch=lambda: consume(watched, work_ms=12))


PIPELINE = Pipeline(None, run)
