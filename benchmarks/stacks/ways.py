"""Ways to learn what a thread executes, each as a pair of calls around what is looked at."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Protocol

INTERVAL_S = 0.01

Line = tuple[str, int, int]
"""Name of a code, its first line, a line in it: what an outside reader reports too. A first line of 0: not known."""

Seen = Counter[tuple[Line, ...]]
"""Stacks, the innermost first."""


class Way(Protocol):
    name: str

    def start(self) -> None:
        """Look at the calling thread from now on."""

    def stop(self) -> None: ...

    def seen(self) -> Seen:
        """After the last ``stop``."""


def stack_of(frame: FrameType | None) -> tuple[Line, ...]:
    found = []
    while frame is not None:
        found.append((frame.f_code.co_name, frame.f_code.co_firstlineno, frame.f_lineno or 0))
        frame = frame.f_back
    return tuple(found)


class Thread:
    """A thread that wakes up, takes the interpreter lock, and reads the other's frames."""

    def __init__(self, switch_s: float | None = None) -> None:
        """``switch_s``: how long a thread waits for the lock before it asks for it, while this one runs."""
        self.name = "thread" if switch_s is None else f"thread, lock asked for after {switch_s * 1000:g} ms"
        self._switch_s = switch_s
        self._seen: Seen = Counter()
        self._is_on = False
        self._phase = 0.0

    def start(self) -> None:
        self._is_on = True
        self._before_s = sys.getswitchinterval()
        if self._switch_s is not None:
            sys.setswitchinterval(self._switch_s)
        self._thread = threading.Thread(target=self._run, args=(threading.get_ident(),), daemon=True)
        self._thread.start()

    def _run(self, ident: int) -> None:
        while self._is_on:
            self._phase = (self._phase + 0.618034) % 1
            pause_s = INTERVAL_S * (0.5 + self._phase)
            due_s = time.perf_counter() + pause_s
            time.sleep(pause_s)
            late = (time.perf_counter() - due_s) // INTERVAL_S
            self._seen[stack_of(sys._current_frames().get(ident))] += 1 + int(late)

    def stop(self) -> None:
        self._is_on = False
        sys.setswitchinterval(self._before_s)
        self._thread.join()

    def seen(self) -> Seen:
        return self._seen


class TimerSignal:
    """A timer of the process whose signal Python handles on the main thread."""

    name = "timer signal"

    def __init__(self) -> None:
        self._seen: Seen = Counter()
        self._last_s = 0.0

    def start(self) -> None:
        self._last_s = time.perf_counter()
        self._before = signal.signal(signal.SIGALRM, self._handle)
        signal.setitimer(signal.ITIMER_REAL, INTERVAL_S, INTERVAL_S)

    def _handle(self, _: int, frame: FrameType | None) -> None:
        now_s = time.perf_counter()
        self._seen[stack_of(frame)] += max(1, round((now_s - self._last_s) / INTERVAL_S))
        self._last_s = now_s

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, self._before)

    def seen(self) -> Seen:
        return self._seen


class SignalBeside:
    """A timer whose signal goes to another thread, which runs no Python: the handler runs on the main thread all the
    same, between two instructions, and no system call of it is interrupted."""

    name = "timer signal beside"

    def __init__(self) -> None:
        self._seen: Seen = Counter()
        self._last_s = 0.0
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._native = 0
        self._is_ready = threading.Event()

    def _wait(self) -> None:
        self._native = threading.get_native_id()
        self._is_ready.set()
        os.read(os.pipe()[0], 1)

    def start(self) -> None:
        if not self._native:
            threading.Thread(target=self._wait, daemon=True).start()
            self._is_ready.wait()
        self._last_s = time.perf_counter()
        self._before = signal.signal(signal.SIGURG, self._handle)
        signal.siginterrupt(signal.SIGURG, False)
        # struct sigevent: value, signal, SIGEV_THREAD_ID, thread
        event = (ctypes.c_int * 16)(0, 0, signal.SIGURG, 4, self._native)
        self._timer = ctypes.c_void_p()
        if self._libc.timer_create(1, ctypes.byref(event), ctypes.byref(self._timer)) != 0:
            raise OSError(ctypes.get_errno(), "timer_create")
        self._set(round(INTERVAL_S * 1e9))

    def _set(self, interval_ns: int) -> None:
        times = (ctypes.c_long * 4)(0, interval_ns, 0, interval_ns)
        self._libc.timer_settime(self._timer, 0, ctypes.byref(times), None)

    def _handle(self, _: int, frame: FrameType | None) -> None:
        now_s = time.perf_counter()
        self._seen[stack_of(frame)] += max(1, round((now_s - self._last_s) / INTERVAL_S))
        self._last_s = now_s

    def stop(self) -> None:
        self._libc.timer_delete(self._timer)
        time.sleep(0)
        signal.signal(signal.SIGURG, self._before)

    def seen(self) -> Seen:
        return self._seen


