"""A loader that is far ahead of the loop, its queue always full."""

from __future__ import annotations

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

PREFETCH: dict[Strength, int] = {"none": 2, "weak": 8, "clear": 16, "strong": 48}
WORK_MS = 25
STEPS = 180


def fetch(index: int) -> None:
    wait(1)


def run(strength: Strength) -> None:
    loader = DataLoader(
        Samples(STEPS, fetch), batch_size=1, num_workers=2, prefetch_factor=PREFETCH[strength], in_order=True
    )
    train(loader, work_ms=WORK_MS)


PIPELINE = Pipeline(None, run)
