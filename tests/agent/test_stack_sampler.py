"""Functions, files and lines that a worker's loading thread executes are reported, and the program notices nothing."""

from __future__ import annotations

import gc
import inspect
import itertools
import re
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from operator import attrgetter
from pathlib import Path
from threading import get_ident
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset

import underfed
from tests.fakes.service import Service, wait_until
from underfed.errors import ConfigError
from underfed.exchange.guard import Guard
from underfed.host.clock import now_ns
from underfed.trainer.loading.batch_timer import BatchTimer
from underfed.trainer.loading.bursts import LATE_NS, LOOK_NS, SWITCH_US, WAKES, Bursts, is_burst
from underfed.trainer.loading.caught_stack import caught_after
from underfed.trainer.loading.collate import CollateTimer
from underfed.trainer.loading.frame_names import FrameNames
from underfed.trainer.loading.instructions import line_at
from underfed.trainer.loading.loading_thread import LoadingThread, within_fetcher
from underfed.trainer.loading.probe import Probe
from underfed.trainer.loading.seen_code import MOST_FRAMES, SeenCode, named
from underfed.trainer.loading.stack_sampler import StackSampler

S = 1_000_000_000
HERE = "tests/agent/test_stack_sampler.py"


@pytest.fixture
def bursts_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERFED_STACKS", "always")


Shares = dict[str, float]


def shares(service: Service) -> dict[tuple[str, str, int | None, str], float]:
    """Of all samples of the run's loader, by function, file, line and stage of any frame."""
    stacks = [each for window in list(service.windows) for each in window.get("stacks", [])]
    if not stacks:
        return {}
    newest = stacks[-1]
    total = sum(sum(stack["samples"]) for stack in newest["stacks"])
    found: dict[tuple[str, str, int | None, str], float] = {}
    for stack in newest["stacks"]:
        for place in set(stack["frames"]):
            frame = newest["frames"][place]
            key = frame["function"], frame["file"], frame.get("line"), stack["stage"]
            found[key] = found.get(key, 0.0) + sum(stack["samples"]) / total
    return found


def names(service: Service) -> set[tuple[str, str]]:
    """Functions and their stages."""
    return {(function, stage) for function, _, _, stage in shares(service)}


def unsure(service: Service) -> set[str]:
    """Functions that are reported with the lines among which their time was spent."""
    frames = [
        frame for window in list(service.windows) for each in window.get("stacks", []) for frame in each["frames"]
    ]
    return {frame["function"] for frame in frames if frame.get("first_line") is not None}


def load_until(service: Service, loader: DataLoader[Any], is_enough: Callable[[], bool]) -> None:
    """Iterate, epoch after epoch, until it was seen."""
    watched = underfed.watch(loader, name="train")
    deadline = time.monotonic() + 120
    while not is_enough():
        for _ in watched:
            if is_enough():
                break
        assert time.monotonic() < deadline, names(service)
    underfed.finish()
    wait_until(service.ends, "the end arrives")


class Photos(Dataset[Tensor]):
    """Spends its time in a library's function in C, a library's method in Python, and lines of its own."""

    def __init__(self) -> None:
        self.image = Image.fromarray(np.zeros((256, 256, 3), np.uint8))

    def __len__(self) -> int:
        return 10_000

    def __getitem__(self, index: int) -> Tensor:
        image = self.image.resize((512, 512), Image.Resampling.BICUBIC)
        pixels = np.asarray(image).astype(np.float32)
        counted = self.count()
        return torch.from_numpy(pixels * counted)

    def count(self) -> int:
        total = 0
        for number in range(40_000):
            total = (total * 31 + number) & 0xFFFF
        return total


class Rows(IterableDataset[Tensor]):
    def __iter__(self) -> Iterator[Tensor]:
        while True:
            yield self.parsed()

    def parsed(self) -> Tensor:
        time.sleep(0.003)
        return torch.zeros(1)


def slow_collate(samples: list[Tensor]) -> Tensor:
    time.sleep(0.02)
    return torch.stack(samples)


