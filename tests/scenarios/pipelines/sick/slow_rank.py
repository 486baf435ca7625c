"""Ranks in lockstep, one of which loads slowly: all others wait for it where gradients are exchanged."""

from __future__ import annotations

import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

import underfed
from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

LOAD_MS: dict[Strength, float] = {"none": 5, "weak": 26, "clear": 40, "strong": 80}
"""Of rank 1; the others load in 5."""
WORK_MS = 20
STEPS: dict[Strength, int] = {"none": 100, "weak": 120, "clear": 60, "strong": 50}


class Fetch:
    def __init__(self, ms: float) -> None:
        self.ms = ms

    def __call__(self, index: int) -> None:
        wait(self.ms)


def run(strength: Strength) -> None:
    dist.init_process_group("gloo")
    load_ms = LOAD_MS[strength] if dist.get_rank() == 1 else LOAD_MS["none"]
    loader = DataLoader(Samples(STEPS[strength], Fetch(load_ms)), batch_size=1, num_workers=1)
    for _batch in underfed.watch(loader, name="train"):
        time.sleep(WORK_MS / 1e3)
        dist.all_reduce(torch.zeros(8))
    dist.destroy_process_group()


PIPELINE = Pipeline("slow_rank", run, ranks=3)
