"""A discrete-event clock with a shared processor: tasks compute, sleep or wait for a queue.

Busy tasks share ``cores`` equally, as the Linux scheduler does over a batch; a task never runs faster than one
core. ``slowdown(n)`` is how much longer the same work takes with ``n`` cores busy (hyperthreads, caches, clock): a
batch that costs 11 ms of CPU alone cost 20 ms beside a busy sibling hyperthread (own study), so a prediction needs that
curve. It is measured on the host before training starts; where it was not, the span of what machines do takes its place
and widens the interval.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush, heapreplace
from typing import Any, final

Slowdown = Callable[[float], float]

NEVER = float("inf")

WAKE_US = 1_000.0
"""Until a task that slept gets a core while all are busy: a good part of the scheduler's slice of 3 ms."""

EVENTS = 32
"""Between two looks whether all is done."""

WORST_FULL = 1.8
"""All cores busy against one, where two hyperthreads share a core (own study, 1.77–1.8)."""

LIKELY_FULL = 1.15
"""Between whole cores (1.0) and hyperthreads, when nothing is known."""


class Queue:
    """First in, first out; one task waits at a time, as each DataLoader queue has one reader."""

    __slots__ = ("items", "reader")

    def __init__(self) -> None:
        self.items: deque[int] = deque()
        self.reader: Task | None = None


# Microseconds are numbers, not fields of records: tens of thousands are made in each simulation, at half the cost.
class Compute(float):
    """So many microseconds of CPU."""

    __slots__ = ()


class Sleep(float):
    """So many microseconds."""

    __slots__ = ()


class Read(float):
    """Blocked for so many microseconds on storage that no other task reads from."""

    __slots__ = ()


@final
@dataclass(slots=True)
class Take:
    queue: Queue


Request = Compute | Sleep | Read | Take
Task = Generator[Request, Any, None]


@dataclass(slots=True)
class Processor:
    """Runs tasks until ``is_done``. Times in microseconds from 0."""

    cores: float
    slowdown: Slowdown
    others: float = 0.0
    """Always-busy tasks of other jobs, which get their share."""
    readers: float = NEVER
    """Tasks that storage serves at once as fast as one: more of them share what these get."""
    company: Slowdown = field(default=lambda _busy: 1.0)
    """Of loading alone, beyond ``slowdown``."""
    now: float = 0.0
    worked: float = 0.0
    """CPU work that a task would have done that was busy since the start: all busy ones do as much in a time."""
    busy: list[tuple[float, int, Task]] = field(default_factory=list)
    """``(done when so much is worked, order, task)``."""
    asleep: list[tuple[float, int, Task, bool]] = field(default_factory=list)
    """``(until, order, task, whether it has found all cores busy already)``."""
    read: float = 0.0
    """As ``worked``, of a task that was reading since the start."""
    reading: list[tuple[float, int, Task]] = field(default_factory=list)
    count: int = 0
    delayed: float = 0.0
    """As ``worked``: how much longer loading would have taken that was busy since the start, for its company."""
    paces: dict[int, tuple[float, float]] = field(default_factory=dict)

    def start(self, task: Task) -> None:
        self.resume(task, None)

    def put(self, queue: Queue, item: int) -> None:
        reader = queue.reader
        if reader is None:
            queue.items.append(item)
        else:
            queue.reader = None
            self.resume(reader, item)

    def resume(self, task: Task, value: int | None) -> None:
        """Run a task until it computes, sleeps, waits or ends."""
        while True:
            try:
                request = task.send(value)
            except StopIteration:
                return
            value = None
            # By class, not isinstance: this runs ten thousand times in a simulation.
            if type(request) is Take:
                if not request.queue.items:
                    request.queue.reader = task
                    return
                value = request.queue.items.popleft()
            elif request > 0.0:
                self.count += 1
                if type(request) is Compute:
                    heappush(self.busy, (self.worked + request, self.count, task))
                elif type(request) is Sleep or self.readers == NEVER:
                    heappush(self.asleep, (self.now + request, self.count, task, False))
                else:
                    heappush(self.reading, (self.read + request, self.count, task))
                return

    def pace(self) -> tuple[float, float]:
        """CPU work that each busy task gets done per unit of time, and of each unit of loading the delay for the
        company that it has now."""
        count = len(self.busy)
        if count not in self.paces:
            tasks = count + self.others
            busy = min(tasks, self.cores)
            rate = min(1.0, self.cores / tasks) / self.slowdown(busy)
            self.paces[count] = rate, self.company(busy) - 1.0
        return self.paces[count]

    def run(self, is_done: Callable[[], bool]) -> None:
        while not is_done():
            self._pass(EVENTS)

    def _pass(self, events: int) -> None:
        """So many events. All in one function: calls would be half of the time that a simulation takes."""
        busy, asleep, reading, paces = self.busy, self.asleep, self.reading, self.paces
        now, worked, delayed, read = self.now, self.worked, self.delayed, self.read
        for _ in range(events):
            until_cpu = until_wake = until_read = NEVER
            rate = delay = share = 1.0
            if asleep:
                until_wake = asleep[0][0] - now
            if busy:
                rate, delay = paces.get(len(busy)) or self.pace()
                until_cpu = (busy[0][0] - worked) / rate
            if reading:
                share = min(1.0, self.readers / len(reading))
                until_read = max(0.0, (reading[0][0] - read) / share)
            # What is due already, by a rounding error, is due now.
            until_cpu = until_cpu if until_cpu > 0.0 else 0.0
            passed = until_cpu if until_cpu < until_wake else until_wake if until_wake > 0.0 else 0.0
            passed = until_read if until_read < passed else passed
            if passed == NEVER:
                raise RuntimeError("every task waits for a queue: the simulated loader is stuck")
            self.now = now = now + passed
            if busy:
                work = passed * rate
                self.worked = worked = worked + work
                self.delayed = delayed = delayed + work * delay
            self.read = read = read + passed * share
            if until_cpu == passed:
                self.resume(heappop(busy)[2], None)
            elif until_read == passed:
                self._end_read()
            elif asleep[0][3] or len(busy) + self.others < self.cores:
                self.resume(heappop(asleep)[2], None)
            else:
                self.count += 1
                heapreplace(asleep, (now + WAKE_US, self.count, asleep[0][2], True))

    def _end_read(self) -> None:
        """The task goes on with the next event that is due now."""
        self.count += 1
        heappush(self.asleep, (self.now, self.count, heappop(self.reading)[2], False))


def curve_through(points: Sequence[tuple[float, float]], recorded_cores: float) -> Slowdown:
    """Piecewise linear through measured ``(busy cores, factor)``, 1.0 at the concurrency of the recorded run."""
    ordered = sorted(points)
    at_recording = _interpolate(ordered, recorded_cores)
    return lambda busy: _interpolate(ordered, busy) / at_recording


def assumed_curve(usable_cores: float, full: float, recorded_cores: float) -> Slowdown:
    """Flat up to half the cores (one hyperthread each), then rising to ``full`` with all of them busy."""
    points = [(0.0, 1.0), (max(1.0, usable_cores / 2), 1.0), (max(1.0, usable_cores) + 1e-9, full)]
    return curve_through(points, recorded_cores)


def _interpolate(points: Sequence[tuple[float, float]], busy: float) -> float:
    position = bisect_left([cores for cores, _ in points], busy)
    if position == 0:
        return points[0][1]
    if position == len(points):
        return points[-1][1]
    (left, low), (right, high) = points[position - 1], points[position]
    return low + (high - low) * (busy - left) / (right - left)
