"""What loading one batch takes of the calling thread and its process: CPU time, waiting for a CPU, bytes read."""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

from underfed.exchange.ring import RingWriter
from underfed.exchange.ring_format import BATCH, BATCH_DETAIL, NOT_MEASURED, head
from underfed.host.clock import Clock
from underfed.host.own_file import OwnFile

try:
    import resource
except ImportError:  # a system that does not tell

    def _programs_cpu_ns() -> int:
        return 0

else:

    def _programs_cpu_ns() -> int:
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return round((spent.ru_utime + spent.ru_stime) * 1e9)


ASKED, READ = 1, 9
"""Positions of the values of ``rchar`` and ``read_bytes`` in /proc/PID/io (proc_pid_io(5))."""


def process_cpu_ns() -> int:
    """CPU time of a worker's process and of the programs that it ran, such as decoders, as far as these have ended."""
    return time.process_time_ns() + _programs_cpu_ns()


class BatchUsage(NamedTuple):
    """A difference of two readings."""

    cpu_ns: int
    runqueue_ns: int
    process_cpu_ns: int
    asked_bytes: int
    read_bytes: int
    process_total_ns: int
    """CPU time of the process since its start."""


class Probe:
    """Measures the time between ``begin()`` and ``end()`` on one thread, in about 7 µs altogether (Linux) while caches
    are warm. Between batches they are not, and it takes 35 to 70. ``begin_again()`` takes 1 or 2: the next ``end()``
    measures the thread's CPU time since then, and all else since the last ``end()``.

    Holds two file descriptors as long as it lives. What /proc does not have is ``NOT_MEASURED``.

    Args:
        process_cpu_ns: reads the CPU time of the process. The training process does not count programs that it ran:
            workers that have ended are among them.
    """

    __slots__ = ("_at_begin", "_io", "_own_bytes", "_process_cpu_ns", "_schedstat", "_started_cpu_ns", "_thread")

    def __init__(self, process_cpu_ns: Clock = time.process_time_ns) -> None:
        self._process_cpu_ns = process_cpu_ns
        self._io = OwnFile("/proc/self/io")
        self._schedstat: OwnFile | None = None
        self._thread = -1
        self._own_bytes = 0
        self._started_cpu_ns = 0
        self._at_begin = (0, 0, 0, 0)

    def begin(self) -> None:
        thread = threading.get_native_id()
        if thread != self._thread:
            # The open file belongs to the thread that opened it.
            self._schedstat, self._thread = OwnFile("/proc/thread-self/schedstat"), thread
        runqueue = self.waited_ns()
        asked, read = self._bytes()
        self._started_cpu_ns = time.thread_time_ns()
        self._at_begin = (runqueue, self._process_cpu_ns() - self._started_cpu_ns, asked, read)

    def begin_again(self) -> None:
        self._started_cpu_ns = time.thread_time_ns()

    def cpu_ns(self) -> int:
        """CPU time of the thread since ``begin()`` or ``begin_again()``."""
        return time.thread_time_ns() - self._started_cpu_ns

    def end(self) -> BatchUsage:
        """In the reverse order, so that our own readings of /proc stay outside, except that of ``io``."""
        process_cpu, cpu = self._process_cpu_ns(), time.thread_time_ns()
        own_bytes = self._own_bytes
        asked, read = self._bytes()
        runqueue = self.waited_ns()
        others_cpu, spent = process_cpu - cpu, cpu - self._started_cpu_ns
        runqueue_0, others_cpu_0, asked_0, read_0 = self._at_begin
        self._at_begin = (runqueue, others_cpu, asked, read)
        return BatchUsage(
            spent,
            NOT_MEASURED if runqueue < 0 else runqueue - runqueue_0,
            spent + others_cpu - others_cpu_0,
            NOT_MEASURED if asked < 0 else max(0, asked - asked_0 - own_bytes),
            NOT_MEASURED if read < 0 else read - read_0,
            process_cpu,
        )

    def waited_ns(self) -> int:
        """How long the thread has waited for a core since it started. Between ``begin()`` and ``end()``."""
        content = self._schedstat.read(64) if self._schedstat is not None else None
        if content is None:
            return NOT_MEASURED
        self._own_bytes += len(content)
        return int(content.split()[1])

    def _bytes(self) -> tuple[int, int]:
        try:
            content = self._io.read(512)
        except PermissionError:  # a process that may not be inspected, such as one with raised privileges
            self._io.close()
            content = None
        if content is None:
            return NOT_MEASURED, NOT_MEASURED
        self._own_bytes = len(content)
        words = content.split()
        return int(words[ASKED]), int(words[READ])


def write_batch(
    ring: RingWriter,
    epoch: int,
    index: int,
    span_ns: tuple[int, int],
    usage: BatchUsage,
    collate_ns: int,
    samples: int,
) -> None:
    """The two records of a batch that was measured. ``span_ns``: when loading it began, and ended."""
    ring.write(head(BATCH, epoch), index, *span_ns, usage.cpu_ns, usage.runqueue_ns, collate_ns)
    bytes_read = usage.asked_bytes, usage.read_bytes
    ring.write(head(BATCH_DETAIL, epoch), index, usage.process_cpu_ns, *bytes_read, samples, usage.process_total_ns)
