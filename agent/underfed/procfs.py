"""Who a process is, whether it still runs, how long it waited for which CPU: Linux's /proc.

Every function returns ``None`` where the system does not tell (macOS, a process that is gone, gVisor).
"""

from __future__ import annotations

import os
import platform
import re
import signal
from functools import cache
from pathlib import Path

PROC = Path("/proc")
STATE, PARENT, START_TICKS, EXIT_CODE = 0, 1, 19, 49
"""Positions after the command name in /proc/PID/stat (proc_pid_stat(5) counts them from 3: 3, 4, 22, 52)."""


def boot_id() -> str | None:
    """Differs after every start of the machine: with it, a pid and its start time name one process for ever."""
    return _read(PROC / "sys/kernel/random/boot_id")


def pid_namespace() -> str | None:
    """Pids of another namespace (another container) say nothing about ours."""
    try:
        return str((PROC / "self/ns/pid").readlink())
    except OSError:
        return None


def start_ticks(pid: int) -> int | None:
    """Clock ticks after boot at which the process started."""
    fields = _stat(pid)
    return int(fields[START_TICKS]) if fields else None


def parent(pid: int) -> int | None:
    """Pid of the process that it is a child of; 0 for the first one."""
    fields = _stat(pid)
    return int(fields[PARENT]) if fields else None


def environment(pid: int) -> dict[str, str] | None:
    """The variables that it was started with. What it set since is not among them. Another user's are hidden."""
    try:
        content = (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return None
    pairs = (os.fsdecode(each).partition("=") for each in content.split(b"\0"))
    return {name: value for name, equals, value in pairs if equals}


def is_running(pid: int, started_ticks: int | None) -> bool:
    """Whether this very process still runs. A zombie does not; neither does a later process with the same pid."""
    if not _is_here():
        return _answers(pid)
    fields = _stat(pid)
    if not fields or fields[STATE] in ("Z", "X"):
        return False
    return started_ticks is None or int(fields[START_TICKS]) == started_ticks


def exit_status(pid: int, started_ticks: int | None) -> int | None:
    """Exit code of a process that its parent has not collected yet, negative for a signal, as in ``subprocess``."""
    fields = _stat(pid)
    if not fields or fields[STATE] != "Z" or (started_ticks is not None and int(fields[START_TICKS]) != started_ticks):
        return None
    try:
        return os.waitstatus_to_exitcode(int(fields[EXIT_CODE]))
    except (IndexError, ValueError):
        return None


def describe_exit(status: int | None) -> str:
    """Why a process that did not mark its end is gone, as far as is known."""
    if status is None:
        return "the process ended without a word: killed, or out of memory"
    if status >= 0:
        return f"the process ended without marking its end, exit code {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


def schedstat(pid: int) -> tuple[int, int] | None:
    """``(on a CPU, ready but waiting for one)`` of the process's main thread, nanoseconds since it started."""
    text = _read(PROC / str(pid) / "task" / str(pid) / "schedstat")
    if text is None:
        return None
    on_cpu, waiting, *_ = text.split()
    return int(on_cpu), int(waiting)


def cpu_model() -> str | None:
    found = re.search(r"^model name\s*:\s*(.+)$", _read(PROC / "cpuinfo") or "", re.MULTILINE)
    return found[1] if found else platform.processor() or None


@cache
def _is_here() -> bool:
    return (PROC / "self/stat").exists()


def _stat(pid: int) -> list[str] | None:
    text = _read(PROC / str(pid) / "stat")
    # The command name may hold spaces and brackets: fields are counted from the last bracket.
    return text[text.rindex(")") + 1 :].split() if text else None


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