@pytest.mark.usefixtures("bursts_always")
def test_own_and_library_functions_are_named(service: Service) -> None:
    wanted = {"Photos.__getitem__", "Photos.count", "Image.resize"}
    if sys.version_info < (3, 11):
        wanted = {"__getitem__", "count", "resize"}
    wanted_stages = {(name, "getitem") for name in wanted}
    count = "Photos.count" if sys.version_info >= (3, 11) else "count"
    load_until(
        service,
        DataLoader(Photos(), batch_size=4, num_workers=2),
        lambda: wanted_stages <= names(service) and count in unsure(service),
    )
    files = {file for _, file, _, _ in shares(service)}
    assert {HERE, "PIL/Image.py"} <= files
    assert [file for file in files if file.startswith("/")] == []
    lines = {line for function, _, line, _ in shares(service) if function.endswith("__getitem__")}
    first = Photos.__getitem__.__code__.co_firstlineno
    assert lines <= set(range(first, first + 5))
    # Torch's loop and fetcher are around all loading, and say nothing.
    within = {name for name, stage in names(service) if stage == "getitem"}
    assert within & {"fetch", "_worker_loop", "run_worker", "timed_get"} == set()
    (picture,) = [each for window in service.windows for each in window.get("stacks", [])][-1]["picture_sizes"]
    assert picture.pop("count") > 0
    assert picture == {"decoded_width": 256, "decoded_height": 256, "used_width": 512, "used_height": 512}


@pytest.mark.usefixtures("bursts_always")
def test_collating_is_distinguished_from_loading(service: Service) -> None:
    loader = DataLoader(Rows(), batch_size=4, num_workers=1, collate_fn=slow_collate)
    load_until(service, loader, lambda: {("slow_collate", "collate"), ("time.sleep", "getitem")} <= names(service))
    assert {stage for name, stage in names(service) if name == "slow_collate"} == {"collate"}


