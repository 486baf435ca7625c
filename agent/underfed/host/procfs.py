"""Who a process is, whether it still runs, what it uses and what it waited for: Linux's /proc.

Every function returns ``None`` where the system does not show it (macOS, a process that is gone, gVisor).

psutil has parts of this and is not used for them: the launcher and the training process would pay 20 ms for its import,
and what ``usage`` reads each second for every worker takes psutil 100 µs instead of 15. It has no exit status of other
processes' children and no run-queue time, and its start times are seconds of the wall clock, which may be set.
"""

from __future__ import annotations

import os
import platform
import re
import signal
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from underfed.host.files import read_text
from underfed.host.signal_handlers import let_through, passing

PROC = Path("/proc")
ONE_READ_BYTES = 4096
"""Size of one read: a second one could show another moment."""

SWAPS = PROC / "swaps"
STATE, PARENT, USER_TICKS, SYSTEM_TICKS, THREADS, START_TICKS, RESIDENT_PAGES, EXIT_CODE = 0, 1, 11, 12, 17, 19, 21, 49
CHILDREN_USER_TICKS, CHILDREN_SYSTEM_TICKS = 13, 14
"""Positions after the command name in /proc/PID/stat; proc_pid_stat(5) counts them from 3."""


@dataclass(frozen=True, slots=True)
class ProcessUsage:
    """Of one process, all its threads together, since it started."""

    pid: int
    start_ticks: int
    cpu_us: int
    """In ticks of 10 ms on most systems."""
    children_cpu_us: int
    """Of the programs that it ran, as far as these have ended."""
    threads: int
    rss_bytes: int


def boot_id() -> str | None:
    """Differs after every boot: with it, a pid and a start time identify one process uniquely."""
    return read_text(PROC / "sys/kernel/random/boot_id")


def pid_namespace() -> str | None:
    """Pids of another namespace (another container) name other processes than here."""
    with passing(OSError):
        return str((PROC / "self/ns/pid").readlink())
    return None


def start_ticks(pid: int) -> int | None:
    """Clock ticks after boot at which the process started."""
    fields = _stat(pid)
    return int(fields[START_TICKS]) if fields else None


def parent(pid: int) -> int | None:
    """Pid of the process that it is a child of; 0 for the first one."""
    fields = _stat(pid)
    return int(fields[PARENT]) if fields else None


def children(pid: int) -> list[int]:
    """Pids of its children; empty where /proc does not show them."""
    found = (int(path.name) for path in PROC.glob("[0-9]*"))
    return [each for each in found if parent(each) == pid]


def started_by_main(pid: int) -> list[int]:
    """Pids of the children that its main thread started: one read, whatever else runs. Empty where /proc does not show
    them."""
    with passing(OSError):
        return [int(each) for each in (PROC / str(pid) / "task" / str(pid) / "children").read_text().split()]
    return []


def environment(pid: int) -> dict[str, str] | None:
    """The variables that it was started with, without those that it set itself. Another user's are hidden."""
    with passing(OSError):
        content = (PROC / str(pid) / "environ").read_bytes()
        pairs = (os.fsdecode(each).partition("=") for each in content.split(b"\0"))
        return {name: value for name, equals, value in pairs if equals}
    return None


def is_running(pid: int, started_ticks: int | None) -> bool:
    """Whether this very process still runs. A zombie does not; neither does a later process with the same pid."""
    if is_here():
        fields = _stat(pid, started_ticks)
        return fields is not None and fields[STATE] not in ("Z", "X")
    try:
        with suppress(PermissionError):
            os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def exit_status(pid: int, started_ticks: int | None) -> int | None:
    """Exit code of a process that its parent has not collected yet, negative for a signal, as in ``subprocess``."""
    fields = _stat(pid, started_ticks)
    if not fields or fields[STATE] != "Z":
        return None
    with suppress(IndexError, ValueError):
        return os.waitstatus_to_exitcode(int(fields[EXIT_CODE]))
    return None


def describe_exit(status: int) -> str:
    """An exit status as in ``subprocess``."""
    if status >= 0:
        return f"exit code {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


