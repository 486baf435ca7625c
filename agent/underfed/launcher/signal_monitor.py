"""A process beside ours in its process group that notes the signals it gets: so ours knows which were for the group.

A Ctrl-C goes to every process of the group, and so does what Jupyter, a shell's ``kill %1`` or ``timeout`` send: a
command that we started has them already. What only we got was meant for the command, and has to be passed on.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterable
from contextlib import suppress
from typing import NoReturn

ASKED, ANSWERED = b"?\n", b"\0"
PATIENCE_S = 1.0
"""It answers within a millisecond, unless it was stopped or killed."""


class SignalMonitor:
    """Ends with us at the latest. If we are killed, it kills the command: see ``guard``."""

    def __init__(self, signals: Iterable[int]) -> None:
        """``signals`` are blocked when this is called."""
        asked, self._questions = os.pipe()
        self._answers, answers = os.pipe()
        self._pid: int | None = os.fork()
        if self._pid == 0:
            os.close(self._questions)
            os.close(self._answers)
            record_signals(asked, answers, signals)
        os.close(asked)
        os.close(answers)

    def guard(self, pid: int) -> None:
        """If we are killed, this process is killed too, as without us."""
        self._say(b"%d\n" % pid)

    def seen(self) -> set[int]:
        """Signals since the last call; empty if the monitor is gone."""
        self._say(ASKED)
        seen = b""
        while not seen.endswith(ANSWERED):
            readable, _, _ = select.select([self._answers], [], [], PATIENCE_S)
            part = os.read(self._answers, 4096) if readable else b""
            if not part:
                break
            seen += part
        return set(seen) - {0}

    def reaped(self, pid: int) -> None:
        """This child was reaped: if it is the monitor, its pid must not be used any more."""
        if pid == self._pid:
            self._pid = None

    def dismiss(self) -> None:
        if self._pid is not None:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._pid = None
        os.close(self._questions)
        os.close(self._answers)

    def _say(self, line: bytes) -> None:
        with suppress(BrokenPipeError):
            os.write(self._questions, line)


def record_signals(asked: int, answers: int, signals: Iterable[int]) -> NoReturn:
    """Runs in the forked process, until its parent is gone."""
    guarded = None
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nowhere, standard)
        os.set_blocking(answers, False)
        for number in signals:
            signal.signal(number, lambda *_: None)
        # The C handler itself writes the number, so it comes before the answer to a later request.
        signal.set_wakeup_fd(answers, warn_on_full_buffer=False)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
        with open(asked, "rb", buffering=0) as questions:
            for line in questions:
                if line == ASKED:
                    os.write(answers, ANSWERED)
                else:
                    guarded = int(line)
        if guarded is not None:
            os.kill(guarded, signal.SIGKILL)
    finally:
        os._exit(0)
