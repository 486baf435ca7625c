"""Windows as an agent would post them: a few plain numbers in, a complete one out, the same for the same seed."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from typing import Any

from underfed_server.ingest.decode import decode
from underfed_server.ingest.posted import PostedWindow

STARTED_AT = "2026-11-20T10:00:00Z"
RUN = {
    "project": "vision",
    "name": "resnet",
    "job": "vision/resnet",
    "user": "ada",
    "hostname": "node-1",
    "command": ["python", "train.py"],
    "world_size": 1,
    "tags": {"team": "vision"},
    "config": {"lr": 0.1},
    "host": {"cpu_count": 8, "usable_cores": 4.0},
    "not_measured": {"gpu_util_fraction": "no NVIDIA driver"},
}
SOON_JUDGED: dict[str, Any] = {"batches": []}
"""Of a stream: nothing is predicted for a run of which no batch is known, and predicting is nine tenths of what judging
costs. For tests in which some process judges and that are not about batches.
"""
LOADER = {"loader": "train", "settings": {"num_workers": 2, "prefetch_factor": 2, "batch_size": 32}}


def made_window(index: int = 0, **changes: Any) -> dict[str, Any]:
    """A window without steps; ``changes`` are its other keys."""
    window = {
        "version": 1,
        "run_id": "run-1",
        "rank": 0,
        "incarnation": 1,
        "window_index": index,
        "previous_window_index": index - 1 if index else None,
        "started_at": STARTED_AT,
        "start_us": 1_000_000 * index,
        "end_us": 1_000_000 * (index + 1),
    }
    if index == 0:
        window |= {"run": RUN, "loaders": [LOADER]}
    return window | changes


def made_stream(windows: int, *, steps: int = 20, seed: int = 0, **changes: Any) -> Iterator[dict[str, Any]]:
    """Windows of ``steps`` steps each with two workers' batches and samples; every tenth begins with a pause.

    The device is timed in most steps: it idles all of a wait for a batch, and half of one for a ready batch.
    """
    figures = random.Random(seed)
    at_us, first_step = 0, 0
    for index in range(windows):
        at_us += figures.randrange(500_000) if index % 10 == 9 else 0
        step_us = [figures.randrange(1_000, 200_000) for _ in range(steps)]
        window = made_window(index, start_us=at_us, end_us=at_us + sum(step_us), overhead_us=2.5)
        window["steps"] = [_steps(figures, first_step, at_us, step_us)] if steps else []
        window["batches"] = [_batches(figures, first_step, at_us, steps)] if steps else []
        window |= _samples(figures, at_us)
        yield window | changes
        at_us, first_step = at_us + sum(step_us), first_step + steps


def _steps(figures: random.Random, first_step: int, at_us: int, step_us: list[int]) -> dict[str, Any]:
    # Even, so that half of it is whole.
    wait = [2 * figures.randrange((step + 1) // 2) for step in step_us]
    depth = [figures.choice([None, 0, 1, 4]) for _ in step_us]
    idle = [each // 2 if ready else each for each, ready in zip(wait, depth, strict=True)]
    return {
        "loader": "train",
        "epoch_index": first_step // 1_000,
        "first_step_index": first_step,
        "first_batch_index": first_step % 1_000,
        "start_us": at_us,
        "step_us": step_us,
        "data_wait_us": wait,
        "queue_depth": depth,
        "sampler_us": [each // 10 for each in wait],
        "gpu_idle_us": [None if index == 3 else each for index, each in enumerate(idle)],
        "gpu_work_us": [figures.choice([None, step // 2]) for step in step_us],
    }


def _batches(figures: random.Random, first: int, at_us: int, batches: int) -> dict[str, Any]:
    cpu, blocked = ([figures.randrange(limit) for _ in range(batches)] for limit in (90_000, 400_000))
    return {
        "loader": "train",
        "epoch_index": first // 1_000,
        "batch_index": list(range(first % 1_000, first % 1_000 + batches)),
        "worker": [index % 2 for index in range(batches)],
        "start_us": [at_us + 1_000 * index for index in range(batches)],
        "load_us": [sum(parts) for parts in zip(cpu, blocked, strict=True)],
        "cpu_us": cpu,
        "process_cpu_us": [each + 500 for each in cpu],
        "runqueue_us": [0] * batches,
        "blocked_us": blocked,
        "pin_us": [each // 20 for each in cpu],
        "read_bytes": [figures.randrange(2**40) for _ in range(batches)],
        "received_us": [at_us + 1_000 * index + 500_000 for index in range(batches)],
    }


def _samples(figures: random.Random, at_us: int) -> dict[str, Any]:
    host = {"busy_cores": [round(figures.random() * 4, 3)], "shm_free_bytes": [2**26], "memory_used_bytes": [2**33]}
    rss_bytes = figures.randrange(2**35)
    return {
        "process": {"at_us": [at_us], "main_cpu_us": [at_us // 2], "rss_bytes": [rss_bytes], "open_files": [64]},
        "host": {"at_us": [at_us], **host},
        "worker_samples": [_worker_sample(worker, at_us, rss_bytes) for worker in (0, 1)],
        "gpus": [{"gpu_index": 0, "at_us": [at_us], "util_fraction": [figures.randrange(101) / 100]}],
    }


def _worker_sample(worker: int, at_us: int, rss_bytes: int) -> dict[str, Any]:
    return {
        "loader": "train",
        "worker": worker,
        "at_us": [at_us],
        "rss_bytes": [rss_bytes // (worker + 2)],
        "pss_bytes": [None],
        "threads": [1],
        "cpu_us": [at_us // 3],
    }


def posted(window: dict[str, Any]) -> bytes:
    return json.dumps(window).encode()


def posted_window(window: dict[str, Any]) -> PostedWindow:
    """As the ingest endpoint hands it to the store."""
    body = posted(window)
    return PostedWindow(decode(body), "gzip", gzip.compress(body, 1, mtime=0))
