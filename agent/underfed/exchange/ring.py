"""A ring of 64-byte records in a memory-mapped file: one process writes, another reads, neither waits.

The writer only stores: fields first, the record's own number last, no shared position. The reader knows which
number comes next, so it sees what is new, what was overwritten before it was read, and what is not there yet. A
kill -9 of the writer leaves everything it wrote. A reader calls ``mark()``, lets ``SETTLE_S`` pass, then
``drain()``: by then the stores of every marked record are visible, on processors that reorder them too.
"""

from __future__ import annotations

import itertools
import mmap
import os
import struct
from pathlib import Path

from underfed.errors import RingError
from underfed.exchange.ring_format import Record
from underfed.host.signal_handlers import let_through

RECORD = struct.Struct("@8q")
HEADER = struct.Struct("@8s7q")
"""magic, capacity, writer's pid, five reserved."""

MAGIC = b"UFRING01"
HEADER_BYTES, RECORD_BYTES = HEADER.size, RECORD.size
LAST = 7
"""Position of the number within a record."""

LONGEST_GAP = 8
"""Records in a row whose writer may be interrupted."""

SETTLE_S = 0.001
"""A store buffer drains within microseconds; a millisecond is far above that and costs the collector nothing."""


class RingWriter:
    """The one writer. ``write`` is also inlined in the training thread's hook, where a call would cost a third more.

    ``capacity`` is a power of two. All pages exist before the first record: on a full tmpfs the constructor
    raises ``OSError``, where a store into a missing page would kill the training process with SIGBUS.

    A file without records, left when a signal handler of the program ended this constructor, is used again: the
    collector may have it open.
    """

    __slots__ = ("mask", "memory", "next_number", "pack")

    def __init__(self, path: str | Path, capacity: int) -> None:
        size = HEADER_BYTES + capacity * RECORD_BYTES
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _fill(file, HEADER.pack(MAGIC, capacity, os.getpid(), 0, 0, 0, 0, 0).ljust(size, b"\0"))
            self.memory = mmap.mmap(file, size, flags=mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0))
        except OSError as error:
            let_through(error)
            Path(path).unlink()
            raise
        finally:
            os.close(file)
        self.mask = capacity - 1
        self.pack = RECORD.pack_into
        # count() hands out each number once, also to two threads that iterate one loader.
        self.next_number = itertools.count(1).__next__

    def write(self, head: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0, e: int = 0, f: int = 0) -> None:
        number = self.next_number()
        offset = HEADER_BYTES + (number & self.mask) * RECORD_BYTES
        self.pack(self.memory, offset, head, a, b, c, d, e, f, number)


class RingReader:
    """Reads a ring from another process, beginning with record ``first``.

    Raises:
        RingError: the file is not a ring of this version.
        OSError: it cannot be opened.
    """

    __slots__ = ("_late", "_marked", "_memory", "_words", "capacity", "lost", "next", "pid")

    def __init__(self, path: Path, first: int = 1) -> None:
        with path.open("rb") as file:
            self._memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        # A file that is still being written may be shorter than its header.
        magic, capacity, pid, *_ = HEADER.unpack(self._memory[:HEADER_BYTES].ljust(HEADER_BYTES, b"\0"))
        self.capacity: int = capacity
        self.pid: int = pid
        if magic != MAGIC or len(self._memory) != HEADER_BYTES + self.capacity * RECORD_BYTES:
            self._memory.close()
            raise RingError(f"{path} is not a ring of this version")
        self._words: memoryview[int] = memoryview(self._memory)[HEADER_BYTES:].cast("q")
        self.next = first
        self.lost = 0
        """Records overwritten before they were read."""
        self._marked = first - 1
        self._late: set[int] = set()
        """Records that were missing at the last mark while one behind them was there."""

    def close(self) -> None:
        self._words.release()
        self._memory.close()

    @property
    def marked(self) -> int:
        """How many records ``drain()`` would return, or count as lost."""
        return self._marked - self.next + 1

    def mark(self) -> None:
        """Note the newest record.

        A signal handler of the program may raise between a record's number and the record, which then never comes. One
        that another thread is about to write, beside a thread that has written, is there at the next mark.
        """
        if self._number_at(self.next) > self.next:
            self._marked = self._newest_anywhere()
            return
        late, self._late = self._late, set()
        number = self._first_missing(self.next)
        while (behind := self._next_written(number)) is not None:
            skipped = range(number, behind)
            self._late.update(skipped)
            if not late.issuperset(skipped):
                break
            number = self._first_missing(behind)
        self._marked = number - 1

    def drain(self) -> list[Record]:
        """Everything up to the mark, oldest first. Records that the writer came near during the copy count as lost."""
        self._skip_to(self._oldest_safe(self._marked))
        first = self.next
        records = [self._record(number) for number in range(first, self._marked + 1)]
        if records and self._has_come_near(first):
            self._skip_to(min(self._marked + 1, self._oldest_safe(self._newest_anywhere())))
            records = records[self.next - first :]
        there = [record for number, record in enumerate(records, self.next) if record[LAST] == number]
        self.lost += len(records) - len(there)
        self.next = self._marked + 1
        return there

    def _first_missing(self, number: int) -> int:
        while self._number_at(number) == number:
            number += 1
        return number

    def _next_written(self, missing: int) -> int | None:
        numbers = range(missing + 1, missing + 1 + LONGEST_GAP)
        return next((number for number in numbers if self._number_at(number) == number), None)

    def _has_come_near(self, number: int) -> bool:
        """Whether record ``number`` is no longer safe: one read, where finding the newest takes thousands."""
        first_near = number + 1 - self._oldest_safe(0)
        return self._number_at(first_near) >= first_near

    def _oldest_safe(self, newest: int) -> int:
        """Older records than this may be in the middle of being overwritten. An eighth of the ring is slack."""
        return newest + max(1, self.capacity // 8) - self.capacity

    def _skip_to(self, number: int) -> None:
        if number > self.next:
            self.lost += number - self.next
            self.next = number

    def _newest_anywhere(self) -> int:
        numbers: list[int] = self._words[LAST :: LAST + 1].tolist()
        return max(numbers)

    def _number_at(self, number: int) -> int:
        """The number in the slot that record ``number`` belongs to."""
        found: int = self._words[((number & (self.capacity - 1)) << 3) + LAST]
        return found

    def _record(self, number: int) -> Record:
        start = (number & (self.capacity - 1)) << 3
        a, b, c, d, e, f, g, h = self._words[start : start + 8]
        return a, b, c, d, e, f, g, h


def _fill(file: int, content: bytes) -> None:
    written = 0
    while written < len(content):
        written += os.write(file, content[written:])
