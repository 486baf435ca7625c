"""Workers that each multiply matrices on more threads than there are cores."""

from __future__ import annotations

import os
from functools import partial

import torch
from torch.utils.data import DataLoader

from tests.scenarios.pipelines.loop import train
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples

THREADS_PER_CORE: dict[Strength, int] = {"none": 0, "weak": 1, "clear": 4, "strong": 8}
"""Threads of each worker; 0: the one thread that torch gives it."""
WORK_MS = 25
STEPS = 60
SIZE = 160
PRODUCTS = 300


def multiply(index: int) -> None:
    matrix = torch.ones(SIZE, SIZE)
    for _ in range(PRODUCTS):
        matrix = (matrix @ matrix).clamp(0, 1)


def use_threads(count: int, worker: int) -> None:
    """As ``cv2.setNumThreads`` or an unset ``OMP_NUM_THREADS`` would."""
    torch.set_num_threads(count)


def run(strength: Strength) -> None:
    cores = len(os.sched_getaffinity(0))
    threads = max(1, THREADS_PER_CORE[strength] * cores)
    loader = DataLoader(
        Samples(STEPS, multiply),
        batch_size=1,
        num_workers=cores,
        worker_init_fn=partial(use_threads, threads),
    )
    train(loader, work_ms=WORK_MS)


PIPELINE = Pipeline("thread_oversubscription", run)