FILE_LINE = re.compile(r'  File "(.*)", line (\d+) in (.*)')


class Watchdog:
    """faulthandler's thread, which needs no interpreter lock: it reads frames while they change."""

    name = "faulthandler's watchdog"

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the way

    def start(self) -> None:
        faulthandler.dump_traceback_later(INTERVAL_S, repeat=True, file=self._file)

    def stop(self) -> None:
        faulthandler.cancel_dump_traceback_later()

    def seen(self) -> Seen:
        self._file.seek(0)
        seen: Seen = Counter()
        for dump in self._file.read().split("Timeout (")[1:]:
            *_, thread = dump.split("hread 0x")
            seen[tuple((name, 0, int(line)) for _, line, name in FILE_LINE.findall(thread))] += 1
        return seen


class PySpy:
    """py-spy: another process that reads this one's memory, without stopping it."""

    name = "outside reader (py-spy)"

    def __init__(self) -> None:
        self._seen: Seen = Counter()
        self._path = Path(tempfile.mkstemp()[1])

    def start(self) -> None:
        words = ["py-spy", "record", "--nonblocking", "--idle", "--rate", str(round(1 / INTERVAL_S)), "--format", "raw"]
        words += ["--duration", "600", "--pid", str(os.getpid()), "--output", str(self._path)]
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1.0)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.wait()
        for stack, samples in (line.rsplit(" ", 1) for line in self._path.read_text().splitlines()):
            frames = re.findall(r"([^;]+) \([^;]*?:(\d+)\)", stack)[::-1]
            names = [(name.strip().rpartition(".")[2], 0, int(line)) for name, line in frames]
            self._seen[tuple(names)] += int(samples)

    def seen(self) -> Seen:
        return self._seen


class Profile:
    """Python calls us at each call and return, and time is known exactly. ``sys.monitoring`` where there is one."""

    def __init__(self) -> None:
        self._monitoring: Any = getattr(sys, "monitoring", None)
        self.name = "sys.monitoring" if self._monitoring else "sys.setprofile"
        self._seen: Seen = Counter()
        self._last_ns = 0

    def start(self) -> None:
        self._last_ns = time.perf_counter_ns()
        if self._monitoring is None:
            sys.setprofile(self._called)
            return
        events = self._monitoring.events
        self._monitoring.use_tool_id(4, "bench")
        for event in (events.PY_START, events.PY_RESUME):
            self._monitoring.register_callback(4, event, lambda *_: self._note(1))
        for event in (events.PY_RETURN, events.PY_YIELD, events.CALL, events.C_RETURN):
            self._monitoring.register_callback(4, event, lambda *_: self._note(0))
        wanted = events.PY_START | events.PY_RESUME | events.PY_RETURN | events.PY_YIELD | events.CALL
        self._monitoring.set_events(4, wanted)

    def _called(self, frame: FrameType, event: str, _: object) -> None:
        self._add(frame.f_back if event == "call" else frame)

    def _note(self, outer: int) -> None:
        self._add(sys._getframe(2 + outer))

    def _add(self, frame: FrameType | None) -> None:
        now_ns = time.perf_counter_ns()
        self._seen[stack_of(frame)] += now_ns - self._last_ns
        self._last_ns = time.perf_counter_ns()

    def stop(self) -> None:
        if self._monitoring is None:
            sys.setprofile(None)
            return
        self._monitoring.set_events(4, 0)
        self._monitoring.free_tool_id(4)

    def seen(self) -> Seen:
        return self._seen


CHOSEN = "thread, lock asked for after 0.1 ms"
"""The agent's."""


def ways() -> list[Way]:
    found: list[Way] = [Thread(), Thread(0.0001), TimerSignal(), SignalBeside(), Watchdog(), Profile()]
    return [*found, PySpy()] if shutil.which("py-spy") else found


def share_at(seen: Seen, code: CodeType, line: int | None) -> int:
    """Samples in which that code, or that line of it, is in the stack."""

    def is_there(each: Line) -> bool:
        name, first, at = each
        is_code = name == code.co_name and first in (0, code.co_firstlineno)
        return is_code and (at >= code.co_firstlineno if line is None else at == code.co_firstlineno + line)

    return sum(samples for stack, samples in seen.items() if any(map(is_there, stack)))


@contextmanager
def looked_at(way: Way | None) -> Iterator[None]:
    if way is not None:
        way.start()
    try:
        yield
    finally:
        if way is not None:
            with suppress(ProcessLookupError):
                way.stop()