class Waiting(Dataset[Tensor]):
    """One of its samples takes long, and has a file open."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __len__(self) -> int:
        return 400

    def __getitem__(self, index: int) -> Tensor:
        with self.path.open() if index == 133 else Path(sys.executable).open("rb"):
            time.sleep(0.4 if index == 133 else 0.001)
        return torch.zeros(1)


@pytest.mark.skipif(sys.platform != "linux", reason="open files are seen in /proc")
def test_the_slowest_sample_is_reported_with_its_file(service: Service, tmp_path: Path) -> None:
    path = tmp_path / "0481.dcm"
    path.touch()

    def slowest() -> list[dict[str, Any]]:
        stacks = [each for window in list(service.windows) for each in window.get("stacks", [])]
        return [
            sample
            for each in stacks
            for sample in each["slow_samples"]
            if sample.get("index") == 133 and "file" in sample
        ]

    load_until(service, DataLoader(Waiting(path), batch_size=8, num_workers=2), lambda: bool(slowest()))
    found = slowest()[-1]
    assert found["load_us"] > 300_000
    assert found["file"] == str(path)


def test_it_can_be_switched_off_and_that_is_said(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERFED_STACKS", "0")
    loader = DataLoader(Rows(), batch_size=2, num_workers=1)
    for _ in zip(underfed.watch(loader, name="train"), range(20), strict=False):
        pass
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    assert not shares(service)
    (run,) = [window["run"] for window in service.windows if "run" in window][:1]
    assert run["not_measured"]["hotspots"] == "switched off by UNDERFED_STACKS=0"


def test_a_value_that_means_nothing_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERFED_STACKS", "no")
    with pytest.raises(ConfigError, match="UNDERFED_STACKS"):
        underfed.watch(DataLoader(Rows()), name="train")


def test_bursts_are_short_and_the_first_are_early() -> None:
    ages = range(0, 220 * S, S // 100)
    for worker in range(7):
        early = [is_burst(age, worker) for age in ages if age < 40 * S]
        later = [is_burst(age, worker) for age in ages if age >= 40 * S]
        assert sum(early) / len(early) == pytest.approx(0.125, abs=0.01)
        assert sum(later) / len(later) == pytest.approx(0.05, abs=0.01)
    assert is_burst(0, 0)
    together = [sum(is_burst(age, worker) for worker in range(8)) for age in ages if age >= 40 * S]
    assert max(together) <= 1, "eight workers take turns"


def test_bursts_fall_into_no_step_with_what_they_look_at() -> None:
    """Loading that does the same in every second, or every five."""
    for period in (S, 5 * S):
        seen = [age % period / period for age in range(0, 400 * S, S // 100) if is_burst(age, 0)]
        parts = [sum(part / 4 <= each < (part + 1) / 4 for each in seen) / len(seen) for part in range(4)]
        assert parts == pytest.approx([0.25] * 4, abs=0.06), period


def test_what_keeps_the_lock_through_bursts_counts_for_all_their_looks() -> None:
    """However long it does, and whether or not one was on when it began."""
    bursts = Bursts(0)
    for duration_s, at_s in itertools.product((0.3, 3, 60), (45.0, 47.3, 48.9)):
        due, looked = round(at_s * S), round((at_s + duration_s) * S)
        on = sum(is_burst(at, 0) for at in range(due, looked, S // 1000)) / 1000
        assert bursts.looks(due, looked) == pytest.approx(on * 100, abs=2)
    assert bursts.looks(27 * S, 27 * S + 1_000) == 0, "between bursts"
    always = Bursts(0, is_always=True)
    parts = [always.looks(at * LOOK_NS // 2, (at + 1) * LOOK_NS // 2 - 1) for at in range(160)]
    assert set(parts) == {0, 1}
    assert sum(parts) == 80, "one is due in each pause, in one half or the other"
    assert bursts.hands_over(90 * S), "though nobody looked while a burst was on"
    assert not bursts.hands_over(91 * S), "nothing is new"
    bursts.looks(91 * S, 99 * S)
    assert [at_s for at_s in range(99, 120) if bursts.hands_over(at_s * S)] == [110], "four periods later"


def test_a_look_that_came_late_counts_for_what_keeps_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """It waited once, without a core, until the thread went to sleep; what it finds began after it was due."""
    bursts, blocked = Bursts(0, is_always=True), 0
    monkeypatch.setattr("underfed.trainer.loading.bursts.times_blocked", lambda: blocked)

    def looks(waits: int, after_ns: int) -> int:
        """Of a turn in which one is due."""
        nonlocal blocked

        def wait(*_: Any) -> tuple[list[Any], None]:
            nonlocal blocked
            blocked += 1 + waits
            return [], None

        monkeypatch.setattr("underfed.trainer.loading.bursts.caught_after", wait)
        due_ns, _, _ = bursts.sleep(get_ident())
        return bursts.looks(due_ns, due_ns + after_ns)

    monkeypatch.setattr("underfed.trainer.loading.bursts.now_ns", lambda: 20 * LOOK_NS)
    in_time, late = LATE_NS // 2, 2 * LATE_NS
    assert [looks(0, in_time), looks(1, in_time), looks(2, in_time)] == [1, 1, 1]
    assert [looks(1, late), looks(0, in_time), looks(1, late), looks(1, in_time), looks(2, in_time)] == [0, 1, 0, 3, 1]
    assert [looks(1, late), looks(2, late), looks(0, late), looks(2, late)] == [0, 2, 1, 1], (
        "it asked, or had not to wait"
    )


@contextmanager
def standing(act: Callable[[threading.Event, threading.Event], None]) -> Iterator[int]:
    """A thread that has called ``act``, which waits within it. Its identity."""
    there, go = threading.Event(), threading.Event()
    thread = threading.Thread(target=act, args=(there, go))
    thread.start()
    assert there.wait(10)
    yield thread.ident or 0
    go.set()
    thread.join()


def sampler(tmp_path: Path) -> tuple[StackSampler, SeenCode]:
    code = SeenCode(tmp_path / "loader-0.0.0.stacks")
    timer = BatchTimer(ring=None, collate=CollateTimer(Probe()))  # type: ignore[arg-type]
    return StackSampler(LoadingThread(timer, code, worker=0), Bursts(0), Guard()), code


NUMBERS = list(range(100_000, 0, -1))


def seen_of(ident: int) -> list[str]:
    """Functions, the outermost first."""
    _, places = within_fetcher(caught_after(0.0, ident, bool)[0], "", "")
    return [each.function for each in named(places, FrameNames())]


def test_a_stack_is_caught_whole_while_its_thread_asks_for_the_lock_back(tmp_path: Path) -> None:
    """Between sleeping and reading it there is no instruction at which the thread would have it."""

    def act(there: threading.Event, go: threading.Event) -> None:
        there.set()
        while not go.is_set():
            sorted(NUMBERS)

    before_s = sys.getswitchinterval()
    with standing(act) as ident:
        try:
            sys.setswitchinterval(1e-6)
            caught = [caught_after(0.001, ident, bool)[0] for _ in range(50)]
        finally:
            sys.setswitchinterval(before_s)
    whole = [[code.co_name for _, (code, _) in stack][::-1] for stack in caught]
    assert all(names[0] == "_bootstrap" and "act" in names for names in whole)
    assert all(code is frame.f_code and at >= 0 for stack in caught for frame, (code, at) in stack)


class Noted:
    is_sorting = False


def test_what_is_noted_of_a_thread_is_read_with_its_stack() -> None:
    """Read after it, the thread would have gone on, and joining samples would be loading them."""
    noted = Noted()

    def act(there: threading.Event, go: threading.Event) -> None:
        there.set()
        while not go.is_set():
            noted.is_sorting = True
            sorted(NUMBERS)
            noted.is_sorting = False
            sum(NUMBERS)

    state = partial(attrgetter("is_sorting"), noted)
    before_s = sys.getswitchinterval()
    with standing(act) as ident:
        try:
            sys.setswitchinterval(1e-6)
            caught = [caught_after(0.001, ident, state) for _ in range(100)]
        finally:
            sys.setswitchinterval(before_s)
    lines, first = inspect.getsourcelines(act)
    at = {first + number: line.strip() for number, line in enumerate(lines)}
    seen = {
        (at.get(line_at(code, last) or 0), is_sorting)
        for stack, is_sorting in caught
        for _, (code, last) in stack
        if code is act.__code__
    }
    assert ("sorted(NUMBERS)", True) in seen and ("sum(NUMBERS)", False) in seen
    assert seen.isdisjoint({("sorted(NUMBERS)", False), ("sum(NUMBERS)", True)})


@pytest.fixture
def collections(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Of garbage, since a look has slept. There is one with nearly each object that is created."""
    phases: list[str] = []

    def note(phase: str, _: object) -> None:
        phases.append(phase)

    monkeypatch.setattr("underfed.trainer.loading.caught_stack.time", SimpleNamespace(sleep=lambda _: phases.clear()))
    before = gc.get_threshold()
    gc.callbacks.append(note)
    gc.set_threshold(1, 1_000_000)
    yield phases
    gc.enable()
    gc.set_threshold(*before)
    gc.callbacks.remove(note)


