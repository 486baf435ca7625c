"""Pipelines whose speed is predicted and measured: what a sample costs, and what a step does beside it.

A sample costs the same whenever it is loaded, at every setting, so that settings differ in nothing else. The work of a
step is a sleep, as a GPU's is to the training thread, and CPU where the name says so.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch.utils.data import Dataset

from underfed_server.demo.photographs import photograph_files

SIDE = 96
TEXT = "The quick brown fox jumps over the lazy dog. " * 40


@dataclass(frozen=True, slots=True)
class Pipeline:
    """``load(index)`` makes one sample; a step computes ``step_cpu_s`` and then waits ``step_wait_s``."""

    name: str
    load: Callable[[int], Any]
    batch_size: int
    step_wait_s: float
    step_cpu_s: float = 0.0
    collate: Callable[[Sequence[Any]], Any] | None = None
    seconds: float = 1.6
    """Duration of a measurement: long enough for several of the rare slow loads, if there are any."""

    def step(self) -> None:
        compute(self.step_cpu_s)
        time.sleep(self.step_wait_s)


class Samples(Dataset[Any]):
    def __init__(self, pipeline: Pipeline, length: int) -> None:
        self.load = pipeline.load
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        return self.load(index)


def pipelines(data: Path) -> list[Pipeline]:
    """``data``: a directory for photographs."""
    photographs = [file.path.read_bytes() for file in photograph_files(data)[::10]]
    return [
        Pipeline("decode on the CPU", lambda index: decoded(photographs[index % len(photographs)]), 4, 0.012),
        Pipeline("storage latency", lambda index: after(0.004, index), 8, 0.012),
        Pipeline("mixed", mixed, 4, 0.012),
        Pipeline(
            "heavy tail", lambda index: after(0.120 if chance(index) < 0.05 else 0.008, index), 1, 0.012, seconds=3.2
        ),
        Pipeline("tiny tensors", lambda index: [torch.full((4,), float(index)) for _ in range(24)], 8, 0.012),
        Pipeline("huge batches", lambda index: torch.full((1_500_000,), float(index)), 4, 0.012),
        Pipeline("slow collate", lambda index: after(0.0005, index), 8, 0.012, collate=slow_collate),
        Pipeline("compute-bound", lambda index: computed(0.0005, index), 8, 0.025),
        Pipeline("host-heavy steps", lambda index: computed(0.004, index), 4, 0.004, step_cpu_s=0.010),
    ]


def decoded(jpeg: bytes) -> torch.Tensor:
    with Image.open(BytesIO(jpeg)) as image:
        picture = image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    return torch.frombuffer(bytearray(picture.tobytes()), dtype=torch.uint8).view(SIDE, SIDE, 3)


def after(seconds: float, index: int) -> torch.Tensor:
    """As a read that the disk or the network answers after this long."""
    time.sleep(seconds)
    return torch.full((256,), float(index))


def mixed(index: int) -> torch.Tensor:
    time.sleep(0.003)
    return computed(0.0025, index)


def computed(seconds: float, index: int) -> torch.Tensor:
    compute(seconds)
    return torch.full((256,), float(index))


def slow_collate(samples: Sequence[torch.Tensor]) -> torch.Tensor:
    compute(0.020)
    return torch.stack(list(samples))


def compute(seconds: float) -> None:
    """A fixed piece of work, which takes ``seconds`` on this machine's core when nothing else runs."""
    for _ in range(round(seconds / work_s())):
        tokenise()


def tokenise() -> int:
    return len(set(TEXT.lower().split()))


def chance(index: int) -> float:
    """The same for an index whenever it is asked."""
    return zlib.crc32(index.to_bytes(8, "little")) / 2**32


def work_s() -> float:
    """Seconds of the piece of work that ``compute`` repeats; measured once by the benchmark, passed to all its jobs."""
    return float(os.environ[WORK])


WORK = "UNDERFED_BENCH_WORK_S"


def measure_work_s() -> float:
    """The fastest of many."""
    taken = []
    for _ in range(2_000):
        started = time.perf_counter()
        tokenise()
        taken.append(time.perf_counter() - started)
    return sorted(taken)[len(taken) // 10]
