"""Keeps the thread that looks on the core of the one that it looks at, where it gets its turn at once.

Anywhere else it is woken on a core that was asleep, a tenth of a millisecond late, and as late again each time that it
has waited for the interpreter lock: code that keeps the lock for less is over by then, and is found as what gives the
lock away after it. On the same core it interrupts the other thread, and is there when it is due. For that it asks for
short turns: where the system has none, it may get the core only once the other has run for milliseconds or has gone to
sleep, and finds it asleep more often.
"""

from __future__ import annotations

import ctypes
import os
import struct

from underfed.host.own_file import OwnFile
from underfed.host.signal_handlers import let_through, passing

SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
"""Number of ``sched_setattr(2)`` by machine: C libraries have it only since 2025."""

ATTRIBUTES = struct.Struct("=IIQiIQQQ")
"""``linux/sched/types.h``, its first version: size, policy, flags, nice value, priority, runtime, deadline, period. Of
a usual thread the runtime is the length of its turns in nanoseconds, from Linux 6.12 on."""

TURN_NS = 100_000
"""The least that Linux gives. A look takes a tenth of it."""

CORE = 36
"""Of ``/proc/[pid]/stat``, counted from the state, which follows the name."""


class SameCore:
    """Of the calling thread, beside another one of this process."""

    __slots__ = ("_allowed", "_core", "_file")

    def __init__(self, native_id: int) -> None:
        """``native_id``: of the other one."""
        self._file: OwnFile | None = None
        self._allowed: set[int] = set()
        self._core = -1
        with passing(OSError):  # forbidden, as in a sandbox
            take_short_turns()
        with passing(OSError):
            self._allowed = os.sched_getaffinity(0)
            self._file = OwnFile(f"/proc/self/task/{native_id}/stat")

    def follow(self) -> None:
        """To where the other one ran last; once that has ended, anywhere again."""
        if self._file is None:
            return
        try:
            content = self._file.read(1024) or b""
            core = int(content.rpartition(b")")[2].split()[CORE])
            if core != self._core:
                os.sched_setaffinity(0, {core})
                self._core = core
        except (OSError, ValueError, IndexError) as error:
            let_through(error)
            self._file = None
            with passing(OSError):  # none of them is there any more
                os.sched_setaffinity(0, self._allowed)


def take_short_turns() -> None:
    """Of the calling thread, from now on, where the system has them; its policy and its nice value stay.

    Raises:
        OSError: it is forbidden to ask for policy and nice value.
    """
    number, policy = SCHED_SETATTR.get(os.uname().machine), os.sched_getscheduler(0)
    if number is not None and policy in (os.SCHED_OTHER, os.SCHED_BATCH):
        nice = os.getpriority(os.PRIO_PROCESS, 0)
        attributes = ATTRIBUTES.pack(ATTRIBUTES.size, policy, 0, nice, 0, TURN_NS, 0, 0)
        ctypes.CDLL(None).syscall(number, 0, attributes, 0)