@pytest.mark.parametrize("is_on", [True, False])
def test_no_garbage_is_collected_while_a_stack_is_read(is_on: bool, collections: list[str]) -> None:
    """A finalizer that gives the lock to another thread would let the stack go on, or, in Python 3.11, hang both."""

    def act(there: threading.Event, go: threading.Event) -> None:
        there.set()
        go.wait()

    with standing(act) as ident:
        (gc.enable if is_on else gc.disable)()
        caught = [caught_after(0.0, ident, partial(tuple, collections)) for _ in range(20)]
        assert gc.isenabled() is is_on, "as the program has it"
    assert all(stack for stack, _ in caught)
    assert [during for _, during in caught] == [()] * 20
    assert caught_after(0.0, ident, bool) == ([], None), "the thread has ended"
    assert gc.isenabled() is is_on


def test_garbage_is_collected_again_after_an_error_in_a_look() -> None:
    with pytest.raises(ZeroDivisionError):
        caught_after(0.0, get_ident(), partial(divmod, 1, 0))
    assert gc.isenabled()


def test_a_look_keeps_no_frame_of_what_has_ended(tmp_path: Path) -> None:
    """Its values would live as long as the thread that looks, or end on that."""

    class Value:
        pass

    one, _ = sampler(tmp_path)
    held: list[weakref.ref[Value]] = []

    def act(there: threading.Event, go: threading.Event) -> None:
        value = Value()
        held.append(weakref.ref(value))
        there.set()
        go.wait()

    with standing(act) as ident:
        one.looked.ident = ident  # type: ignore[misc]
        assert one._look_once()
        assert one._lock.acquire(timeout=10), "as it is when what is looked at ends"
        assert not one._look_once()
    one.bursts.end()
    assert held[0]() is None


