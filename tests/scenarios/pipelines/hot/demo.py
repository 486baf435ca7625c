"""The demo's own data set with two workers: its ``__getitem__`` decodes, crops and changes colours with Pillow."""

from __future__ import annotations

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.loop import train_for
from tests.scenarios.pipelines.photographs import SECONDS, photographs
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from underfed_server.demo.train import Photographs

WORK_MS: dict[Strength, float] = {"none": 500, "weak": 60, "clear": 10, "strong": 2}


def run(strength: Strength) -> None:
    loader = DataLoader(Photographs(photographs()), batch_size=8, shuffle=True, num_workers=2, drop_last=True)
    train_for(loader, work_ms=WORK_MS[strength], seconds=SECONDS)


PIPELINE = Pipeline("cpu_limited", run)