def usage(pid: int) -> ProcessUsage | None:
    """What the process has used; ``None`` also for a zombie."""
    fields = _stat(pid)
    if not fields or fields[STATE] in ("Z", "X"):
        return None
    ticks = int(fields[USER_TICKS]) + int(fields[SYSTEM_TICKS])
    children = int(fields[CHILDREN_USER_TICKS]) + int(fields[CHILDREN_SYSTEM_TICKS])
    tick_us = 1_000_000 // os.sysconf("SC_CLK_TCK")
    return ProcessUsage(
        pid=pid,
        start_ticks=int(fields[START_TICKS]),
        cpu_us=ticks * tick_us,
        children_cpu_us=children * tick_us,
        threads=int(fields[THREADS]),
        rss_bytes=int(fields[RESIDENT_PAGES]) * os.sysconf("SC_PAGE_SIZE"),
    )


def pss_bytes(pid: int) -> int | None:
    """Resident memory with each shared page divided among those that share it.

    The kernel walks all its pages for that: 9 ms for a process that imported torch, and more for a larger one.
    """
    return _kilobytes("Pss", PROC / str(pid) / "smaps_rollup")


def anonymous_bytes(pid: int) -> int | None:
    """Of the process's own memory, how much is resident: what a forked process shares with its parent is in it."""
    return _kilobytes("RssAnon", PROC / str(pid) / "status")


def swap_bytes(pid: int) -> int | None:
    """Of the process's own memory, how much is swapped out."""
    return _kilobytes("VmSwap", PROC / str(pid) / "status")


def is_swapping() -> bool | None:
    """Whether any swap of this host is in use; if not, no process needs to be read."""
    text = _read_once(str(SWAPS))
    if text is None:
        return None
    return any(int(line.split()[3]) > 0 for line in text.splitlines()[1:])


def open_files(pid: int) -> int | None:
    """How many files the process has open. Another user's are hidden."""
    directory = PROC / str(pid) / "fd"
    with passing(OSError):
        # Linux 6.2 and newer gives the number as the directory's size.
        return directory.stat().st_size or len(list(directory.iterdir()))
    return None


def written_bytes(pid: int) -> int | None:
    """What all its threads passed to ``write`` since it started, to files and to anything else. Another user's are
    hidden."""
    found = re.search(r"^wchar: (\d+)$", _read_once(f"{PROC}/{pid}/io") or "", re.MULTILINE)
    return int(found[1]) if found else None


def schedstat(pid: int) -> tuple[int, int] | None:
    """``(on a CPU, ready but waiting for one)`` of the process's main thread, nanoseconds since it started."""
    text = _read_once(f"{PROC}/{pid}/task/{pid}/schedstat")
    if text is None:
        return None
    on_cpu, waiting, *_ = text.split()
    return int(on_cpu), int(waiting)


def pressure(resource: str, quantity: str, directory: Path = PROC / "pressure") -> int | float | None:
    """How long some task waited for ``cpu``, ``io`` or ``memory`` (PSI): ``total`` in microseconds since the machine
    started, ``avg60`` in percent of the last minute."""
    found = re.search(rf"^some .*{quantity}=([\d.]+)", read_text(directory / resource) or "")
    return (float if "." in found[1] else int)(found[1]) if found else None


def cpu_model() -> str | None:
    found = re.search(r"^model name\s*:\s*(.+)$", read_text(PROC / "cpuinfo") or "", re.MULTILINE)
    return found[1] if found else platform.processor() or None


@cache
def is_here() -> bool:
    """Whether there is such a /proc."""
    return (PROC / "self/stat").exists()


def _stat(pid: int, started_ticks: int | None = None) -> list[str] | None:
    """With ``started_ticks`` only if the process started then: a later one may have the same pid."""
    text = _read_once(f"{PROC}/{pid}/stat")
    # The command name may hold spaces and brackets: fields are counted from the last bracket.
    fields = text[text.rindex(")") + 1 :].split() if text else []
    is_another = bool(fields) and started_ticks is not None and int(fields[START_TICKS]) != started_ticks
    return None if is_another else fields or None


def _read_once(path: str) -> str | None:
    """Read a small file at a third of the cost of ``Path.read_text()``: some are read every second."""
    try:
        file = os.open(path, os.O_RDONLY)
        try:
            return os.read(file, ONE_READ_BYTES).decode(errors="replace")
        finally:
            os.close(file)
    except OSError as error:
        let_through(error)
        return None


def _kilobytes(name: str, path: Path) -> int | None:
    found = re.search(rf"^{name}:\s*(\d+) kB$", read_text(path) or "", re.MULTILINE)
    return int(found[1]) << 10 if found else None
