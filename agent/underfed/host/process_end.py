"""How a process ended, read from the kernel and not from its parent."""

from __future__ import annotations

import fcntl
import os
import select
import struct
from collections.abc import Iterable
from contextlib import suppress

from underfed.host import procfs

PIDFD_INFO = struct.Struct("=QQ3I8Ii")
"""mask, control group, three ids, eight of users and groups, exit status: ``struct pidfd_info`` of <linux/pidfd.h>."""

PIDFD_GET_INFO = 3 << 30 | PIDFD_INFO.size << 16 | 0xFF << 8 | 11
"""``_IOWR(0xFF, 11, struct pidfd_info)``."""

PIDFD_INFO_EXIT = 1 << 3
"""Linux 6.15 and newer: known from when its parent has collected the status, to whoever opened it before."""


def wait_for_one(processes: Iterable[ProcessEnd], timeout_s: float) -> bool:
    """Wait at most so long until one has ended. Returns whether one has."""
    watched = select.poll()
    for file in filter(None, (each.fileno() for each in processes)):
        watched.register(file, select.POLLIN)
    return bool(watched.poll(timeout_s * 1000))


class ProcessEnd:
    """Opened while the process runs: of one that has ended the kernel reports nothing."""

    def __init__(self, pid: int, start_ticks: int | None) -> None:
        self._pid = pid
        self._start_ticks = start_ticks
        self._file: int | None = None
        if procfs.is_running(pid, start_ticks):
            with suppress(OSError, AttributeError):  # no Linux, an old one, or the process is gone
                self._file = os.pidfd_open(pid)

    def status(self) -> int | None:
        """Exit code, negative for a signal; ``None``: it runs, or the kernel does not report it."""
        # /proc has the status until the parent collects it; afterwards only the pidfd does.
        status = procfs.exit_status(self._pid, self._start_ticks)
        return status if status is not None else self._collected()

    def fileno(self) -> int | None:
        """Readable once it has ended: its parent may not have the status yet. ``None``: that is not to be seen."""
        return self._file

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _collected(self) -> int | None:
        if self._file is None:
            return None
        info = bytearray(PIDFD_INFO.size)
        PIDFD_INFO.pack_into(info, 0, PIDFD_INFO_EXIT, *[0] * 13)
        try:
            fcntl.ioctl(self._file, PIDFD_GET_INFO, info)
        except OSError:
            return None
        mask, *_, status = PIDFD_INFO.unpack(info)
        return os.waitstatus_to_exitcode(status) if mask & PIDFD_INFO_EXIT else None
