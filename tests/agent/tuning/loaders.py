"""Trainings with loaders whose queues, workers and hosts are simulated, on a clock moved by hand: what the search keeps
of them, beside the fastest setting there is.

Unlike ``training_loop``, steps follow from loads: queues fill and empty, batches come in order, single samples take
long. ``python -m tests.agent.tuning.loaders`` prints how close the search comes in many of them.
"""

from __future__ import annotations

import math
import random
import statistics
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from underfed.exchange.tuning import Proposed
from underfed.trainer.tuning.allowance import MOST_LOST, MOST_STAKED
from underfed.trainer.tuning.candidates import plain_candidates
from underfed.trainer.tuning.conductor import SECOND, Conductor, Order, steps_for_trials
from underfed.trainer.tuning.loader_setting import LoaderSetting

MS = 1_000_000
CORES = 2
BYTES_OF_HUGE = 24_000_000
JUDGED_STEPS = 45
"""From when the service's candidates are there."""

STATIC = [LoaderSetting(0)] + [LoaderSetting(count, factor) for count in (1, 2, 3, 4) for factor in (2, 8)]
STEPS = 9_000
"""Of a training, as far as that is known: 2 % of them are for trials."""


@dataclass(frozen=True, slots=True)
class Program:
    """Milliseconds of a batch and of a step."""

    cpu: float = 0.5
    """Of loading, on a core."""
    sleep: float = 0.0
    """Of loading, waiting."""
    work: float = 12.0
    work_cpu: float = 0.0
    """Of the step's work, on a core."""
    tail_chance: float = 0.0
    tail: float = 0.0
    """What some batches take more."""
    send: float = 0.4
    """By a worker."""
    receive: float = 0.2
    noise: float = 0.04
    batch_bytes: int = 10_000
    pass_steps: int | None = None
    fork: float = 40.0
    """Of a worker's start, half of which the training waits for."""
    drift: float = 0.0
    """Of the host: the standard deviation of a logarithm, for episodes of three seconds."""
    crowded: float = 1.0
    """Times as long as later takes what is on a core in the first four seconds."""


PROGRAMS = {
    "decode": Program(cpu=34),
    "storage": Program(sleep=32),
    "mixed": Program(cpu=10, sleep=12),
    "heavy tail": Program(sleep=8, tail_chance=0.05, tail=112),
    "tiny": Program(cpu=6, send=2.5, receive=1.5),
    "huge": Program(cpu=9, send=12, receive=7, noise=0.1, batch_bytes=BYTES_OF_HUGE),
    "slow collate": Program(cpu=21, sleep=4),
    "compute-bound": Program(cpu=4, work=25),
    "host-heavy": Program(cpu=16, work=14, work_cpu=10),
}


@dataclass(slots=True)
class Queue:
    """What loads under one setting: when each batch that is asked for is there."""

    setting: LoaderSetting
    training: Training
    free_ns: list[float]
    """When each worker is."""
    due_ns: deque[float] = field(default_factory=deque)
    asked: int = 0

    def fill(self, now_ns: float) -> None:
        while len(self.due_ns) < self.setting.capacity:
            self.ask(now_ns)

    def ask(self, now_ns: float) -> None:
        worker = self.asked % self.setting.num_workers
        self.free_ns[worker] = max(self.free_ns[worker], now_ns) + self.training.load_ns(self.setting, now_ns)
        self.due_ns.append(self.free_ns[worker])
        self.asked += 1


