"""A simulated training loop, step by step: workers load in turn, batches come in order, the device works."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Load:
    """What a worker does for one batch, in milliseconds."""

    cpu_ms: float = 20.0
    blocked_ms: float = 2.0
    runqueue_ms: float = 0.2
    collate_ms: float = 2.0
    spread: float = 0.12
    """Standard deviation of the logarithm."""
    tail: float = 0.0
    """The share of batches that take ``tail_factor`` as long."""
    tail_factor: float = 12.0

    def draw(self, figures: random.Random) -> tuple[float, float, float, float]:
        """CPU, blocked, waiting for a CPU and (part of them) joining the samples."""
        factor = figures.lognormvariate(0, self.spread)
        factor *= self.tail_factor if figures.random() < self.tail else 1.0
        runqueue = figures.expovariate(1 / self.runqueue_ms) if self.runqueue_ms else 0.0
        return self.cpu_ms * factor, self.blocked_ms * factor, runqueue, self.collate_ms


@dataclass(frozen=True, slots=True)
class Pace:
    """How a rank trains, in milliseconds."""

    load: Load
    work_ms: float = 100.0
    num_workers: int = 4
    prefetch_factor: int = 2
    startup_ms: float = 0.0
    sampler_ms: float = 0.02
    copy_ms: float | None = None
    exposed_ms: float | None = None
    program_ms: float = 0.0
    """Time of each step in which the device is idle though its input is ready."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Milliseconds of the run."""

    index: int
    worker: int | None
    start: float
    cpu: float
    blocked: float
    runqueue: float
    collate: float
    received: float

    @property
    def load(self) -> float:
        return self.cpu + self.blocked + self.runqueue


@dataclass(frozen=True, slots=True)
class Step:
    """Milliseconds of the run."""

    start: float
    wait: float
    whole: float
    ready: int | None
    batch: Batch


@dataclass(slots=True)
class Loop:
    """One epoch after the other."""

    figures: random.Random
    now: float = 0.0

    def epoch(self, pace: Pace, steps: int) -> Iterator[Step]:
        asked_at, self.now = self.now, self.now + pace.startup_ms
        free = [self.now] * max(1, pace.num_workers)
        flight: list[Batch] = []
        for index in range(steps):
            while len(flight) < max(1, pace.num_workers * pace.prefetch_factor) and index + len(flight) < steps:
                flight.append(self._begin(pace, free, index + len(flight), self.now))
            batch = flight.pop(0)
            asked = asked_at if index == 0 else self.now
            ready = None if pace.num_workers == 0 else sum(each.received <= asked for each in [batch, *flight])
            given = max(asked, batch.received) + pace.sampler_ms + 0.3
            work = pace.work_ms * self.figures.lognormvariate(0, 0.015) + (pace.exposed_ms or 0.0) + pace.program_ms
            self.now = given + work
            yield Step(asked, given - asked, self.now - asked, ready, batch)

    def _begin(self, pace: Pace, free: list[float], index: int, now: float) -> Batch:
        slot = index % len(free)
        start = max(free[slot], now)
        cpu, blocked, runqueue, collate = pace.load.draw(self.figures)
        free[slot] = start + cpu + blocked + runqueue
        worker = slot if pace.num_workers else None
        return Batch(index, worker, start, cpu, blocked, runqueue, collate, free[slot])
