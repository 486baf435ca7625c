"""Runs a command in our place: its exit, signals, stops and terminal are as without us."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from underfed.launcher.signal_monitor import SignalMonitor

NOT_FOUND, NOT_RUNNABLE = 127, 126
"""A shell's exit codes for a command that does not exist, and for one that cannot be run."""

OURS: set[int] = {
    signal.SIGKILL,
    signal.SIGSTOP,
    signal.SIGCHLD,
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
    signal.SIGSEGV,
    signal.SIGSYS,
    signal.SIGTRAP,
}
"""Signals that cannot be waited for, that report our children, or that a process causes itself."""

IGNORED_BY_PYTHON = [signal.SIGPIPE, signal.SIGXFSZ]
STOPS = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
"""Sent by a terminal to every process of the group."""

REACH_S = 0.02
"""A sender that signals each process by itself, as SLURM does, has reached all by then."""


Ended = Callable[[int, int], None]
"""Called with the command's pid and exit code, negative for a signal, before the pid is free. Raises nothing."""


def run_command(command: Sequence[str], environ: Mapping[str, str], ended: Ended) -> int:
    """Start it in our process group and wait for its end. Returns its exit code, negative for a signal.

    Signals stay blocked afterwards, and our own standard input and output lead nowhere: the command's are gone with it.

    Raises:
        OSError: it cannot be started.
    """
    passed: set[int] = {int(number) for number in signal.valid_signals()} - OURS
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, passed | {signal.SIGCHLD})
    monitor = SignalMonitor(passed)
    try:
        pid = start(command, environ, before)
    except OSError:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise
    else:
        monitor.guard(pid)
        release_pipes()
        return RunningCommand(pid, monitor, passed, ended).until_end()
    finally:
        monitor.dismiss()


def replace_us(command: Sequence[str]) -> None:
    """Become the command.

    Raises:
        OSError: it cannot be started.
    """
    for number in IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], list(command))
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        os.execv("/bin/sh", as_script(command))


def start(command: Sequence[str], environ: Mapping[str, str], mask: set[signal.Signals | int]) -> int:
    """As the shell does, a file without ``#!`` is given to ``sh``."""
    options = {"setsigmask": mask, "setsigdef": IGNORED_BY_PYTHON}
    try:
        return os.posix_spawnp(command[0], list(command), environ, **options)  # type: ignore[arg-type]
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        return os.posix_spawn("/bin/sh", as_script(command), environ, **options)  # type: ignore[arg-type]


def as_script(command: Sequence[str]) -> list[str]:
    return ["/bin/sh", shutil.which(command[0]) or command[0], *command[1:]]


def release_pipes() -> None:
    """Close our ends: readers of the command's output must see its end when the command closes it."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    sys.stdout.flush()
    for standard in (0, 1):
        os.dup2(nowhere, standard)
    os.close(nowhere)


class RunningCommand:
    """A running command: forwards signals to it, and stops and ends as it does."""

    def __init__(self, pid: int, monitor: SignalMonitor, passed: set[int], ended: Ended) -> None:
        self._pid = pid
        self._ended = ended
        self._monitor = monitor
        self._passed = passed
        self._stop: int | None = None
        """A terminal's stop signal that no continuation has followed yet."""
        self._is_stopped = False

    def until_end(self) -> int:
        """The command's exit code, negative for a signal."""
        while (status := self._reap()) is None:
            if self._is_stopped and self._stop is not None:
                self._stop_too(self._stop)
            number = signal.sigwait(self._passed | {signal.SIGCHLD})
            if number != signal.SIGCHLD:
                self._pass_on({number, *self._take_pending()})
        return os.waitstatus_to_exitcode(status)

    def _reap(self) -> int | None:
        """The command's wait status once it has ended. Others are reaped too: we may be a container's first process."""
        if (left := os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
            self._ended(self._pid, left.si_status if left.si_code == os.CLD_EXITED else -left.si_status)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            except ChildProcessError:
                raise AssertionError("the command is our child until we have seen its end") from None
            if pid == 0:
                return None
            if pid != self._pid:
                if not os.WIFSTOPPED(status) and not os.WIFCONTINUED(status):
                    self._monitor.reaped(pid)
            elif os.WIFSTOPPED(status) or os.WIFCONTINUED(status):
                self._is_stopped = os.WIFSTOPPED(status)
            else:
                return status

    def _take_pending(self) -> set[int]:
        time.sleep(REACH_S)
        return {signal.sigwait({number}) for number in signal.sigpending() & self._passed}

    def _pass_on(self, numbers: set[int]) -> None:
        for number in numbers - self._monitor.seen():
            os.kill(self._pid, number)
        if signal.SIGCONT in numbers:
            self._stop = None
        self._stop = next(iter(numbers & STOPS), self._stop)

    def _stop_too(self, number: int) -> None:
        """Stop, so that the shell sees its job stopped. Once continued, the signal that continued us is pending."""
        self._stop = None
        os.kill(os.getpid(), number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        signal.pthread_sigmask(signal.SIG_BLOCK, {number})


def exit_like(status: int) -> int:
    """The exit code to end with; dies of the signal that the command died of, without a core of its own."""
    if status >= 0:
        return status
    number = -status
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    return 128 + number


def exit_code_of(error: OSError) -> int:
    """Of a command that could not be started."""
    return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_RUNNABLE