@dataclass(slots=True)
class Training:
    program: Program
    setting: LoaderSetting
    random: random.Random
    candidates: list[dict[str, Any]] = field(default_factory=list)
    most_steps: int | None = None
    now_ns: int = SECOND
    step: int = 0
    conductor: Conductor = field(init=False)
    _queue: Queue = field(init=False)
    _next: Queue | None = None
    _skip: int = 0
    """Steps of a start, which the conductor does not see."""
    _measured: LoaderSetting = field(init=False)
    _known: set[LoaderSetting] = field(default_factory=set)
    """Whose workers run."""
    _waited_ns: int = 0
    _host: float = 1.0
    _host_until_ns: float = 0.0
    _left_of_pass: int = 0
    _passes: int = 0

    def __post_init__(self) -> None:
        self._measured = self.setting
        self._left_of_pass = self.program.pass_steps or 0
        self._begin(self.setting)
        self.conductor = Conductor(
            self.setting,
            self.most_steps or steps_for_trials(None, self.program.pass_steps or STEPS),
            {},
            False,
            proposed=self._proposed,
            plain=lambda setting, step, wait: plain_candidates(setting, step, wait, CORES),
            why_no_room=lambda _: None,
            changed=lambda: None,
            concluded=lambda: None,
            left_steps=self._left_steps,
            left_of_pass=lambda: self._left_of_pass if self.program.pass_steps is not None else None,
            starting=lambda: self._skip,
            pass_steps=lambda: self.program.pass_steps,
            ahead=lambda: sum(due <= self.now_ns for due in self._queue.due_ns),
            batch_bytes=lambda: self.program.batch_bytes,
            is_limited=self.most_steps is None,
            fork_ns=self._fork_ns,
        )

    def tune(self) -> LoaderSetting:
        """Until it keeps something, or for long. Returns what it keeps."""
        while not self._is_over and self.step < STEPS // 2:
            self.train(1)
        return self.conductor.setting

    @property
    def _is_over(self) -> bool:
        return bool(self.conductor.searches) and not self.conductor.is_searching

    def train(self, steps: int, *, is_tuned: bool = True) -> None:
        for _ in range(steps):
            if self.program.pass_steps is not None and not self._left_of_pass:
                self._begin_pass()
            if is_tuned:
                self._request()
            self._take()

    # What the program does

    def _take(self) -> None:
        """A batch, and the work of its step."""
        began, program = self.now_ns, self.program
        if self._next is not None and not self._queue.due_ns:
            self._queue, self._next = self._next, None
            self.setting, self._skip = self._queue.setting, self._queue.setting.capacity + 1
        if self.setting.num_workers:
            self.now_ns = round(max(self.now_ns, self._queue.due_ns.popleft()) + program.receive * self._pace() * MS)
            ends = program.pass_steps is not None and self._left_of_pass <= self.setting.capacity
            if self._next is None and not ends:
                self._queue.ask(began)
        else:
            self.now_ns += round(self.load_ns(self.setting, self.now_ns))
        self._waited_ns = self.now_ns - began
        work = program.work - program.work_cpu + program.work_cpu * self._pace()
        self.now_ns += round(work * self._noise() * MS)
        self.step += 1
        self._left_of_pass -= 1

    def load_ns(self, setting: LoaderSetting, now_ns: float) -> float:
        program, workers = self.program, setting.num_workers
        on_core = program.cpu + (program.send if workers else 0.0)
        crowded = 1.0
        if workers:
            share = on_core / (on_core + program.sleep + program.tail_chance * program.tail)
            wanted = workers * share + program.work_cpu / program.work
            crowded = max(1.0, wanted / CORES) * (1 + 0.02 * max(0, workers - CORES))
        tail = program.tail if program.tail_chance and self.random.random() < program.tail_chance else 0.0
        return (on_core * crowded * self._pace() * self._noise() + program.sleep * self._noise() + tail) * MS

    def _noise(self) -> float:
        return math.exp(self.random.gauss(0, self.program.noise))

    def _pace(self) -> float:
        """Times as long as usual takes what is on a core."""
        if self.now_ns < 5 * SECOND:
            return self.program.crowded
        if self.program.drift and self.now_ns > self._host_until_ns:
            self._host_until_ns = self.now_ns + self.random.expovariate(1 / 3) * SECOND
            self._host = math.exp(abs(self.random.gauss(0, self.program.drift)))
        return self._host

    def _begin(self, setting: LoaderSetting) -> None:
        self.setting = setting
        self._queue, self._skip = self._started(setting), setting.capacity + 1

    def _started(self, setting: LoaderSetting) -> Queue:
        """Its workers start, if they do not run."""
        start_ns = 0.0 if setting in self._known else self.program.fork * MS * setting.num_workers
        self._known.add(setting)
        queue = Queue(setting, self, [self.now_ns + start_ns] * setting.num_workers)
        self.now_ns += round(start_ns / 2)
        queue.fill(self.now_ns)
        return queue

    # What the tuner does

    def _request(self) -> None:
        if self._skip:
            self._skip -= 1
            if not self._skip and self._next is None:
                self._begin_measuring()
        if self._skip or self._next is not None:
            return
        order: Order | None = self.conductor.again()
        if self.conductor.setting == self.setting:
            self._begin_measuring()
            self.conductor.pass_measured(self.now_ns, self._steps_of_pass)
            order = self.conductor.request(self.now_ns, self._waited_ns, self.step)
        if order is None:
            return
        self._known &= {order.setting, order.keep, self.setting}
        if order.setting != self.setting:
            self._next = self._started(order.setting)

    def _begin_measuring(self) -> None:
        if self.conductor.setting == self.setting != self._measured:
            self._measured = self.setting
            self.conductor.taken_over(self.now_ns, self.step)

    @property
    def _steps_of_pass(self) -> int:
        return self.step if self.program.pass_steps is None else self.program.pass_steps - self._left_of_pass

    def _begin_pass(self) -> None:
        ended_ns = self.now_ns
        self.now_ns += 5 * MS * self.setting.num_workers
        if self.conductor.setting == self.setting:
            self.conductor.pass_ended(self.now_ns - ended_ns)
        self._next, self._left_of_pass = None, self.program.pass_steps or 0
        self._passes += 1
        self._known.clear()
        self.conductor.pass_began(self.now_ns, ended_ns)
        self._begin(self.conductor.setting)

    def _fork_ns(self) -> int:
        """Of a process that ends at once."""
        took_ns = round(self.program.fork * MS / 2)
        self.now_ns += took_ns
        return took_ns

    def _left_steps(self) -> int:
        if self.program.pass_steps is None:
            return STEPS - self.step
        return self._left_of_pass + self.program.pass_steps * self._passes

    def _proposed(self) -> Proposed | None:
        if self.step < JUDGED_STEPS:
            return None
        return Proposed(self.conductor.setting.settings(), self.candidates, None)


