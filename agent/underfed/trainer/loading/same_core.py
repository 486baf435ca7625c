"""Keeps the thread that looks on the core of the one that it looks at, where it gets its turn at once.

Anywhere else it is woken on a core that was asleep, a tenth of a millisecond late, and as late again each time that it
has waited for the interpreter lock: code that keeps the lock for less is over by then, and is found as what gives the
lock away after it. On the same core it interrupts the other thread, and is there when it is due. But where turns are
long it would get the core only once the other has run for milliseconds or has gone to sleep, and would find it asleep
too often. So it asks for short turns, and stays where it likes if the system has none.
"""

from __future__ import annotations

import ctypes
import os
import struct

from underfed.host.own_file import OwnFile
from underfed.host.signal_handlers import let_through, passing

SET_AND_GET = {"x86_64": (314, 315), "aarch64": (274, 275)}
"""Numbers of ``sched_setattr(2)`` and ``sched_getattr(2)``, by machine: C libraries have had them only since 2025."""

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
            if takes_short_turns():
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


def takes_short_turns() -> bool:
    """Of the calling thread, from now on; its policy and its nice value stay. ``False``: this system has none.

    Raises:
        OSError: it is forbidden to ask for policy and nice value.
    """
    numbers, policy = SET_AND_GET.get(os.uname().machine), os.sched_getscheduler(0)
    if numbers is None or policy not in (os.SCHED_OTHER, os.SCHED_BATCH):
        return False
    libc, (set_, get), size = ctypes.CDLL(None), numbers, ATTRIBUTES.size
    wanted = ATTRIBUTES.pack(size, policy, 0, os.getpriority(os.PRIO_PROCESS, 0), 0, TURN_NS, 0, 0)
    given = ctypes.create_string_buffer(size)
    if libc.syscall(set_, 0, wanted, 0) or libc.syscall(get, 0, given, size, 0):
        return False
    return bool(ATTRIBUTES.unpack(given.raw)[5] == TURN_NS)
