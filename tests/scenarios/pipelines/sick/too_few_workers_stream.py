"""A stream that is sharded correctly among its workers, of which there are too few."""

from __future__ import annotations

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.sick.unsharded_iterable import LOAD_MS, STEPS, WORK_MS, WORKERS, Stream


def run(strength: Strength) -> None:
    stream = Stream(STEPS[strength], LOAD_MS[strength], is_sharded=True)
    train(DataLoader(stream, batch_size=1, num_workers=WORKERS), work_ms=WORK_MS)


PIPELINE = Pipeline("too_few_workers", run)
