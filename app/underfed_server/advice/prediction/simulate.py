"""A model of torch's DataLoader that runs measured batches and steps under another setting.

The model: ``prefetch_factor × num_workers`` batches outstanding, dispatched round robin, delivered in order; a worker
loads and begins the next load while a thread of its own hands the batch over; the training process receives (and keeps
early batches), then works on the step. CPU-bound parts share the usable cores, blocked parts do not. Without workers,
load and step alternate. A device begins a step's work when the loop has launched it and the work before is done, and
the loop runs ahead of it by as many steps as it did in the recorded run: the recurrence of ``facts.lost``.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from underfed_server.advice.prediction.processor import (
    Compute,
    Processor,
    Queue,
    Read,
    Request,
    Sleep,
    Slowdown,
    Take,
    Task,
)

Item = TypeVar("Item")

DISPATCH_US = 40.0
"""CPU of handing one index to a worker's queue (own study, 30–40 µs)."""

SLICES = 4
"""Pieces in which a load alternates between blocking and computing, as a batch of several samples does."""

STEPS = 240


@dataclass(frozen=True, slots=True)
class Batch:
    """What loading one batch takes when nothing else runs, in microseconds."""

    cpu_us: float
    blocked_us: float
    helpers_us: float = 0.0
    """CPU that other threads of the loading process spend on the same batch, beside the loading thread."""
    busy: float = 1.0
    """Cores that computed while it was recorded, its own included."""


@dataclass(frozen=True, slots=True)
class HandoverTimes:
    """How a batch comes from a worker to the training loop, in microseconds."""

    feed_us: float = 0.0
    """CPU in the worker's own thread, beside the next load: serialising."""
    feed_wait_us: float = 0.0
    """Until that thread runs, and the batch is through the pipe."""
    receive_us: float = 0.0
    """CPU in the training process to take a batch out of the pipe."""
    receive_wait_us: float = 0.0
    """Waiting in the training process meanwhile: one handshake a tensor, answered by the worker that sent it."""
    busy_wait_us: float = 0.0
    """The same where that worker is loading, and its interpreter has to be interrupted."""
    early_us: float = 0.0
    """Taking a batch that was received before its turn."""
    pause_us: float = 0.0
    """In a worker between two loads."""
    pin_us: float | None = None
    """Copying the batch into page-locked memory, in a thread that also receives; ``None``: there is no such thread."""


@dataclass(frozen=True, slots=True)
class Work:
    """The rest of one step: what the training thread computes, and what it waits for (device, locks, sleep)."""

    cpu_us: float
    other_us: float
    device_us: float = 0.0
    """What the device then works on its own, where its clock saw it; else it is waited for within ``other_us``."""


@dataclass(frozen=True, slots=True)
class SimulatedSetting:
    """What a prediction is asked for. Defaults are torch's."""

    num_workers: int
    prefetch_factor: int = 2
    persistent_workers: bool = False
    in_order: bool = True
    is_in_memory: bool = False
    """The data set lies in memory: no read waits for storage."""
    shares_by_name: bool = False
    """``sharing_strategy="file_system"``: no handshake for each tensor."""


def no_company(_busy: float) -> float:
    return 1.0


@dataclass(frozen=True, slots=True)
class Cores:
    """Cores that this run may use, how busy ones slow each other down, and the tasks of others that share them."""

    usable: float
    slowdown: Slowdown
    others: float = 0.0
    company: Slowdown = no_company
    """By how much loading takes longer than that beside so many busy cores, its own included."""


UNLIMITED = float("inf")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Mean of the simulated steps, start left out."""

    step_us: float
    data_wait_us: float


@dataclass(frozen=True, slots=True)
class LoopInputs:
    """Measured batches and steps, cycled through, and what handing over takes."""

    batches: Sequence[Batch]
    works: Sequence[Work]
    handover: HandoverTimes
    cores: Cores
    sampler_us: float = 0.0
    """CPU of the training process for the sampler, a batch, while the loop waits."""
    steps_ahead: int = 1
    """Of the device: how many earlier steps it may still have before it when the loop goes on."""
    ranks: int = 1
    """Alike, on the same cores, each with the same settings."""
    readers: float = UNLIMITED
    """Loads whose reads storage serves at once as fast as one's: more of them share its rate."""
    is_in_step: bool = False
    """The ranks synchronise in each step: it ends when all have done its work."""


