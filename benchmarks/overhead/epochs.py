"""µs a step over whole epochs, as a user's loop has them: a data set of tensors, batches of one, torch's own collation.

Loading such a batch runs torch's code for some 40 µs, and what the loop computes between two of them empties the
processor's caches further. Bare and watched epochs alternate at random in one process. Each figure is a mean over the
steps of an epoch, with what happens in its first steps and in few others; the time for the work between is left out.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import underfed
from benchmarks.overhead.jobs import bench, load
from benchmarks.overhead.pairs import Estimate, estimate
from benchmarks.overhead.variants import Switch

Work = Callable[[Any], None]

STEPS = 3_000
MORE = {"wall": time.perf_counter_ns, "CPU": time.thread_time_ns}
"""Clocks. CPU time leaves out what other processes took."""


@dataclass(frozen=True, slots=True)
class Case:
    num_workers: int
    work: Callable[[], Work] | None = None
    """Makes what is done with each batch."""
    share: int = 1
    """Its epochs have so many times fewer steps."""


def training() -> Work:
    """A step of a small model."""
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def work(batch: Any) -> None:
        inputs, labels = batch
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return work


def sweeping() -> Work:
    """As many bytes as a large model's step on the host touches: nothing of a loader's is in a cache after it."""
    memory = torch.zeros(4 << 20)
    return lambda _: memory.add_(1)  # type: ignore[return-value]


CASES = {
    "0 workers": Case(0),
    "2 workers": Case(2),
    "0 workers, a small model trained between": Case(0, training),
    "0 workers, 16 MB written between": Case(0, sweeping, share=10),
    "2 workers, 16 MB written between": Case(2, sweeping, share=10),
}


@dataclass(frozen=True, slots=True)
class Result:
    """µs a step: medians over the epochs' means."""

    epochs: int
    steps: int
    bare_us: float
    more_us: dict[str, Estimate]
    """By clock."""


def make_loader(case: Case) -> DataLoader[Any]:
    length = STEPS // case.share
    dataset = TensorDataset(torch.rand(length, 16), torch.randint(2, (length,)))
    settings: dict[str, Any] = {"persistent_workers": True} if case.num_workers else {}
    return DataLoader(dataset, batch_size=1, shuffle=True, num_workers=case.num_workers, **settings)


def measure(case: Case, rounds: int) -> Result:
    torch.set_num_threads(1)
    bare, watched = make_loader(case), underfed.watch(make_loader(case), name="train")
    switch = Switch()
    work = case.work() if case.work is not None else None
    for loader in (bare, watched):
        epoch_ns(loader, work)
    chance = random.Random(0)
    means: tuple[list[list[float]], list[list[float]]] = ([], [])
    for _ in range(rounds):
        for which in chance.sample((0, 1), 2):
            if which:
                switch.on()
                taken = epoch_ns(watched, work)
            else:
                switch.off()
                taken = epoch_ns(bare, work)
            means[which].append([each / STEPS * case.share / 1000 for each in taken])
    switch.on()
    more = [
        estimate([other[clock] - own[clock] for own, other in zip(*means, strict=True)]) for clock in range(len(MORE))
    ]
    return Result(
        rounds,
        STEPS // case.share,
        statistics.median(own[0] for own in means[0]),
        dict(zip(MORE, more, strict=True)),
    )


def epoch_ns(loader: DataLoader[Any], work: Work | None) -> list[int]:
    """Time of an epoch by each clock, without that of the work."""
    clocks = list(MORE.values())
    if work is None:
        began = [clock() for clock in clocks]
        for _ in loader:
            pass
        return [clock() - begun for clock, begun in zip(clocks, began, strict=True)]
    taken = [0] * len(clocks)
    iterator = None
    while True:
        began = [clock() for clock in clocks]
        try:
            iterator = iter(loader) if iterator is None else iterator
            batch = next(iterator)
        except StopIteration:
            return taken
        ended = [clock() for clock in clocks]
        taken = [sum_ns + end - begin for sum_ns, begin, end in zip(taken, began, ended, strict=True)]
        work(batch)


def main(rounds: int) -> None:
    heads = f"{'bare':>9}  {'more, wall [95 %]':<26}{'more, CPU [95 %]':<26}{'says':>6}"
    print(f"\n{'µs a step, mean of an epoch':44}{heads}", flush=True)
    for name in CASES:
        with bench() as place:
            result = read(place.run("-m", __name__, name, str(rounds)))
            says = place.told_us()
        wall, cpu = result.more_us.values()
        print(
            f"{name:44}{result.bare_us:9.2f}  {wall!s:<26}{cpu!s:<26}{'' if says is None else f'{says:6.2f}':>6}"
            f"  {wall.value / result.bare_us:+.1%}, {result.epochs} epochs of {result.steps:,} steps each, {load()}",
            flush=True,
        )


def read(result: dict[str, Any]) -> Result:
    more = {clock: Estimate(**value) for clock, value in result["more_us"].items()}
    return Result(**{**result, "more_us": more})


if __name__ == "__main__":
    print(json.dumps(asdict(measure(CASES[sys.argv[1]], int(sys.argv[2])))))