def test_a_thread_that_has_ended_has_no_stack() -> None:
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
    assert caught_after(0.0, thread.ident or 0, bool) == ([], None)


def deep(depth: int, there: threading.Event, go: threading.Event) -> None:
    if depth:
        deep(depth - 1, there, go)
        return
    there.set()
    go.wait()


def test_of_a_deep_stack_both_ends_are_kept() -> None:
    with standing(lambda there, go: deep(200, there, go)) as ident:
        found = seen_of(ident)
    assert len(found) == MOST_FRAMES
    assert found[0].endswith("_bootstrap")
    assert "acquire" in found[-1] or "wait" in found[-1]


def test_the_lock_is_asked_for_early_while_a_look_waits_and_not_while_it_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else the thread that is looked at would ask for it as soon, and go on before it is looked at. What the program
    sets meanwhile stays."""
    waiting_s, clock_ns = [], 0
    own_s: float | None = None
    sys.setswitchinterval(0.005)  # whatever an earlier burst has left
    before_s = sys.getswitchinterval()

    def sleep(_seconds: float) -> None:
        waiting_s.append(sys.getswitchinterval())
        if own_s is not None:
            sys.setswitchinterval(own_s)

    monkeypatch.setattr("underfed.trainer.loading.bursts.now_ns", lambda: clock_ns)
    monkeypatch.setattr("underfed.trainer.loading.bursts.time.sleep", sleep)
    bursts = Bursts(0)
    try:
        bursts.sleep(get_ident())
        assert waiting_s == [pytest.approx(SWITCH_US[0] / 1e6)]
        assert sys.getswitchinterval() == before_s
        bursts.end()
        bursts.end()
        assert sys.getswitchinterval() == before_s
        own_s = 0.002
        bursts.sleep(get_ident())
        assert sys.getswitchinterval() == pytest.approx(0.002), "the program's own, since then"
        bursts.end()
        assert sys.getswitchinterval() == pytest.approx(0.002)
    finally:
        sys.setswitchinterval(before_s)


def test_looks_are_due_whenever_the_one_before_came(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two calls in turn that keep the lock: looks come when one ends, and find each as often as it is there."""
    clock_ns, short_ns, whole_ns = 0, 6_000_000, 20_000_000

    def sleep(seconds: float) -> None:
        nonlocal clock_ns
        clock_ns += round(seconds * S)

    monkeypatch.setattr("underfed.trainer.loading.bursts.now_ns", lambda: clock_ns)
    monkeypatch.setattr("underfed.trainer.loading.bursts.time.sleep", sleep)
    bursts, found = Bursts(0, is_always=True), [0, 0]
    while clock_ns < 20 * S:
        due_ns, _, _ = bursts.sleep(get_ident())
        is_long = clock_ns % whole_ns >= short_ns
        clock_ns += (whole_ns if is_long else short_ns) - clock_ns % whole_ns
        found[is_long] += bursts.looks(due_ns, clock_ns)
    bursts.end()
    assert sum(found) == pytest.approx(20 * S * 0.9 / LOOK_NS, rel=0.02)
    assert found[0] / sum(found) == pytest.approx(short_ns / whole_ns, abs=0.02)