@cache
def step_ms(program: Program, setting: LoaderSetting) -> float:
    """On a host that does not change."""
    training = Training(program, setting, random.Random(7))
    training.train(200, is_tuned=False)
    began_ns = training.now_ns
    training.train(2500, is_tuned=False)
    return (training.now_ns - began_ns) / 2500 / MS


def fastest_ms(program: Program) -> float:
    return min(step_ms(program, each) for each in STATIC)


def starts(program: Program) -> list[LoaderSetting]:
    """The slowest, torch's default, and a long queue of one worker."""
    worst = max(STATIC, key=lambda each: step_ms(program, each))
    return list(dict.fromkeys((worst, LoaderSetting(0), LoaderSetting(1, 8))))


def proposals(program: Program, present: LoaderSetting, choose: random.Random) -> list[dict[str, Any]]:
    """As the service has them: the best by a simulation that errs, what lies beside it, and no workers."""
    factor, now = present.prefetch_factor or 2, step_ms(program, present)
    error = {count: choose.uniform(0.93, 1.08) for count in range(5)}
    same = [LoaderSetting(count, factor if count else None) for count in range(5)]
    speeds = {each: now / step_ms(program, each) * error[each.num_workers] for each in same}
    best = min((each for each in same if speeds[each] >= 0.98 * max(speeds.values())), key=lambda each: each.cost)
    wanted = [best, *(each for each in same if abs(each.num_workers - best.num_workers) == 1 and each.num_workers)]
    if best.num_workers:
        longer = LoaderSetting(best.num_workers, 2 * factor)
        speeds[longer] = now / step_ms(program, longer) * error[longer.num_workers]
        wanted.append(longer)
    wanted += [each for each in same if not each.num_workers and speeds[each] >= 1.0]
    found = [each for each in dict.fromkeys(wanted) if each != present and 1.1 * speeds[each] >= 1.05]
    return [_proposal(each, speeds[each]) for each in sorted(found, key=lambda each: -speeds[each])]


def _proposal(setting: LoaderSetting, speed: float) -> dict[str, Any]:
    names = {"num_workers": setting.num_workers, "prefetch_factor": setting.prefetch_factor}
    settings = {name: value for name, value in names.items() if value is not None}
    return {"settings": settings, "predicted_speedup": speed, "low": 0.85 * speed, "high": 1.15 * speed}


def tuned(program: Program, start: LoaderSetting, seed: int, most_steps: int | None = None) -> Training:
    quiet = next(
        (each for each in PROGRAMS.values() if each.sleep == program.sleep and each.cpu == program.cpu), program
    )
    candidates = proposals(quiet, start, random.Random(7 * seed + 1))
    training = Training(program, start, random.Random(seed), candidates, most_steps)
    training.tune()
    return training


SHORT = [
    Program(cpu=cpu * load, sleep=(1 - cpu) * load, work=load / 3, pass_steps=steps, fork=fork, noise=0.08)
    for load in (10.0, 20.0, 40.0)
    for cpu in (0, 1)
    for steps in (20, 40, 60)
    for fork in (25.0, 60.0)
]
"""Three quarters of their time they wait, and passes are short: each of them starts workers."""


@dataclass(frozen=True, slots=True)
class Whole:
    """Milliseconds of a run with many short passes."""

    tuned: float
    untuned: float
    best: float
    """Of the fastest setting, from the beginning on."""
    is_kept: bool


