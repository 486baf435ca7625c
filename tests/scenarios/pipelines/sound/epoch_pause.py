"""After each epoch the loop does something else for a while: it writes a model, or plots."""

from __future__ import annotations

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

PAUSE_MS: dict[Strength, float] = {"none": 0, "weak": 100, "clear": 500, "strong": 1500}
WORK_MS = 25
STEPS = 40
EPOCHS = 4


def fetch(index: int) -> None:
    wait(10)


def run(strength: Strength) -> None:
    loader = DataLoader(Samples(STEPS, fetch), batch_size=1, num_workers=2, persistent_workers=True)
    train(loader, work_ms=WORK_MS, epochs=EPOCHS, after_epoch=lambda: wait(PAUSE_MS[strength]))


PIPELINE = Pipeline(None, run)
