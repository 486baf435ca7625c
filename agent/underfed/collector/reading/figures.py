"""What ``underfed.stats()`` says of a rank, from the steps that go into windows: sums, and nothing of single steps."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp2, log2
from typing import Any

from underfed.collector.wire import Epoch, Steps
from underfed.exchange.figures import OF_STEPS

WARM_UP = 5
"""First steps of a loader, which the service does not judge either."""

NEEDED = 25
"""Steps, these included, that the service gives a verdict from."""

RECENT_US = 60_000_000
OCTAVE = 8
"""Classes of waits for each doubling: a percentile is known to within 5 %."""

TIMED_BLOCKING, TIMED_READY = 0.8, 1 / 32
"""Shares of the requests that found no batch, and of those that found one, of which the device must have been timed
before its clock is used, as the service has it."""


@dataclass(slots=True)
class _Kind:
    """Sums over requests of one kind: those that found a batch ready, or those that did not."""

    requests: int = 0
    wait_us: int = 0
    timed: int = 0
    timed_wait_us: int = 0
    idle_us: int = 0

    def add(self, other: _Kind) -> None:
        self.requests += other.requests
        self.wait_us += other.wait_us
        self.timed += other.timed
        self.timed_wait_us += other.timed_wait_us
        self.idle_us += other.idle_us

    def count(self, wait_us: int, idle_us: int | None) -> None:
        self.requests += 1
        self.wait_us += wait_us
        if idle_us is not None:
            self.timed += 1
            self.timed_wait_us += wait_us
            self.idle_us += idle_us

    @property
    def stall_us(self) -> float:
        """On the device's clock; where a request was not timed, as large a share of its wait as where one was."""
        share = min(1.0, self.idle_us / self.timed_wait_us) if self.timed_wait_us else float(not self.timed)
        return self.idle_us + share * (self.wait_us - self.timed_wait_us)


@dataclass(slots=True)
class _Sums:
    """Over steps whose length is known."""

    steps: int = 0
    step_us: int = 0
    ready: _Kind = field(default_factory=_Kind)
    blocking: _Kind = field(default_factory=_Kind)
    queued: int = 0
    """Requests to a queue whose depth was read."""
    empty: int = 0
    """Of these, that found none."""
    waits: Counter[int] = field(default_factory=Counter)
    """By class of ``OCTAVE``."""

    def add(self, other: _Sums) -> None:
        self.steps += other.steps
        self.step_us += other.step_us
        self.ready.add(other.ready)
        self.blocking.add(other.blocking)
        self.queued += other.queued
        self.empty += other.empty
        self.waits.update(other.waits)

    def count(self, step_us: int, wait_us: int, depth: int | None, idle_us: int | None) -> None:
        self.steps += 1
        self.step_us += step_us
        (self.ready if depth else self.blocking).count(wait_us, idle_us)
        if depth is not None:
            self.queued += 1
            self.empty += not depth
        self.waits[_class_of(wait_us)] += 1

    @property
    def has_device_clock(self) -> bool:
        ready, blocking = self.ready, self.blocking
        is_any = ready.timed or blocking.timed
        is_sampled = ready.timed >= int(ready.requests * TIMED_READY)
        return bool(is_any and is_sampled and blocking.timed >= TIMED_BLOCKING * blocking.requests)

    def figures(self) -> dict[str, Any]:
        if not self.step_us:
            return {**dict.fromkeys(OF_STEPS), "steps": self.steps}
        wait_us = self.ready.wait_us + self.blocking.wait_us
        stall_us = self.ready.stall_us + self.blocking.stall_us if self.has_device_clock else wait_us
        return {
            "steps": self.steps,
            "data_stall_fraction": round(min(1.0, stall_us / self.step_us), 4),
            "data_wait_us": round(wait_us / self.steps),
            "data_wait_p95_us": self._percentile(0.95),
            "steps_per_s": float(f"{self.steps / self.step_us * 1e6:.5g}"),
            "queue_empty_fraction": round(self.empty / self.queued, 4) if self.queued else None,
        }

    def _percentile(self, share: float) -> int:
        left = share * self.steps
        for each in sorted(self.waits):
            left -= self.waits[each]
            if left <= 0:
                break
        return _middle_of(each)


def _class_of(wait_us: int) -> int:
    return int(log2(wait_us) * OCTAVE) if wait_us > 1 else 0


def _middle_of(kind: int) -> int:
    return round(exp2((kind + 0.5) / OCTAVE)) if kind else 1


class RankFigures:
    """Of the loader that trains: a graph is built between its batches; else of the one most time was spent with."""

    def __init__(self) -> None:
        self._all: dict[str, _Sums] = {}
        self._recent: dict[str, deque[tuple[int, _Sums]]] = {}
        self._made: Counter[str] = Counter()
        self._training: set[str] = set()
        self.has_new_steps = False
        """Steps came since ``take()``."""

    def feed(self, at_us: int, steps: Iterable[Steps], epochs: Iterable[Epoch]) -> None:
        """``at_us``: the end of their window, in µs of the run's clock."""
        self._training |= {each.loader for each in epochs if each.graph_built}
        fresh: dict[str, _Sums] = {}
        for each in steps:
            self._count(fresh.setdefault(each.loader, _Sums()), each)
        for loader, sums in fresh.items():
            self._all.setdefault(loader, _Sums()).add(sums)
            self._recent.setdefault(loader, deque()).append((at_us, sums))
            self.has_new_steps = True
        for windows in self._recent.values():
            while windows and windows[0][0] < at_us - RECENT_US:
                windows.popleft()

    def take(self) -> Mapping[str, Any] | None:
        """``None``: there was no step yet."""
        self.has_new_steps = False
        among = [each for each in self._all if each in self._training] or list(self._all)
        if not among:
            return None
        loader = max(among, key=lambda each: self._all[each].step_us)
        recent = _Sums()
        for _, sums in self._recent[loader]:
            recent.add(sums)
        whole = self._all[loader]
        clock = "gpu" if whole.has_device_clock else "host"
        made = self._made[loader]
        few = f"not judged: {made} of {NEEDED} steps" if made < NEEDED else None
        return {"loader": loader, "clock": clock, **whole.figures(), "recent": recent.figures(), "not_judged": few}

    def _count(self, sums: _Sums, steps: Steps) -> None:
        warming = max(0, WARM_UP - self._made[steps.loader])
        self._made[steps.loader] += len(steps.step_us)
        depths, idle_us = _column(steps.queue_depth, steps), _column(steps.gpu_idle_us, steps)
        rows = zip(steps.step_us, steps.data_wait_us, depths, idle_us, strict=True)
        for step_us, wait_us, depth, idle in list(rows)[warming:]:
            if step_us is not None:
                sums.count(step_us, wait_us, depth, idle)


def _column(values: Sequence[int | None] | None, steps: Steps) -> Sequence[int | None]:
    return [None] * len(steps.step_us) if values is None else values
