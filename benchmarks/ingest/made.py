"""What agents post, generated before the measurement: the same for the same seed."""

from __future__ import annotations

import gzip
import json
import math
import random
from collections.abc import Iterator
from typing import Any

STEPS_PER_S = 10
WINDOW_S = 2
"""Usually; more where many ranks of a host take turns."""

STEPS_A_WINDOW = STEPS_PER_S * WINDOW_S
GPUS = 4
"""Of a host, where everything is sent."""

STACKS_EVERY_S = 10
"""Once a run is that old."""

STEPS_AN_EPOCH = 1_000


def windows(
    run_id: str,
    count: int,
    num_workers: int | None,
    seed: int,
    *,
    with_samples: bool = True,
    with_everything: bool = False,
    usual_wait_us: float = 13_400,
    later_wait_us: float | None = None,
    window_s: int = WINDOW_S,
) -> Iterator[dict[str, Any]]:
    """100 ms steps with lognormal waits and 1 % stalls, one window every ``window_s`` seconds, ended at last.

    Processes, host and GPUs are sampled every second. ``with_everything``: all that the agent of a rank sends that
    samples its host, too: each of its workers and GPUs. ``later_wait_us``: usual in the second half.
    """
    figures = random.Random(seed)
    at_us, length = 0, STEPS_PER_S * window_s
    for index in range(count):
        sampled_us = [at_us + second * 1_000_000 for second in range(window_s)]
        work = [round(figures.gauss(80_000, 2_000)) for _ in range(length)]
        usual_us = usual_wait_us if later_wait_us is None or index < count // 2 else later_wait_us
        wait = [_wait_us(figures, usual_us) for _ in range(length)]
        step_us = [sum(parts) for parts in zip(work, wait, strict=True)]
        first = index * length
        window: dict[str, Any] = {
            "version": 1,
            "run_id": run_id,
            "rank": 0,
            "incarnation": 1,
            "window_index": index,
            "previous_window_index": index - 1 if index else None,
            "started_at": "2026-11-20T10:00:00Z",
            "start_us": at_us,
            "end_us": at_us + sum(step_us),
            "steps": [_steps(first, at_us, step_us, wait, figures if num_workers else None)],
            "batches": [] if num_workers is None else _batches(figures, first, at_us, length, num_workers),
            "process": _process(figures, sampled_us) if with_samples else None,
            "host": _host(figures, sampled_us) if with_samples else None,
            "overhead_us": round(figures.uniform(1, 3), 2),
        }
        if with_everything:
            window |= _everything(figures, window, num_workers or 0)
        if index == 0:
            window |= {"run": {"project": "bench", "name": run_id}, "loaders": [{"loader": "train"}]}
        if index == count - 1:
            window["end"] = {"status": "finished"}
        yield window
        at_us += sum(step_us)


def _wait_us(figures: random.Random, usual_us: float) -> int:
    return round(figures.lognormvariate(math.log(usual_us), 0.7) * (20 if figures.random() < 0.01 else 1))


def _steps(first: int, at_us: int, step_us: list[int], wait: list[int], queue: random.Random | None) -> dict[str, Any]:
    return {
        "loader": "train",
        "epoch_index": first // STEPS_AN_EPOCH,
        "first_step_index": first,
        "first_batch_index": first % STEPS_AN_EPOCH,
        "start_us": at_us,
        "step_us": step_us,
        "data_wait_us": wait,
        "queue_depth": None if queue is None else [queue.randrange(5) for _ in step_us],
    }


