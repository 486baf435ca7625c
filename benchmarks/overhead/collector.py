"""CPU and memory of the collector while loops of 20 ms steps run: one rank, and eight of one host."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

import torch

import underfed
from benchmarks.overhead.jobs import Bench, bench, load, wait_out
from benchmarks.overhead.steps import make_loader

STEP_S = 0.02
SETTLING_S = 5.0

CASES: dict[str, list[int]] = {
    "1 rank, 0 workers": [0],
    "1 rank, 2 workers": [2],
    "8 ranks, 2 workers in one": [2, *[0] * 7],
    "8 ranks, 2 workers in each": [2] * 8,
}
"""``num_workers`` of each rank."""


def train(num_workers: int) -> None:
    torch.set_num_threads(1)
    for _ in underfed.watch(make_loader(num_workers), name="train"):
        time.sleep(STEP_S)


def start_ranks(place: Bench, workers: list[int]) -> list[subprocess.Popen[str]]:
    size = str(len(workers))
    return [
        place.start(
            "-m",
            __name__,
            str(num_workers),
            RANK=str(rank),
            LOCAL_RANK=str(rank),
            WORLD_SIZE=size,
            LOCAL_WORLD_SIZE=size,
        )
        for rank, num_workers in enumerate(workers)
    ]


def measure(workers: list[int], seconds: float) -> tuple[float, int, int]:
    """Share of a core, bytes resident, and steps a second that arrived at the service."""
    with bench() as place:
        ranks = start_ranks(place, workers)
        try:
            wait_out(lambda: len({window["rank"] for window in place.service.windows}) == len(workers), 120.0)
            time.sleep(SETTLING_S)
            collector = place.collector()
            place.service.windows.clear()
            before, begun = sum(collector.cpu_times()[:2]), time.monotonic()
            resident = []
            while time.monotonic() < begun + seconds:
                time.sleep(0.5)
                resident.append(collector.memory_info().rss)
            took = time.monotonic() - begun
            used = sum(collector.cpu_times()[:2]) - before
            steps = sum(len(each["step_us"]) for rank in range(len(workers)) for each in place.service.steps(rank=rank))
        finally:
            for rank in ranks:
                rank.terminate()
            for rank in ranks:
                rank.wait()
    return used / took, round(statistics.median(resident)), round(steps / took)


def main(seconds: float) -> None:
    print(f"\ncollector of loops of {STEP_S * 1000:.0f} ms steps, {seconds:.0f} s each")
    for name, workers in CASES.items():
        share, resident, steps = measure(workers, seconds)
        print(
            f"  {name:28}{share:7.2%} of a core{resident / 2**20:8.1f} MiB{steps:6} steps/s, {load()}",
            flush=True,
        )


if __name__ == "__main__":
    train(int(sys.argv[1]))
