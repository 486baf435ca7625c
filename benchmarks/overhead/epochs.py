"""µs a step over whole epochs, as a user's loop has them: a data set of tensors, batches of one, torch's own collation.

Loading such a batch runs torch's code for some 40 µs, and what the loop computes between two of them empties the
processor's caches further. Bare and watched epochs alternate at random in one process. Each figure is a mean over the
steps of an epoch, with what happens in its first steps and in few others; the time for the work between is left out.

With workers a step lasts as long as these need for a batch, and that varies by more than what is measured. There one
live iterator is watched and left alone in turns, in blocks of steps, each begun when all batches that were asked for
are there: no step waits for a batch, as where workers keep up with the training. For more than half of its time it
waits all the same: torch passes each tensor's memory as a file descriptor, which a thread of the worker hands out when
it is asked, and on two cores three processes are busy (two thirds less time passes with ``file_system`` as torch's
sharing strategy). Wall time tells of that, too; CPU time what a step itself costs.

What workers do is the same in both kinds of such blocks. It is part of whole epochs, from the start of their workers to
their end, with the CPU time of all processes.
"""

from __future__ import annotations

import itertools
import json
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import multiprocessing, nn
from torch.utils.data import DataLoader, TensorDataset

import underfed
from benchmarks.overhead.jobs import bench, load, wait_out
from benchmarks.overhead.pairs import Bare, Draw, Estimate, Variant, estimate
from benchmarks.overhead.steps import end_workers
from benchmarks.overhead.variants import Agent, Switch

Work = Callable[[Any], None]

STEPS = 3_000
BLOCK, SETTLING = 100, 40
"""Steps of a block that count, and before them some that do not: Python specialises replaced code again."""

LONGEST_S = 2.0
"""So long a block waits for its batches."""


def all_cpu_ns() -> int:
    """CPU time of this process and of those of its children that have ended, such as workers of an epoch."""
    spent = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return round(sum(each.ru_utime + each.ru_stime for each in spent) * 1e9)


Clocks = dict[str, Callable[[], int]]

OF_THE_LOOP: Clocks = {"wall": time.perf_counter_ns, "CPU": time.thread_time_ns}
"""CPU time leaves out what other processes took."""

OF_ALL: Clocks = {"wall": time.perf_counter_ns, "CPU": all_cpu_ns}


@dataclass(frozen=True, slots=True)
class Case:
    num_workers: int
    work: Callable[[], Work] | None = None
    """Makes what is done with each batch."""
    share: int = 1
    """Its epochs have so many times fewer steps."""
    sharing: str | None = None
    """Epochs with all that their workers do, from start to end, with this sharing strategy of torch's."""

    @property
    def clocks(self) -> Clocks:
        return OF_THE_LOOP if self.sharing is None else OF_ALL


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
    "2 workers and what they do": Case(2, share=2, sharing="file_descriptor"),
    "2 workers and what they do, file_system": Case(2, share=2, sharing="file_system"),
}


@dataclass(frozen=True, slots=True)
class Result:
    """µs a step: medians over the means of epochs or blocks."""

    parts: int
    steps: int
    """Of a part."""
    bare_us: dict[str, float]
    """By clock."""
    more_us: dict[str, Estimate]