@dataclass(slots=True)
class _Pace:
    """When each step's work was done: by the device of one rank, or by those of all ranks that synchronise."""

    size: int
    done: list[float] = field(default_factory=list)
    launched: list[int] = field(default_factory=list)
    """How many ranks have launched the work of each step."""
    waiting: dict[int, list[Queue]] = field(default_factory=dict)

    def launch(self, processor: Processor, step: int, work_us: float) -> None:
        if step == len(self.done):
            self.done.append(0.0)
            self.launched.append(0)
        begin = max(processor.now, self.done[step - 1] if step else 0.0)
        self.done[step] = max(self.done[step], begin + work_us)
        self.launched[step] += 1
        if self.launched[step] == self.size:
            for gate in self.waiting.pop(step, ()):
                processor.put(gate, step)

    def hold(self, processor: Processor, step: int) -> Iterator[Request]:
        """Until the work of ``step`` is done."""
        if step < 0:
            return
        if self.launched[step] < self.size:
            gate = Queue()
            self.waiting.setdefault(step, []).append(gate)
            yield Take(gate)
        yield Sleep(max(0.0, self.done[step] - processor.now))


@dataclass(slots=True)
class _Loop:
    """When the training loop of a rank asked for each batch, and when it got it."""

    pace: _Pace
    rank: int = 0
    asked: list[float] = field(default_factory=list)
    got: list[float] = field(default_factory=list)


def _outcome(loops: Sequence[_Loop], skip: int, steps: int) -> Outcome:
    """Mean of the ranks. The pace is that at which work is done: a loop may run ahead of its device, but not for long.

    Of ranks that synchronise, a step waits as long as the one that waits longest.
    """
    paces = [(loop.pace.done[skip + steps - 1] - loop.pace.done[skip - 1]) / steps for loop in loops]
    span = slice(skip, skip + steps)
    waits = [[late - early for early, late in zip(loop.asked[span], loop.got[span], strict=True)] for loop in loops]
    longest = [max(each) if loops[0].pace.size > 1 else sum(each) / len(each) for each in zip(*waits, strict=True)]
    return Outcome(step_us=sum(paces) / len(paces), data_wait_us=sum(longest) / steps)


