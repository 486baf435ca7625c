"""How much longer a step of 5 ms takes with the agent, 2 workers beside it: whole steps, paired blocks."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict

import torch

from benchmarks.overhead.jobs import bench, load
from benchmarks.overhead.pairs import Bare, Comparison, Draw, Variant, compare
from benchmarks.overhead.steps import end_workers, make_loader, read
from benchmarks.overhead.variants import Agent

STEP_S = 0.005
BLOCK = 20
"""A tenth of a second: a longer disturbance of the machine affects both of a pair."""


class Whole:
    """A step with its work, so that the tool's effects on caches and scheduler count too."""

    def __init__(self, variant: Variant, work: Callable[[], None]) -> None:
        self.variant = variant
        self.work = work

    def begin(self) -> Draw:
        draw, work = self.variant.begin(), self.work

        def step() -> None:
            work()
            draw()

        return step

    def end(self) -> None:
        self.variant.end()


def compute() -> Callable[[], None]:
    """Always the same multiplications, as many as take ``STEP_S`` on this machine now."""
    matrix = torch.rand(192, 192)

    def repeat(times: int) -> None:
        for _ in range(times):
            torch.mm(matrix, matrix)

    took = []
    for _ in range(200):
        started = time.perf_counter()
        repeat(10)
        took.append((time.perf_counter() - started) / 10)
    times = max(1, round(STEP_S / statistics.median(took)))
    return lambda: repeat(times)


def measure(steps: int) -> Comparison:
    torch.set_num_threads(1)
    work = compute()
    agent = Agent(make_loader(2))
    time.sleep(1.0)
    result = compare(Whole(Bare(agent.iterator), work), Whole(agent, work), lambda: None, steps, BLOCK)
    end_workers(agent.iterator)
    return result


def main(steps: int) -> None:
    with bench() as place:
        result = read(place.run("-m", __name__, str(steps)))
    share = [
        100 * each / result.bare_mean_us for each in (result.mean_us.value, result.mean_us.low, result.mean_us.high)
    ]
    print(
        f"\nstep of {result.bare_us / 1000:.2f} ms, 2 workers: {share[0]:+.2f} % [{share[1]:+.2f}, {share[2]:+.2f}] "
        f"({result.mean_us} µs), {result.steps:,} steps each, {load()}",
        flush=True,
    )


if __name__ == "__main__":
    print(json.dumps(asdict(measure(int(sys.argv[1])))))