CROWDED = [
    Program(
        cpu=load, send=load, work=load / 3, work_cpu=load / 3, receive=load / 3, pass_steps=steps, fork=fork, noise=0.08
    )
    for load in (5.0, 20.0, 40.0)
    for steps in (20, 40, 60)
    for fork in (25.0, 60.0)
]
"""Workers gain nothing: handing over a batch takes as long as loading it, on the same cores."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Milliseconds of a run that kept nothing, all that it tried being slower than was predicted."""

    untuned: float
    truly: float
    reported: float
    promised: float
    """At most: 2 % of the run, and a tenth of its wait."""


def lost_in(program: Program, passes: int, seed: int) -> Lost | None:
    """``None``: something was kept."""
    first, steps = LoaderSetting(0), passes * (program.pass_steps or STEPS)
    wrong = [_proposal(LoaderSetting(count, 2), 2.0 - 0.1 * count) for count in (1, 3, 4)]
    training, untuned = (Training(program, first, random.Random(seed), wrong) for _ in range(2))
    training.train(steps)
    untuned.train(steps, is_tuned=False)
    if training.conductor.setting != first:
        return None
    took = (untuned.now_ns - SECOND) / MS
    promised = MOST_LOST * took + MOST_STAKED * (took - steps * program.work)
    return Lost(took, (training.now_ns - untuned.now_ns) / MS, training.conductor.lost_ns / MS, promised)


def whole(program: Program, passes: int, seed: int) -> Whole:
    first, steps = LoaderSetting(0), passes * (program.pass_steps or STEPS)
    quiet = replace(program, drift=0.0)
    alone = {each: run_ms(quiet, each, passes) for each in STATIC if each.capacity <= steps // passes // 2}
    training = Training(program, first, random.Random(seed), _of_runs(alone, first, random.Random(7 * seed + 1)))
    began_ns = training.now_ns
    training.train(steps)
    tuned = (training.now_ns - began_ns) / MS
    untuned = Training(program, first, random.Random(seed))
    untuned.train(steps, is_tuned=False)
    return Whole(tuned, (untuned.now_ns - SECOND) / MS, min(alone.values()), training.conductor.setting != first)


@cache
def run_ms(program: Program, setting: LoaderSetting, passes: int) -> float:
    training = Training(program, setting, random.Random(7))
    training.train(passes * (program.pass_steps or STEPS), is_tuned=False)
    return (training.now_ns - SECOND) / MS


def _of_runs(alone: dict[LoaderSetting, float], first: LoaderSetting, choose: random.Random) -> list[dict[str, Any]]:
    """Three of those that gain, as the service has them."""
    speeds = {each: alone[first] / took * choose.uniform(0.93, 1.08) for each, took in alone.items() if each != first}
    wanted = sorted((each for each in speeds if speeds[each] >= 1.05), key=lambda each: -speeds[each])
    return [_proposal(each, speeds[each]) for each in wanted[:3]]


def short_table(seeds: int) -> Iterator[str]:
    yield "passes  drift  tuned/untuned  most  tuned/best  kept where 1.2 x can be gained"
    for passes in (20, 40, 100):
        for drift in (0.0, 0.2):
            found = [whole(replace(each, drift=drift), passes, seed) for each in SHORT for seed in range(seeds)]
            shares = [each.tuned / each.untuned for each in found]
            starved = [each for each in found if each.untuned >= 1.2 * each.best]
            yield (
                f"{passes:6}  {drift:5}  {statistics.fmean(shares):13.3f}  {max(shares):4.2f}  "
                f"{statistics.fmean(each.tuned / each.best for each in found):10.3f}  "
                f"{sum(each.is_kept for each in starved)} of {len(starved)}"
            )


def table(seeds: int) -> Iterator[str]:
    yield "host                  speed/best mean  least  within 5 %  slower than before"
    hosts: dict[str, dict[str, float]] = {
        "quiet": {},
        "changes by 30 %": {"drift": 0.3},
        "crowded at first": {"crowded": 2.0},
    }
    for name, host in hosts.items():
        shares, slower = [], 0
        for program in PROGRAMS.values():
            there = Program(**{**{each: getattr(program, each) for each in Program.__slots__}, **host})
            for start in starts(program):
                for seed in range(seeds):
                    kept = step_ms(program, tuned(there, start, seed).conductor.setting)
                    shares.append(fastest_ms(program) / kept)
                    slower += kept > 1.02 * step_ms(program, start)
        within = sum(each >= 0.95 for each in shares) / len(shares)
        mean, least = statistics.fmean(shares), min(shares)
        yield f"{name:20}  {mean:15.3f}  {least:5.2f}  {within:9.0%}  {slower} of {len(shares)}"


if __name__ == "__main__":
    print(*table(10), *short_table(2), sep="\n")