def simulate(inputs: LoopInputs, setting: SimulatedSetting, steps: int = STEPS) -> Outcome:
    """Mean step and wait of ``steps`` steps under ``setting``.

    Raises:
        ValueError: there is no batch or no step to run.
    """
    if not inputs.batches or not inputs.works:
        raise ValueError("nothing to simulate: no measured batch or no measured step")
    skip = min(max(1, steps // 2), 2 * setting.num_workers * setting.prefetch_factor + 4)
    cores = inputs.cores
    processor = Processor(cores.usable, cores.slowdown, cores.others, inputs.readers, cores.company)
    together = _Pace(inputs.ranks if inputs.is_in_step else 1)
    loops = [_Loop(together if inputs.is_in_step else _Pace(1), rank) for rank in range(inputs.ranks)]
    for loop in loops:
        if setting.num_workers == 0:
            processor.start(_train_alone(processor, loop, inputs))
        else:
            _Workers(processor, loop, inputs, setting).start()
    processor.run(lambda: all(len(loop.asked) > steps + skip for loop in loops))
    return _outcome(loops, skip, steps)


def _of_rank(cycle: Sequence[Item], rank: int, inputs: LoopInputs, step: int) -> Item:
    """Each rank begins elsewhere in what was measured: what is slow for one is not for all at once."""
    return cycle[(step + rank * len(cycle) // inputs.ranks) % len(cycle)]


def _load(processor: Processor, batch: Batch) -> Iterator[Request]:
    # Nothing alternates in a load that only blocks, or only computes.
    slices = SLICES if (batch.cpu_us > 0 and batch.blocked_us > 0) or batch.helpers_us > 0 else 1
    read, compute = Read(batch.blocked_us / slices), Compute(batch.cpu_us / slices)
    helpers_us = batch.helpers_us / slices
    for _ in range(slices):
        # What takes no time is not asked for: the answer would come at once, and cost as much as any other.
        if read > 0.0:
            yield read
        if helpers_us > 0:
            processor.start(_help(helpers_us))
        before = processor.delayed
        if compute > 0.0:
            yield compute
        if processor.delayed > before:
            yield Compute(processor.delayed - before)


def _help(cpu_us: float) -> Task:
    yield Compute(cpu_us)


def _work(processor: Processor, loop: _Loop, inputs: LoopInputs, step: int) -> Iterator[Request]:
    # Of ranks that synchronise the work was recorded step by step, for all of them.
    rank = 0 if inputs.is_in_step else loop.rank
    work = _of_rank(inputs.works, rank, inputs, step)
    yield Compute(work.cpu_us)
    yield Sleep(work.other_us)
    loop.pace.launch(processor, step, work.device_us)
    yield from loop.pace.hold(processor, step - inputs.steps_ahead)


def _train_alone(processor: Processor, loop: _Loop, inputs: LoopInputs) -> Task:
    step = 0
    while True:
        loop.asked.append(processor.now)
        yield Compute(inputs.sampler_us)
        yield from _load(processor, _of_rank(inputs.batches, loop.rank, inputs, step))
        loop.got.append(processor.now)
        yield from _work(processor, loop, inputs, step)
        step += 1


@dataclass(slots=True)
class _Workers:
    """The processes and threads of one iterator. Batches are known by their index, workers by their number."""

    processor: Processor
    loop: _Loop
    inputs: LoopInputs
    setting: SimulatedSetting
    indices: list[Queue] = field(default_factory=list)
    pipe: Queue = field(default_factory=Queue)
    pinned: Queue = field(default_factory=Queue)
    owner: dict[int, int] = field(default_factory=dict)
    """Which worker was given which batch."""
    is_loading: list[bool] = field(default_factory=list)
    given: list[int] = field(default_factory=list)
    """How many batches each worker has outstanding."""
    sent: int = 0
    turn: int = 0

    def start(self) -> None:
        count = self.setting.num_workers
        self.indices = [Queue() for _ in range(count)]
        self.is_loading = [False] * count
        self.given = [0] * count
        for worker in range(count):
            self.processor.start(self._worker(worker))
        if self.inputs.handover.pin_us is not None:
            self.processor.start(self._pin(self.inputs.handover.pin_us))
        self.processor.start(self._train())

    def _worker(self, worker: int) -> Task:
        inputs, handover = self.inputs, self.inputs.handover
        while True:
            index = yield Take(self.indices[worker])
            self.is_loading[worker] = True
            yield from _load(self.processor, _of_rank(inputs.batches, self.loop.rank, inputs, index))
            self.is_loading[worker] = False
            self.processor.start(self._feed(index))
            yield Sleep(handover.pause_us)

    def _feed(self, index: int) -> Task:
        handover = self.inputs.handover
        yield Compute(handover.feed_us)
        yield Sleep(handover.feed_wait_us)
        self.processor.put(self.pipe, index)

    def _receive(self, index: int) -> Iterator[Request]:
        handover = self.inputs.handover
        yield Compute(handover.receive_us)
        is_busy = self.is_loading[self.owner[index]]
        yield Sleep(handover.busy_wait_us if is_busy else handover.receive_wait_us)

    def _pin(self, pin_us: float) -> Task:
        while True:
            index = yield Take(self.pipe)
            yield from self._receive(index)
            yield Compute(pin_us)
            self.processor.put(self.pinned, index)

    def _train(self) -> Task:
        for _ in range(self.setting.num_workers * self.setting.prefetch_factor):
            self._send()
        step = 0
        early: set[int] = set()
        while True:
            self.loop.asked.append(self.processor.now)
            index = yield from self._next(step, early)
            self.given[self.owner[index]] -= 1
            yield Compute(DISPATCH_US + self.inputs.sampler_us)
            self._send()
            self.loop.got.append(self.processor.now)
            yield from _work(self.processor, self.loop, self.inputs, step)
            step += 1

    def _next(self, step: int, early: set[int]) -> Generator[Request, int, int]:
        """The index of the batch that the loop gets: by its turn, or, out of order, the first to arrive."""
        if step in early:
            early.discard(step)
            yield Sleep(self.inputs.handover.early_us)
            return step
        source = self.pinned if self.inputs.handover.pin_us is not None else self.pipe
        while True:
            index = yield Take(source)
            if source is self.pipe:
                yield from self._receive(index)
            else:
                yield Sleep(self.inputs.handover.early_us)
            if index == step or not self.setting.in_order:
                return index
            early.add(index)

    def _send(self) -> None:
        """To the worker whose turn it is; out of order, to the next one with fewer than its full share outstanding."""
        count, share = self.setting.num_workers, self.setting.prefetch_factor
        worker = self.turn % count
        while not self.setting.in_order and self.given[worker] >= share:
            self.turn += 1
            worker = self.turn % count
        self.turn += 1
        self.owner[self.sent] = worker
        self.given[worker] += 1
        self.processor.put(self.indices[worker], self.sent)
        self.sent += 1
