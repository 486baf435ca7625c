"""A loop that keeps its batches keeps their shared memory too: a small /dev/shm is nearly full.

Mounting one needs root; only the job and its children see it.
"""

from __future__ import annotations

import time

from torch import Tensor
from torch.utils.data import DataLoader

import underfed
from tests.fakes.confined import mount_shared_memory, unshare_mounts
from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

SHARED_MIB: dict[Strength, int] = {"none": 130, "weak": 122, "clear": 112, "strong": 109}
KEPT = 100
"""Batches of 1 MiB that the loop keeps, beside at most six in flight; the healthy neighbour keeps none."""
SAMPLE_FLOATS = 1 << 18
WORK_MS = 30
STEPS = 150


def fetch(index: int) -> None:
    wait(5)


def run(strength: Strength) -> None:
    unshare_mounts()
    mount_shared_memory(f"size={SHARED_MIB[strength]}m")
    loader = DataLoader(Samples(STEPS, fetch, floats=SAMPLE_FLOATS), batch_size=1, num_workers=2)
    kept: list[Tensor] = []
    for index, batch in enumerate(underfed.watch(loader, name="train")):
        time.sleep(WORK_MS / 1e3)
        if strength != "none" and index < KEPT:
            kept.append(batch)


PIPELINE = Pipeline("memory_pressure", run)
