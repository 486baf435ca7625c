"""Workers that each multiply matrices on four times as many threads as there are cores, most of it in one line."""

from __future__ import annotations

import os
from functools import partial

from torch.utils.data import DataLoader

from tests.scenarios.pipelines.loop import train_for
from tests.scenarios.pipelines.photographs import SECONDS
from tests.scenarios.pipelines.pipeline import Pipeline, Strength
from tests.scenarios.pipelines.samples import Samples
from tests.scenarios.pipelines.sick.thread_oversubscription import (
    THREADS_PER_CORE,
    WORK_MS,
    multiply,
    use_threads,
)


def run(strength: Strength) -> None:
    cores = len(os.sched_getaffinity(0))
    threads = max(1, THREADS_PER_CORE[strength] * cores)
    loader = DataLoader(
        Samples(100_000, multiply), batch_size=1, num_workers=cores, worker_init_fn=partial(use_threads, threads)
    )
    train_for(loader, work_ms=WORK_MS, seconds=SECONDS)


PIPELINE = Pipeline("thread_oversubscription", run)
