"""The thread that looks runs on the core of the thread that it looks at, in short turns. No other thread does."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from underfed.exchange.guard import Guard
from underfed.host.clock import now_ns
from underfed.trainer.loading.batch_timer import BatchTimer
from underfed.trainer.loading.bursts import Bursts
from underfed.trainer.loading.collate import CollateTimer
from underfed.trainer.loading.loading_thread import LoadingThread
from underfed.trainer.loading.probe import Probe
from underfed.trainer.loading.same_core import ATTRIBUTES, SCHED_SETATTR, TURN_NS, SameCore, take_short_turns
from underfed.trainer.loading.seen_code import SeenCode
from underfed.trainer.loading.stack_sampler import StackSampler

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="turns and cores are Linux's")


def on_a_thread(act: Callable[[], Any]) -> Any:
    """What it returns: what it sets of its thread ends with that."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(act()))
    thread.start()
    thread.join()
    return found[0]


@contextmanager
def pinned(core: int) -> Iterator[int]:
    """Another thread, on that core. Its native identity."""
    there, go, native_id = threading.Event(), threading.Event(), 0

    def stay() -> None:
        nonlocal native_id
        native_id = threading.get_native_id()
        os.sched_setaffinity(0, {core})
        there.set()
        go.wait()

    thread = threading.Thread(target=stay)
    thread.start()
    assert there.wait(10)
    try:
        yield native_id
    finally:
        go.set()
        thread.join()
        while Path(f"/proc/self/task/{native_id}").exists():  # it ends a little later than Python's
            time.sleep(0.001)


def attributes() -> tuple[int, ...]:
    """Of the calling thread."""
    given = ctypes.create_string_buffer(ATTRIBUTES.size)
    sched_getattr = SCHED_SETATTR[os.uname().machine] + 1
    ctypes.CDLL(None).syscall(sched_getattr, 0, given, ATTRIBUTES.size, 0)
    return tuple(ATTRIBUTES.unpack(given.raw))


def test_turns_are_short_and_nothing_else_of_the_thread_changes() -> None:
    def change() -> tuple[tuple[int, ...], tuple[int, ...]]:
        os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) + 1)  # a thread's own
        before = attributes()
        take_short_turns()
        return before, attributes()

    own = attributes()
    before, after = on_a_thread(change)
    assert after in {(*before[:5], TURN_NS, *before[6:]), before}, "before Linux 6.12 there are none"
    assert attributes() == own, "of other threads"


def test_it_goes_to_the_core_of_the_other_thread_and_stays_where_it_was_once_that_has_ended() -> None:
    own = os.sched_getaffinity(0)

    def follow() -> list[set[int]]:
        found = []
        for core in sorted(own):
            with pinned(core) as native_id:
                same = SameCore(native_id)
                same.follow()
                found.append(os.sched_getaffinity(0))
            same.follow()
            found.append(os.sched_getaffinity(0))
        return found

    assert on_a_thread(follow) == [cores for core in sorted(own) for cores in ({core}, own)]
    assert os.sched_getaffinity(0) == own, "that of other threads stays"


def test_it_goes_there_also_where_turns_are_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(_pid: int) -> int:
        raise PermissionError

    core = min(os.sched_getaffinity(0))
    monkeypatch.setattr(os, "sched_getscheduler", forbid)

    def follow() -> set[int]:
        with pinned(core) as native_id:
            SameCore(native_id).follow()
            return os.sched_getaffinity(0)

    assert on_a_thread(follow) == {core}


@pytest.mark.skipif(sys.platform == "linux" and len(os.sched_getaffinity(0)) < 2, reason="there is one core")
def test_the_thread_that_looks_follows_in_a_burst(tmp_path: Path) -> None:
    tasks = Path("/proc/self/task")
    before = set(tasks.iterdir())
    timer = BatchTimer(ring=None, collate=CollateTimer(Probe()))  # type: ignore[arg-type]
    looked = LoadingThread(timer, SeenCode(tmp_path / "loader-0.0.0.stacks"), worker=0)
    one = StackSampler(looked, Bursts(now_ns(), is_always=True), Guard())
    one.start()
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if any(len(os.sched_getaffinity(int(task.name))) == 1 for task in set(tasks.iterdir()) - before):
                return
            time.sleep(0.01)
        raise AssertionError("it stays where it likes")
    finally:
        one.close()
