"""Facts of a training loop that was played through: batches dispatched, loaded, pinned, delivered in order, used.

What a sickness really costs is the same loop once more without it, so that a claim can be held against it.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tests.app.made_facts import made_epoch, made_run
from underfed_server.facts.record import RankFacts, RunFacts
from underfed_server.measurements import BatchRows, Column
from underfed_server.model import EpochInfo, LoaderInfo

WARMUP_STEPS = 5
"""Not judged, as of a real run."""


@dataclass(frozen=True, slots=True)
class Played:
    """Milliseconds. ``load_ms`` and ``pin_ms`` repeat over the batches, ``work_ms`` over the steps of an epoch."""

    load_ms: float | Sequence[float] = 40.0
    work_ms: float | Sequence[float] = 50.0
    num_workers: int = 2
    prefetch_factor: int = 2
    delivery_ms: float = 0.2
    """What the training process takes to receive one batch."""
    pin_ms: float | Sequence[float] | None = None
    sampler_ms: float = 0.0
    startup_ms: float = 0.0
    """From ``iter(loader)`` until the workers begin to load."""
    epoch_steps: int = 300
    epochs: int = 1
    in_order: bool = True

    def facts(self, **changes: object) -> RunFacts:
        """``changes``: keywords of ``made_run``, for what is not a matter of time."""
        loop = _Loop(self)
        for epoch in range(self.epochs):
            loop.train(epoch)
        return loop.facts(changes)

    def step_ms(self) -> float:
        rank = self.facts().ranks[0]
        return rank.step_us / 1e3

    def cost_of(self, **healthy: object) -> float:
        """Share of the step that goes away with other settings."""
        return 1 - replace(self, **healthy).step_ms() / self.step_ms()  # type: ignore[arg-type]


def _of(cycle: float | Sequence[float], batch: int) -> float:
    values = np.atleast_1d(np.asarray(cycle, dtype=np.float64))
    return float(values[batch % len(values)])


@dataclass(slots=True)
class _Loop:
    played: Played
    now: float = 0.0
    steps: list[tuple[float, float, float, int, int, int]] = field(default_factory=list)
    """Start, end, wait, epoch, batch, and how many batches were loaded and not handed out when it was asked for."""
    batches: list[tuple[int, int, int, float, float, float]] = field(default_factory=list)
    """Epoch, batch, worker, start, load, received."""
    _free: list[float] = field(default_factory=list)
    _pin_free: float = 0.0
    _begun: dict[int, float] = field(default_factory=dict)
    _worker: dict[int, int] = field(default_factory=dict)
    _sent: int = 0
    _loaded: list[tuple[float, int]] = field(default_factory=list)
    _received: dict[int, float] = field(default_factory=dict)

    def train(self, epoch: int) -> None:
        played, began = self.played, self.now
        self.now += played.startup_ms if played.num_workers else 0.0
        self._free, self._pin_free = [self.now] * max(1, played.num_workers), self.now
        self._begun, self._loaded, self._received, self._sent = {}, [], {}, 0
        for batch in range(played.num_workers * played.prefetch_factor):
            self._dispatch(batch % played.num_workers)
        for step in range(played.epoch_steps):
            asked = began if step == 0 else self.now
            depth = sum(ready <= asked for ready, _ in self._loaded) + len(self._received)
            batch = self._get(epoch, step)
            given = self.now
            self.now += _of(played.work_ms, step)
            self.steps.append((asked, self.now, given - asked, epoch, batch, depth))

    def _load_of(self, batch: int) -> float:
        return _of(self.played.load_ms, batch)

    def _dispatch(self, worker: int) -> None:
        batch = self._sent
        if batch == self.played.epoch_steps:
            return
        self._sent += 1
        self._worker[batch] = worker
        self._begun[batch] = max(self._free[worker], self.now)
        self._free[worker] = self._begun[batch] + self._load_of(batch)
        heapq.heappush(self._loaded, (self._free[worker], batch))

    def _get(self, epoch: int, batch: int) -> int:
        """Which batch it is: that of its turn, or the first to arrive."""
        played = self.played
        if not played.num_workers:
            self._begun[batch] = self.now
            self.now += self._load_of(batch) + played.sampler_ms
            self._received[batch] = self.now
        while batch not in self._received and (played.in_order or not self._received):
            ready, arrived = heapq.heappop(self._loaded)
            if played.pin_ms is not None:
                ready = self._pin_free = max(self._pin_free, ready) + _of(played.pin_ms, arrived)
            self.now = max(self.now, ready) + played.delivery_ms
            self._received[arrived] = self.now
        if batch not in self._received:
            (batch,) = self._received
        worker = self._worker.get(batch, 0)
        if played.num_workers:
            self.now += played.sampler_ms
            self._dispatch(worker if not played.in_order else self._sent % played.num_workers)
        received = self._received.pop(batch)
        self.batches.append((epoch, batch, worker, self._begun[batch], self._load_of(batch), received))
        return batch

    def facts(self, changes: dict[str, object]) -> RunFacts:
        played = self.played
        columns = zip(*self.steps[WARMUP_STEPS:], strict=True)
        start, end, wait, epoch, batch, depth = (np.array(column, dtype=np.float64) for column in columns)
        usual = {"steps": len(start), "num_workers": played.num_workers, "busy_cores": 0.5, "process_cores": 0.1}
        facts = made_run(**{**usual, "prefetch_factor": played.prefetch_factor, **changes})  # type: ignore[arg-type]
        rank = facts.ranks[0]
        steps = replace(
            rank.steps, start_us=start * 1e3, step_us=(end - start) * 1e3, data_wait_us=wait * 1e3, epoch_index=epoch,
            batch_index=batch, queue_depth=depth if played.num_workers else np.full(len(start), np.nan),
            sampler_us=np.full(len(start), played.sampler_ms * 1e3),
        )  # fmt: skip
        settings = {"in_order": played.in_order, "pin_memory": played.pin_ms is not None}
        loader = _known(facts).model_copy(update={"settings": {**_known(facts).settings, **settings}})
        return replace(facts, loader=loader, ranks=(replace(
            rank, steps=steps, batches=self._columns(rank), epochs=self._epochs(),
            total_data_wait_us=float(np.sum(wait) * 1e3), total_stall_us=float(np.sum(wait) * 1e3),
            total_step_us=float(np.sum(end - start) * 1e3),
        ),))  # fmt: skip

    def _columns(self, rank: RankFacts) -> BatchRows:
        epoch, batch, owner, start, load, received = (
            np.array(column, dtype=np.float64) for column in zip(*self.batches, strict=True)
        )
        share = self._parts(rank.batches, load * 1e3)
        pinned = self.played.pin_ms
        pin = np.array([np.nan if pinned is None else _of(pinned, int(each)) * 1e3 for each in batch])
        worker = np.where(self.played.num_workers > 0, owner, np.nan)
        each = {
            name: np.full(len(load), getattr(rank.batches, name)[0])
            for name in ("asked_bytes", "read_bytes", "samples")
        }
        return replace(
            rank.batches, worker=worker, epoch_index=epoch, batch_index=batch, start_us=start * 1e3, load_us=load * 1e3,
            received_us=received * 1e3, pin_us=pin, collate_us=load * 1e3 * 0.05, process_cpu_us=share["cpu_us"],
            **share, **each,
        )  # fmt: skip

    @staticmethod
    def _parts(made: BatchRows, load_us: Column) -> dict[str, Column]:
        """Loads divided as given to ``made_run``; by default they are blocked."""
        names = ("cpu_us", "runqueue_us", "blocked_us")
        parts = np.array([float(getattr(made, name)[0]) for name in names])
        shares = parts / np.sum(parts) if np.sum(parts) > 0 else np.array([0.0, 0.0, 1.0])
        return {name: load_us * share for name, share in zip(names, shares, strict=True)}

    def _epochs(self) -> tuple[EpochInfo, ...]:
        return tuple(
            made_epoch(
                epoch, int(start * 1e3), iterator_us=int(self.played.startup_ms * 1e3), startup_us=int(wait * 1e3)
            )
            for start, _, wait, epoch, batch, _ in self.steps
            if batch == 0
        )


def _known(facts: RunFacts) -> LoaderInfo:
    assert facts.loader is not None
    return facts.loader