def _batches(figures: random.Random, first: int, at_us: int, count: int, num_workers: int) -> list[dict[str, Any]]:
    """One for each step, the most there can be: without workers an agent measures only some of them."""
    cpu = [round(figures.gauss(60_000, 6_000)) for _ in range(count)]
    blocked = [round(figures.lognormvariate(7, 1)) for _ in range(count)]
    runqueue = [round(figures.expovariate(1 / 500)) for _ in range(count)]
    start = [at_us + index * 100_000 + figures.randrange(5_000) for index in range(count)]
    load = [sum(parts) for parts in zip(cpu, blocked, runqueue, strict=True)]
    return [
        {
            "loader": "train",
            "epoch_index": first // STEPS_AN_EPOCH,
            "batch_index": list(range(first % STEPS_AN_EPOCH, first % STEPS_AN_EPOCH + count)),
            "worker": [index % num_workers for index in range(count)] if num_workers else None,
            "start_us": start,
            "load_us": load,
            "cpu_us": cpu,
            "runqueue_us": runqueue,
            "blocked_us": blocked,
            "collate_us": [round(figures.gauss(1_500, 100)) for _ in range(count)],
            "asked_bytes": [figures.randrange(3_000_000, 4_000_000) for _ in range(count)],
            "read_bytes": [0] * count,
            "samples": [32] * count,
            "received_us": [
                at + spent + figures.randrange(1_000, 6_000) for at, spent in zip(start, load, strict=True)
            ],
        }
    ]