@pytest.mark.parametrize(("whole_ns", "part"), [(3_270_000, 0.64), (5_600_000, 0.64), (7_200_000, 0.5)])
def test_looks_fall_into_no_step_with_loading_that_they_delay(
    whole_ns: int, part: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One part of it by longer than the other."""
    clock_ns = delay_ns = found = 0

    def sleep(seconds: float) -> None:
        nonlocal clock_ns
        clock_ns += round(seconds * S)

    monkeypatch.setattr("underfed.trainer.loading.bursts.now_ns", lambda: clock_ns)
    monkeypatch.setattr("underfed.trainer.loading.bursts.time.sleep", sleep)
    bursts = Bursts(0, is_always=True)
    for _ in range(500):
        bursts.sleep(get_ident())
        is_found = (clock_ns - delay_ns) % whole_ns < part * whole_ns
        found += is_found
        delay_ns += 150_000 if is_found else 60_000
    bursts.end()
    assert found / 500 == pytest.approx(part, abs=0.06)


@pytest.mark.parametrize("of_a_look", [0.0, 0.0003, 0.0009, 0.005])
def test_looks_take_no_more_than_their_budget_and_those_that_are_left_out_count(
    of_a_look: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looks of a burst take so many seconds of a core, as beside calls that keep the lock."""
    clock_ns = taken_ns = 0

    def sleep(seconds: float) -> None:
        nonlocal clock_ns
        clock_ns += round(seconds * S)

    monkeypatch.setattr("underfed.trainer.loading.bursts.now_ns", lambda: clock_ns)
    monkeypatch.setattr("underfed.trainer.loading.bursts.time.sleep", sleep)
    monkeypatch.setattr("underfed.trainer.loading.bursts.time.thread_time_ns", lambda: taken_ns)
    bursts, looks, most = Bursts(0), 0, 0.0
    while clock_ns < 400 * S:
        due_ns, _, _ = bursts.sleep(get_ident())
        if bursts.is_on:
            taken_ns += round(of_a_look * S)
        looks += bursts.looks(due_ns, clock_ns)
        if clock_ns > 20 * S:
            most = max(most, taken_ns / clock_ns)
    bursts.end()
    assert most < 0.0085, "a burst more than the two-hundredth, at most"
    assert taken_ns / clock_ns < 0.0055
    assert looks == pytest.approx((5 * 100) + (360 * 5), rel=0.1), "an eighth of 40 s, and a twentieth of the rest"


def test_the_lock_is_asked_for_later_where_looks_wake_up_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that keeps it for long must not have the thread that looks wake up all the while."""
    blocked, each = 0, WAKES[1] + 2

    def times_blocked() -> int:
        nonlocal blocked
        blocked += each
        return blocked

    waiting_s = 0.0

    def sleep(_seconds: float) -> None:
        nonlocal waiting_s
        waiting_s = sys.getswitchinterval()

    monkeypatch.setattr("underfed.trainer.loading.bursts.times_blocked", times_blocked)
    monkeypatch.setattr("underfed.trainer.loading.bursts.time.sleep", sleep)
    before_s = sys.getswitchinterval()
    bursts = Bursts(now_ns(), is_always=True)
    try:
        for _ in range(6):
            bursts.sleep(get_ident())
        assert waiting_s == pytest.approx(SWITCH_US[1] / 1e6)
        each = 1
        for _ in range(6):
            bursts.sleep(get_ident())
        assert waiting_s == pytest.approx(SWITCH_US[0] / 1e6)
    finally:
        bursts.end()
        sys.setswitchinterval(before_s)


@pytest.mark.skipif(sys.platform != "linux", reason="read from /proc")
def test_the_thread_that_looks_takes_no_signal_of_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that all threads of the program block, to wait for it, would be delivered to ours."""
    tasks = Path("/proc/self/task")
    before = set(tasks.iterdir())
    # Not earlier: a thread begins with all signals blocked, by the C library.
    looks_next = threading.Event()
    monkeypatch.setattr("underfed.trainer.loading.stack_sampler.wake_exactly", looks_next.set)
    one, _ = sampler(tmp_path)
    one.start()
    assert looks_next.wait(30)
    (task,) = set(tasks.iterdir()) - before
    (blocked,) = re.findall(r"SigBlk:\s*(\w+)", (task / "status").read_text())
    assert int(blocked, 16) >> (signal.SIGUSR1 - 1) & 1
    one.close()


def test_what_the_collector_has_not_read_is_kept_for_later(tmp_path: Path) -> None:
    one, code = sampler(tmp_path)
    code.seen.add("getitem", (), 3, group=0)
    one.close()
    assert code.path.exists() and not code.seen
    other, code = sampler(tmp_path)
    code.seen.add("getitem", (), 4, group=0)
    other.close()
    assert {key: sum(looks) for key, looks in code.seen.samples.items()} == {("getitem", ()): 4}


class Noticing(Dataset[Tensor]):
    """Gives what a program could notice in the process that loads."""

    def __len__(self) -> int:
        return 400

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(0.002)
        handlers = [signal.getsignal(number) for number in (signal.SIGALRM, signal.SIGPROF, signal.SIGURG)]
        default = sum(handler == signal.SIG_DFL for handler in handlers)
        names = [thread.name for thread in threading.enumerate()]
        # Torch's own, which come with its first batches.
        threads = sum(not name.endswith(("MainThread", "QueueFeederThread", "(_serve)")) for name in names)
        timers = sum(map(sum, map(signal.getitimer, (signal.ITIMER_REAL, signal.ITIMER_PROF))))
        return torch.tensor([float(default), float(threads), timers, float(torch.rand(()))])


@pytest.mark.usefixtures("bursts_always")
def test_a_program_notices_nothing() -> None:
    def batches(loader: DataLoader[Tensor]) -> list[list[float]]:
        torch.manual_seed(7)
        return [batch.flatten().tolist() for batch in loader]

    bare = batches(DataLoader(Noticing(), batch_size=8, num_workers=2))
    assert batches(underfed.watch(DataLoader(Noticing(), batch_size=8, num_workers=2))) == bare


class Shared(Dataset[Tensor]):
    """Three parts of a sample, and beside the batch how long each took: the truth."""

    def __init__(self) -> None:
        self.image = Image.fromarray(np.zeros((400, 400, 3), np.uint8))
        self.pixels = np.zeros((300, 300, 3))
        self.tensor = torch.zeros(3, 250, 250)

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> Tensor:
        instants = [time.perf_counter()]
        for part in (self.by_pillow, self.by_numpy, self.by_torch, self.by_python):
            part()
            instants.append(time.perf_counter())
        return torch.tensor(instants).double().diff()

    def by_pillow(self) -> None:
        self.image.resize((500, 500), Image.Resampling.BICUBIC)

    def by_numpy(self) -> None:
        ((self.pixels * 0.5 - 0.1) ** 2).astype(np.float32)

    def by_torch(self) -> None:
        torch.nn.functional.avg_pool2d(self.tensor, 5, stride=1)

    def by_python(self) -> None:
        total = 0
        for number in range(20_000):
            total = (total * 31 + number) & 0xFFFF


@pytest.mark.soak(passes=2, of=3)
@pytest.mark.usefixtures("bursts_always")
def test_shares_are_those_that_a_clock_tells(service: Service) -> None:
    torch.set_num_threads(1)
    watched = underfed.watch(DataLoader(Shared(), batch_size=8, num_workers=1), name="train")
    took = torch.zeros(4, dtype=torch.double)
    until = time.monotonic() + 30
    for batch in watched:
        took += batch.sum(0)
        if time.monotonic() > until:
            break
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    truth = (took / took.sum()).tolist()
    parts = [f"Shared.{name}" for name in ("by_pillow", "by_numpy", "by_torch", "by_python")]
    found = shares(service)
    reported = [sum(share for (function, *_), share in found.items() if function == part) for part in parts]
    assert reported == pytest.approx(truth, abs=0.05)


def test_what_cannot_be_written_now_is_kept(tmp_path: Path) -> None:
    one, code = sampler(tmp_path / "not there")
    code.seen.add("getitem", (), 3, group=0)
    one.close()
    assert {key: sum(looks) for key, looks in code.seen.samples.items()} == {("getitem", ()): 3}
    assert one.guard.failures == 0
