"""What a thread had of the cores so far, as another thread reads it."""

from __future__ import annotations

import os
from typing import NamedTuple

from underfed.host.signal_handlers import let_through


class Times(NamedTuple):
    cpu_ns: int
    runqueue_ns: int
    """Ready to run, and no core was free."""


class ThreadTimes:
    """Of one thread of this process. Holds a file open as long as it lives; a reading takes two microseconds."""

    __slots__ = ("_file",)

    def __init__(self, native_id: int) -> None:
        try:
            self._file = os.open(f"/proc/self/task/{native_id}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            let_through(error)
            self._file = -1

    def read(self) -> Times | None:
        """``None``: this system does not tell, or the thread has ended."""
        if self._file < 0:
            return None
        try:
            cpu, runqueue, _ = os.pread(self._file, 64, 0).split()
        except (OSError, ValueError) as error:
            let_through(error)
            return None
        return Times(int(cpu), int(runqueue))

    def __del__(self) -> None:
        if getattr(self, "_file", -1) >= 0:
            os.close(self._file)
