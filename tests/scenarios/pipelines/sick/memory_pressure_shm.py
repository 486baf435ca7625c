"""A loop that keeps every batch keeps its shared memory too: a small /dev/shm is full before the job is done."""

from __future__ import annotations

import time

import torch
from torch import Tensor
from torch.utils.data import DataLoader

import underfed
from tests.fakes.confined import mount_shared_memory, unshare_mounts
from tests.scenarios.pipelines.effort import wait
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

SHARED_BYTES = 200 << 20
SAMPLE_FLOATS = 1 << 17
KEPT: dict[Strength, float] = {"none": 0, "weak": 0.4, "clear": 0.7, "strong": 1}
"""Share of the batches that the loop keeps; a batch is 512 KiB."""
WORK_MS = 20
STEPS = 300


def fetch(index: int) -> None:
    wait(5)


def run(strength: Strength) -> None:
    unshare_mounts()
    mount_shared_memory(f"size={SHARED_BYTES}")
    loader = DataLoader(Samples(STEPS, fetch, floats=SAMPLE_FLOATS), batch_size=1, num_workers=2)
    kept: list[Tensor] = []
    for index, batch in enumerate(underfed.watch(loader, name="train")):
        time.sleep(WORK_MS / 1e3)
        if index % 10 < 10 * KEPT[strength]:
            kept.append(batch)
    torch.stack(kept[:1] or [torch.zeros(1)])


PIPELINE = Pipeline("memory_pressure", run, needs_root=True)