def _process(figures: random.Random, at: list[int]) -> dict[str, Any]:
    return {
        "at_us": at,
        "main_cpu_us": [each * 8 // 10 for each in at],
        "process_cpu_us": [each * 2 for each in at],
        "workers_cpu_us": [each * 12 // 10 for each in at],
        "rss_bytes": [3_000_000_000 + figures.randrange(10_000_000) for _ in at],
        "threads": [40 for _ in at],
    }


def _host(figures: random.Random, at: list[int]) -> dict[str, Any]:
    return {
        "at_us": at,
        "busy_cores": [round(figures.uniform(2, 4), 2) for _ in at],
        "cpu_pressure_us": [each // 100 for each in at],
        "io_pressure_us": [each // 1_000 for each in at],
        "throttled_us": [0 for _ in at],
        "memory_available_bytes": [20_000_000_000 + figures.randrange(50_000_000) for _ in at],
        "swap_used_bytes": [0 for _ in at],
        "shm_free_bytes": [60_000_000 - figures.randrange(9) * 4_096 for _ in at],
    }


def _everything(figures: random.Random, window: dict[str, Any], num_workers: int) -> dict[str, Any]:
    """Columns and parts that only some agents send: of a device, of the workers' processes, of disks and networks."""
    at = window["process"]["at_us"]
    steps, batches = window["steps"][0], window["batches"][0]
    waits = steps["data_wait_us"]
    index, first_step, window_s = window["window_index"], steps["first_step_index"], len(at)
    since_stacks_s = index * window_s % STACKS_EVERY_S
    return {
        "steps": [
            steps
            | {
                "sampler_us": [figures.randrange(20, 60) for _ in waits],
                "gpu_idle_us": [wait // 3 for wait in waits],
                "gpu_work_us": [None if wait > 40_000 else 80_000 + figures.randrange(2_000) for wait in waits],
            }
        ],
        "batches": [
            batches
            | {
                "process_cpu_us": [cpu + figures.randrange(3_000) for cpu in batches["cpu_us"]],
                "pin_us": [figures.randrange(300, 900) for _ in batches["cpu_us"]],
            }
        ],
        "process": window["process"]
        | {
            "main_runqueue_us": [each // 1_000 for each in at],
            "workers_rss_bytes": [num_workers * 900_000_000 + figures.randrange(10_000_000) for _ in at],
            "open_files": [60 for _ in at],
            "swap_bytes": [0 for _ in at],
            "written_bytes": [each // 20 for each in at],
        },
        "host": window["host"]
        | {
            "memory_pressure_us": [each // 10_000 for each in at],
            "memory_used_bytes": [90_000_000_000 + figures.randrange(50_000_000) for _ in at],
            "disk_read_bytes": [each * 150 for each in at],
            "disk_written_bytes": [each // 10 for each in at],
            "network_received_bytes": [each * 3 for each in at],
            "network_sent_bytes": list(at),
        },
        "epochs": [_epoch(first_step, window["start_us"])] if first_step % STEPS_AN_EPOCH == 0 else [],
        "workers": [] if index else [_life(worker) for worker in range(num_workers)],
        "storage": [] if index else [_STORAGE],
        "stacks": [_stacks(figures)] if since_stacks_s < window_s else [],
        "worker_samples": [_worker(figures, worker, at) for worker in range(num_workers)],
        "gpus": [_gpu(figures, index, at) for index in range(GPUS)],
        "losses": dict.fromkeys(_LOSSES, 0),
    }


_LOSSES = ("dropped_steps", "dropped_batches", "dropped_windows", "rejected_windows", "agent_errors")
_STORAGE = {"loader": "train", "mount": "/data", "file_system": "ext4", "device": "nvme0n1p1", "kind": "nvme",
            "files_seen": 212, "example": "/data/train/n01440764_10026.JPEG"}  # fmt: skip


def _epoch(first_step: int, at_us: int) -> dict[str, Any]:
    return {
        "loader": "train",
        "epoch_index": first_step // STEPS_AN_EPOCH,
        "start_us": at_us,
        "iterator_us": 319_387,
        "startup_us": 559_059,
        "first_step_index": first_step,
        "grad_enabled": True,
        "graph_built": True,
        "in_background": False,
    }


def _stacks(figures: random.Random) -> dict[str, Any]:
    """Thirty places in code below one another, as decoding and transforming pictures has them."""
    frames = [
        {"function": f"Transform{place}.__call__", "file": "transforms.py", "line": 40 + place, "is_own": place < 4}
        for place in range(30)
    ]
    seen = [
        {"stage": "getitem", "frames": list(range(depth)), "samples": [figures.randrange(9) for _ in range(16)]}
        for depth in range(4, 30)
    ]
    slow = [
        {"load_us": 900_000 + index, "index": index, "file": f"train/{index}.JPEG", "file_bytes": 120_000, "worker": 3}
        for index in range(8)
    ]
    return {"loader": "train", "frames": frames, "stacks": seen, "slow_samples": slow, "agent_samples": 2}


def _life(worker: int) -> dict[str, Any]:
    return {"loader": "train", "epoch_index": 0, "iterator_index": 0, "worker": worker, "pid": 4_000 + worker}


def _worker(figures: random.Random, worker: int, at: list[int]) -> dict[str, Any]:
    return {
        "loader": "train",
        "worker": worker,
        "at_us": at,
        "rss_bytes": [900_000_000 + figures.randrange(4_000_000) for _ in at],
        "pss_bytes": [400_000_000 + figures.randrange(4_000_000), *[None for _ in at[1:]]],
        "threads": [3 for _ in at],
        "cpu_us": [each * 6 // 10 + worker for each in at],
        "received_bytes": [each * 2 for each in at],
        "connections": [figures.randrange(1, 4) for _ in at],
    }


def _gpu(figures: random.Random, index: int, at: list[int]) -> dict[str, Any]:
    return {
        "gpu_index": index,
        "at_us": at,
        "util_fraction": [round(figures.uniform(0.7, 1.0), 2) for _ in at],
        "memory_used_bytes": [30_000_000_000 + figures.randrange(1_000_000) for _ in at],
        "power_w": [round(figures.uniform(250, 320), 1) for _ in at],
        "own_process": [index == 0 for _ in at],
    }


def requests(
    run_id: str,
    count: int,
    num_workers: int | None,
    seed: int,
    *,
    with_samples: bool = True,
    with_everything: bool = False,
) -> list[bytes]:
    """Whole HTTP requests, generated before the measurement."""
    made = windows(run_id, count, num_workers, seed, with_samples=with_samples, with_everything=with_everything)
    return [request("/api/v1/ingest", json.dumps(window, separators=(",", ":")).encode()) for window in made]


def request(path: str, body: bytes) -> bytes:
    """A POST of JSON, compressed."""
    packed = gzip.compress(body, 1)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n"
    )
    return head.encode() + packed
