"""In a worker: bytes that its own TCP connections received, as the kernel counts them for each.

What comes from object storage or a web service is read from sockets, which no counter of a process includes. The kernel
is only asked: no socket is read, copied or changed, and encryption makes no difference below it.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from underfed.exchange.ring_format import NOT_MEASURED

TCP_INFO, COOKIE = (6, 11, 128), (1, 57, 0)
"""Level and option of a socket, and where in the answer the number is: ``tcpi_bytes_received`` of ``struct tcp_info``
(linux/tcp.h, since Linux 4.1), and what tells a socket from all others (``SO_COOKIE``, since 4.12)."""

MOST_FILES = 512
"""Of a process with more open files, looking at each would take a millisecond."""

PAUSE_NS = 1_000_000_000
COST_SHARE = 1_000
"""Between two readings, in times that the last one took: 60 µs with 40 files open, a thousandth at most."""

ENDED_SHARE = 0.1
"""A connection takes with it what it received since the last reading. Where more than this share of those seen did, the
sum says little."""


class Reading(NamedTuple):
    received_bytes: int
    """Since the worker's start. ``NOT_MEASURED``: connections come and go too fast, or the system does not tell."""
    connections: int
    """Open now."""


class Received:
    """Connections that were there at its construction are the training process's: a forked worker has them too.

    Its calls keep the interpreter lock, each for less than a microsecond: waiting for it again costs up to 5 ms.
    """

    def __init__(self) -> None:
        """Raises:
        OSError: the system does not list open files, or there are too many.
        """
        import ctypes

        self._getsockopt = ctypes.PyDLL(None).getsockopt
        self._answer = ctypes.create_string_buffer(256)
        self._length = ctypes.c_uint32()
        self._by_reference = ctypes.byref(self._length)
        self._inherited = self._connections().keys()
        self._seen: dict[int, int] = {}
        self._ended_bytes = 0
        self._ended = 0
        self._met = 0
        self.due_ns = 0

    def read(self) -> Reading:
        """Raises: as the constructor."""
        found = {cookie: received for cookie, received in self._connections().items() if cookie not in self._inherited}
        ended = self._seen.keys() - found.keys()
        self._ended_bytes += sum(self._seen[cookie] for cookie in ended)
        self._ended += len(ended)
        self._met += len(found)
        self._seen = found
        is_known = self._ended <= ENDED_SHARE * self._met
        return Reading(self._ended_bytes + sum(found.values()) if is_known else NOT_MEASURED, len(found))

    def rest(self, begun_ns: int, ended_ns: int) -> None:
        """The next reading is due after a pause."""
        self.due_ns = ended_ns + max(PAUSE_NS, COST_SHARE * (ended_ns - begun_ns))

    def _connections(self) -> dict[int, int]:
        """Bytes received by each of the process's TCP connections, by the kernel's cookie of the socket."""
        files = os.listdir("/proc/self/fd")  # noqa: PTH208  # names alone, in one call
        if len(files) > MOST_FILES:
            raise OSError(f"{len(files)} open files")
        found = {}
        for name in files:
            received = self._asked(int(name), *TCP_INFO)
            cookie = None if received is None else self._asked(int(name), *COOKIE)
            if received is not None and cookie:
                found[cookie] = received
        return found

    def _asked(self, file: int, level: int, option: int, position: int) -> int | None:
        """The number at that place of a socket's option; ``None``: no such socket, or a kernel that reports less."""
        self._length.value = len(self._answer)
        if self._getsockopt(file, level, option, self._answer, self._by_reference) != 0:
            return None
        end = position + 8
        return int.from_bytes(self._answer.raw[position:end], "little") if self._length.value >= end else None
