"""What a thread had of the cores so far, as another thread reads it."""

from __future__ import annotations

from typing import NamedTuple

from underfed.host.clock import now_ns
from underfed.host.own_file import OwnFile
from underfed.host.signal_handlers import let_through


class Times(NamedTuple):
    cpu_ns: int
    runqueue_ns: int
    """Ready to run, and no core was free."""
    at_ns: int
    """When that was read: on a loaded host some time may pass between a look and this."""


class ThreadTimes:
    """Of one thread of this process. Holds a file open as long as it lives; a reading takes two microseconds."""

    __slots__ = ("_file",)

    def __init__(self, native_id: int) -> None:
        self._file = OwnFile(f"/proc/self/task/{native_id}/schedstat")

    def read(self) -> Times | None:
        """``None``: this system does not tell, or the thread has ended."""
        try:
            content = self._file.read(64)
            if content is None:
                return None
            cpu, runqueue, _ = content.split()
        except (OSError, ValueError) as error:
            let_through(error)
            return None
        return Times(int(cpu), int(runqueue), now_ns())