def make_loader(case: Case, length: int) -> DataLoader[Any]:
    dataset = TensorDataset(torch.rand(length, 16), torch.randint(2, (length,)))
    ahead = -(-(BLOCK + SETTLING) // case.num_workers) if case.num_workers and case.sharing is None else None
    return DataLoader(dataset, batch_size=1, shuffle=True, num_workers=case.num_workers, prefetch_factor=ahead)


def measure(case: Case, rounds: int) -> Result:
    torch.set_num_threads(1)
    work = case.work() if case.work is not None else None
    if case.sharing is not None:
        multiprocessing.set_sharing_strategy(case.sharing)  # type: ignore[no-untyped-call]
    elif case.num_workers:
        return in_blocks(case, work, rounds * STEPS // case.share // BLOCK)
    return in_epochs(case, work, rounds)


def in_epochs(case: Case, work: Work | None, rounds: int) -> Result:
    steps = STEPS // case.share
    bare, watched = make_loader(case, steps), underfed.watch(make_loader(case, steps), name="train")
    switch = Switch()
    for loader in (bare, watched):
        epoch_ns(loader, work, case.clocks)

    def bare_ns() -> list[int]:
        switch.off()
        return epoch_ns(bare, work, case.clocks)

    def watched_ns() -> list[int]:
        switch.on()
        return epoch_ns(watched, work, case.clocks)

    result = in_turns(bare_ns, watched_ns, rounds, steps, case.clocks)
    switch.on()
    return result


def in_blocks(case: Case, work: Work | None, rounds: int) -> Result:
    watched = Agent(make_loader(case, 2 * (rounds + 1) * (BLOCK + SETTLING)))
    bare = Bare(watched.iterator)

    def block_ns(variant: Variant) -> list[int]:
        wait_out(lambda: there(watched.iterator) >= BLOCK + SETTLING, LONGEST_S)
        draw = variant.begin()
        steps_ns(draw, SETTLING, work, case.clocks)
        taken = steps_ns(draw, BLOCK, work, case.clocks)
        variant.end()
        return taken

    for variant in (bare, watched):
        block_ns(variant)
    result = in_turns(lambda: block_ns(bare), lambda: block_ns(watched), rounds, BLOCK, case.clocks)
    end_workers(watched.iterator)
    return result


def there(iterator: Any) -> int:
    """Batches that wait to be handed out: in the queue, or taken from it before their turn."""
    early = sum(len(task) == 2 for task in iterator._task_info.values())
    return int(iterator._worker_result_queue.qsize()) + early


def in_turns(
    bare: Callable[[], list[int]], watched: Callable[[], list[int]], rounds: int, steps: int, clocks: Clocks
) -> Result:
    """Both return the time of so many steps by each clock."""
    chance = random.Random(0)
    means: tuple[list[list[float]], list[list[float]]] = ([], [])
    for _ in range(rounds):
        for which in chance.sample((0, 1), 2):
            means[which].append([each / steps / 1000 for each in (bare, watched)[which]()])
    bare_us, more_us = {}, {}
    for place, clock in enumerate(clocks):
        bare_us[clock] = statistics.median(own[place] for own in means[0])
        more_us[clock] = estimate([other[place] - own[place] for own, other in zip(*means, strict=True)])
    return Result(rounds, steps, bare_us, more_us)


def epoch_ns(loader: DataLoader[Any], work: Work | None, clocks: Clocks) -> list[int]:
    """Time of an epoch by each clock, without that of the work."""
    if work is None:
        began = [clock() for clock in clocks.values()]
        for _ in loader:
            pass
        return [clock() - begun for clock, begun in zip(clocks.values(), began, strict=True)]
    iterators: list[Any] = []

    def draw() -> Any:
        if not iterators:
            iterators.append(iter(loader))
        return next(iterators[0])

    return steps_ns(draw, None, work, clocks)


def steps_ns(draw: Draw, count: int | None, work: Work | None, clocks: Clocks) -> list[int]:
    """Of so many steps, or of all that there are, likewise."""
    readers = list(clocks.values())
    if work is None:
        began = [clock() for clock in readers]
        for _ in range(count or 0):
            draw()
        return [clock() - begun for clock, begun in zip(readers, began, strict=True)]
    taken = [0] * len(readers)
    for _ in itertools.count() if count is None else range(count):
        began = [clock() for clock in readers]
        try:
            batch = draw()
        except StopIteration:
            break
        ended = [clock() for clock in readers]
        taken = [sum_ns + end - begin for sum_ns, begin, end in zip(taken, began, ended, strict=True)]
        work(batch)
    return taken


def main(rounds: int) -> None:
    heads = f"{'bare':>9}{'its CPU':>9}  {'more, wall [95 %]':<26}{'more, CPU [95 %]':<26}{'says':>6}"
    print(f"\n{'µs a step, mean of an epoch':44}{heads}", flush=True)
    for name in CASES:
        with bench() as place:
            result = read(place.run("-m", __name__, name, str(rounds)))
            says = place.reported_us()
        bare_us, bare_cpu_us = result.bare_us.values()
        wall, cpu = result.more_us.values()
        said = "" if says is None else f"{says:6.2f}"
        print(
            f"{name:44}{bare_us:9.2f}{bare_cpu_us:9.2f}  {wall!s:<26}{cpu!s:<26}{said:>6}"
            f"  {wall.value / bare_us:+.1%}, {result.parts} × {result.steps:,} steps each, {load()}",
            flush=True,
        )


def read(result: dict[str, Any]) -> Result:
    more = {clock: Estimate(**value) for clock, value in result["more_us"].items()}
    return Result(**{**result, "more_us": more})


if __name__ == "__main__":
    print(json.dumps(asdict(measure(CASES[sys.argv[1]], int(sys.argv[2])))))
