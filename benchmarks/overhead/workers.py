"""CPU time that a worker spends on a batch, watched and not: two loaders of one worker each, iterated in turn."""

from __future__ import annotations

import json
import random
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

import underfed
from benchmarks.overhead.jobs import bench, load
from benchmarks.overhead.pairs import Estimate, estimate
from benchmarks.overhead.steps import end_workers, make_loader

ROUNDS, BATCHES = 60, 300


def measure() -> dict[str, Any]:
    torch.set_num_threads(1)
    bare, watched = make_loader(1), underfed.watch(make_loader(1), name="train")
    iterators: list[Any] = [iter(bare), iter(watched)]
    time.sleep(1.0)
    chance = random.Random(0)
    used_us: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for which in chance.sample((0, 1), 2):
            used_us[which].append(_cpu_us_a_batch(iterators[which]))
    for iterator in iterators:
        end_workers(iterator)
    more = estimate([with_ - without for without, with_ in zip(*used_us, strict=True)])
    return {"bare_us": estimate(used_us[0]).value, "more_us": asdict(more)}


def _cpu_us_a_batch(iterator: Any) -> float:
    before = _cpu_ns(iterator._workers[0].pid)
    for _ in range(BATCHES):
        next(iterator)
    _come_to_rest(iterator._workers[0].pid)
    return (_cpu_ns(iterator._workers[0].pid) - before) / BATCHES / 1000


def _come_to_rest(pid: int) -> None:
    """Wait until its queue is full again."""
    before = -1
    while before != (before := _cpu_ns(pid)):
        time.sleep(0.02)


def _cpu_ns(pid: int) -> int:
    """Of the worker's main thread, which loads; the one that feeds the queue is torch's alone."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0])


def main() -> None:
    with bench() as place:
        result = place.run("-m", __name__)
    print(
        f"worker's CPU time a batch: bare {result['bare_us']:.1f} µs, "
        f"watched {Estimate(**result['more_us'])} µs more, {ROUNDS * BATCHES:,} batches each, {load()}",
        flush=True,
    )


if __name__ == "__main__":
    print(json.dumps(measure()))
