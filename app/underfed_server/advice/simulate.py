"""Replays measured batches and steps through a model of torch's DataLoader under another setting.

The model: ``prefetch_factor × num_workers`` batches outstanding, dispatched round robin, delivered in order; a worker
loads, then hands over; the training process receives (and keeps early batches), then works on the step.
CPU-bound parts share the usable cores, blocked parts do not. Without workers, load and step alternate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from underfed_server.advice.processor import Compute, Processor, Queue, Request, Sleep, Slowdown, Take, Task

DISPATCH_US = 40.0
"""CPU of handing one index to a worker's queue (own study, 30–40 µs)."""

SLICES = 4
"""Pieces in which a load alternates between blocking and computing: samples do, a whole batch at once does not."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What loading one batch takes when nothing else runs, in microseconds."""

    cpu_us: float
    blocked_us: float
    handover_us: float = 0.0
    """CPU in the worker after loading: serialising, shared memory."""
    receive_us: float = 0.0
    """CPU in the training process to take a batch that is ready."""
    receive_wait_us: float = 0.0
    """Waiting in the training process to take a batch that is ready: one handshake a tensor."""


@dataclass(frozen=True, slots=True)
class Work:
    """The rest of one step: what the training thread computes, and what it waits for (device, locks, sleep)."""

    cpu_us: float
    other_us: float


@dataclass(frozen=True, slots=True)
class LoaderSetting:
    """What a prediction is asked for; what is left at its default is as torch has it."""

    num_workers: int
    prefetch_factor: int = 2
    persistent_workers: bool = False
    in_order: bool = True
    is_in_memory: bool = False
    """The data set lies in memory: no read waits for storage."""
    threads_per_worker: int | None = None
    """``None``: as many as were recorded."""
    shares_by_name: bool = False
    """``sharing_strategy="file_system"``: no handshake for each tensor."""


@dataclass(frozen=True, slots=True)
class Cores:
    """Cores that this run may use, how busy ones slow each other down, and the tasks of others that share them."""

    usable: float
    slowdown: Slowdown
    others: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """Mean of the simulated steps, start left out."""

    step_us: float
    data_wait_us: float


class _Loop:
    """The training loop's own record: when it asked, when it got its batch."""

    __slots__ = ("asked", "got")

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.got: list[float] = []

    def outcome(self, skip: int) -> Outcome:
        last = len(self.asked) - 1
        steps = last - skip
        waits = sum(self.got[step] - self.asked[step] for step in range(skip, last))
        return Outcome((self.asked[last] - self.asked[skip]) / steps, waits / steps)


def simulate(
    batches: Sequence[Batch], works: Sequence[Work], setting: LoaderSetting, cores: Cores, steps: int = 240
) -> Outcome:
    """Mean step and wait of ``steps`` steps under ``setting``, cycling through the measured batches and steps.

    Raises:
        ValueError: there is no batch or no step to replay.
    """
    if not batches or not works:
        raise ValueError("nothing to replay: no measured batch or no measured step")
    skip = min(steps // 2, 2 * setting.num_workers * setting.prefetch_factor + 4)
    loop = _Loop()
    processor = Processor(cores.usable, cores.slowdown, cores.others)
    if setting.num_workers == 0:
        processor.start(_train_alone(processor, loop, batches, works))
    else:
        _start_with_workers(processor, loop, batches, works, setting)
    processor.run(lambda: len(loop.asked) > steps + skip)
    return loop.outcome(skip)


def _load(batch: Batch) -> Iterator[Request]:
    for _ in range(SLICES):
        yield Sleep(batch.blocked_us / SLICES)
        yield Compute(batch.cpu_us / SLICES)


def _work(work: Work) -> Iterator[Request]:
    yield Compute(work.cpu_us)
    yield Sleep(work.other_us)


def _train_alone(processor: Processor, loop: _Loop, batches: Sequence[Batch], works: Sequence[Work]) -> Task:
    step = 0
    while True:
        loop.asked.append(processor.now)
        yield from _load(batches[step % len(batches)])
        loop.got.append(processor.now)
        yield from _work(works[step % len(works)])
        step += 1


def _start_with_workers(
    processor: Processor,
    loop: _Loop,
    batches: Sequence[Batch],
    works: Sequence[Work],
    setting: LoaderSetting,
) -> None:
    indices = [Queue() for _ in range(setting.num_workers)]
    results = Queue()
    for queue in indices:
        processor.start(_worker(processor, batches, queue, results))
    processor.start(_train_with_workers(processor, loop, batches, works, setting, indices, results))


def _worker(processor: Processor, batches: Sequence[Batch], indices: Queue, results: Queue) -> Task:
    while True:
        index = yield Take(indices)
        batch = batches[index % len(batches)]
        yield from _load(batch)
        yield Compute(batch.handover_us)
        processor.put(results, index)


def _train_with_workers(
    processor: Processor,
    loop: _Loop,
    batches: Sequence[Batch],
    works: Sequence[Work],
    setting: LoaderSetting,
    indices: list[Queue],
    results: Queue,
) -> Task:
    sent = setting.num_workers * setting.prefetch_factor
    for index in range(sent):
        processor.put(indices[index % setting.num_workers], index)
    early: set[int] = set()
    step = 0
    while True:
        loop.asked.append(processor.now)
        while step not in early:
            index = yield Take(results)
            batch = batches[index % len(batches)]
            yield Compute(batch.receive_us)
            yield Sleep(batch.receive_wait_us)
            early.add(index)
        early.discard(step)
        yield Compute(DISPATCH_US)
        processor.put(indices[sent % setting.num_workers], sent)
        sent += 1
        loop.got.append(processor.now)
        yield from _work(works[step % len(works)])
        step += 1
