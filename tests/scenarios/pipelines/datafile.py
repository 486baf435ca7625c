"""A file of samples on a disk, and how a job reads it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def data_file(size_bytes: int) -> Iterator[Path]:
    """Create it: random bytes, written through to the disk; they stay in the page cache."""
    with tempfile.NamedTemporaryFile(prefix="samples-", suffix=".bin", dir=os.environ.get("UNDERFED_DIR")) as stream:
        left = size_bytes
        while left:
            left -= stream.write(os.urandom(min(left, 1 << 24)))
        stream.flush()
        os.fsync(stream.fileno())
        yield Path(stream.name)


def forget(path: Path) -> None:
    """Empty the page cache of the file."""
    with path.open("rb") as stream:
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Parts:
    """Reads parts of a file, without read-ahead, from a descriptor that each process opens for itself.

    A file of few parts is read again and again. Where it must not be cached, a part is evicted from the page
    cache before it is read, so that it comes from the disk each time; the whole file must have been evicted before, as
    the page cache keeps what was written together as one piece.
    """

    def __init__(self, path: Path, part_bytes: int, *, is_cached: bool = True) -> None:
        self.path = path
        self.part_bytes = part_bytes
        self.is_cached = is_cached
        self.size_bytes = path.stat().st_size
        self.descriptor: int | None = None

    def read(self, part: int) -> None:
        if self.descriptor is None:
            self.descriptor = os.open(self.path, os.O_RDONLY)
            os.posix_fadvise(self.descriptor, 0, 0, os.POSIX_FADV_RANDOM)
        offset = part * self.part_bytes % self.size_bytes
        if not self.is_cached:
            os.posix_fadvise(self.descriptor, offset, self.part_bytes, os.POSIX_FADV_DONTNEED)
        os.pread(self.descriptor, self.part_bytes, offset)
