"""A thread that looks what another one executes, in short bursts, and which samples are slow.

It takes the interpreter lock for some microseconds, reads where each frame is, and sleeps again. In a burst it stays on
the core of the thread that it looks at. No signal is used, no system call is interrupted, and nothing of the program is
called. It is not among ``threading.enumerate()``, and takes none of the program's signals.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from underfed.exchange.guard import Guard
from underfed.host.clock import now_ns
from underfed.host.signal_handlers import let_through
from underfed.trainer.loading.bursts import Bursts
from underfed.trainer.loading.caught_stack import Caught
from underfed.trainer.loading.same_core import SameCore

PR_SET_TIMERSLACK = 29
"""``linux/prctl.h``"""

CLOSING_S = 1.0
"""Waited for a look to end."""


class Looked(Protocol):
    """What is looked at. All is called by the thread that looks, or once that has ended."""

    @property
    def ident(self) -> int:
        """Of the thread."""

    @property
    def state(self) -> Callable[[], Any]:
        """Written in C: what is read at the same moment as the stack."""

    def look(self, due_ns: int, looked_ns: int, stack: Caught, state: Any, bursts: Bursts, /) -> None:
        """``due_ns``: since when this look waited for the interpreter lock. ``stack``: what it found; cleared once it
        was read. ``state``: what ``self.state`` returned then, ``None`` where the thread has ended. ``bursts`` tell for
        how many it counts."""

    def keep(self) -> None:
        """Some bursts have ended, or everything has."""


@dataclass(slots=True, eq=False)
class StackSampler:
    """Created, started and closed by the thread that is looked at; everything else runs on its own."""

    looked: Looked
    bursts: Bursts
    guard: Guard
    _lock: _thread.LockType = field(default_factory=_thread.allocate_lock)

    def start(self) -> None:
        """In a worker once the first batch is on its way: by then torch's own thread that sends batches is there,
        too."""
        try:
            # A child that is forked in a burst has no such thread, which would end it.
            os.register_at_fork(after_in_child=self.bursts.end)
            _thread.start_new_thread(self._run, (_thread.get_native_id(),))
        except Exception as error:
            self.guard.failed("stacks", error)

    def close(self) -> None:
        """What is looked at ends."""
        try:
            if self._lock.acquire(timeout=CLOSING_S):
                self.bursts.end()
                self.looked.keep()
        except Exception as error:
            self.guard.failed("stacks", error)

    def _run(self, native_id: int) -> None:
        """``native_id``: of the thread that is looked at."""
        try:
            # One that the program's threads block, to wait for it, would be delivered to this thread.
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            wake_exactly()
            core = SameCore(native_id)
            while self._look_once():
                if self.bursts.is_on:
                    core.follow()
        except Exception as error:
            let_through(error)
            self.bursts.end()
            self.guard.count("stacks", error)

    def _look_once(self) -> bool:
        due_ns, stack, state = self.bursts.sleep(self.looked.ident, self.looked.state)
        # It is taken for good once what is looked at ends: a thread that waited for it would keep the stack's values.
        if not self._lock.acquire(blocking=False):
            stack.clear()
            return False
        try:
            self.looked.look(due_ns, now_ns(), stack, state, self.bursts)
            stack.clear()
            if self.bursts.hands_over(now_ns()):
                self.looked.keep()
            return True
        finally:
            self._lock.release()


def wake_exactly() -> None:
    """Of the calling thread alone: else it wakes up to 50 us late, five times what it waits for the lock at first."""
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(1), 0, 0, 0)
