"""One file of windows: begun with a first frame, appended to until it is full, forgotten as a whole."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from io import FileIO
from pathlib import Path

from underfed.collector.spool.frames import Frame, read_segment
from underfed.collector.spool.spool_directory import SpoolDirectory, spares
from underfed.exchange.run_files import make_private


class Segment:
    """Numbers say the order of segments, wherever they lie."""

    __slots__ = ("_file", "home", "number", "size", "unsent")

    def __init__(self, home: SpoolDirectory, number: int) -> None:
        """One that lies there; ``begin`` makes a new one."""
        self.home = home
        self.number = number
        self.unsent: Counter[str] = Counter()
        """Windows of each stream in it that the service does not have."""
        self.size = self.path.stat().st_size if self.path.exists() else 0
        self._file: FileIO | None = None

    @property
    def path(self) -> Path:
        return self.home.path(self.number)

    @classmethod
    def begin(cls, home: SpoolDirectory, number: int, stream: str, frame: bytes) -> Segment:
        """A new one with this frame in it.

        Raises:
            OSError: the home does not take it. Nothing is left there.
        """
        segment = cls(home, number)
        make_private(home.directory)
        segment._file = FileIO(segment.path, "xb")
        try:
            segment.append(stream, frame)
        except OSError:
            segment.remove()
            raise
        return segment

    def takes(self, size: int) -> bool:
        """It is being written, has room below its bound, and nobody removed or renamed it."""
        if self._file is None or self.size + size > self.home.segment_bytes:
            return False
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self._file.fileno()))
        except OSError:
            return False

    def append(self, stream: str, frame: bytes) -> None:
        """Write a frame to one that is being written.

        Raises:
            OSError: the disk does not take it. The segment is as it was.
        """
        if self._file is None:
            raise ValueError(f"{self.path} is written no more")
        try:
            _write(self._file, frame)
        except OSError:
            # Otherwise what is appended next would lie behind a torn frame.
            self._file.truncate(self.size)
            self._file.seek(self.size)
            raise
        self.size += len(frame)
        self.unsent[stream] += 1

    def frames(self, offset: int = 0) -> Iterator[Frame]:
        """None where somebody removed the file."""
        with suppress(FileNotFoundError):
            yield from read_segment(self.path, self.number, offset)

    def move(self, home: SpoolDirectory) -> None:
        """To the directory that did not take it at first.

        Raises:
            OSError: that is still so. The segment is where it was.
        """
        fresh = home.path(self.number).with_suffix(".moving")
        try:
            with FileIO(fresh, "wb") as file:
                _write(file, self.path.read_bytes())
            fresh.rename(home.path(self.number))
        finally:
            fresh.unlink(missing_ok=True)
        self.path.unlink()
        self.home = home

    def close(self) -> None:
        """It is written no more."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def remove(self) -> None:
        self.close()
        with suppress(OSError):
            self.path.unlink()


def _write(file: FileIO, content: bytes) -> None:
    """All of it; a full disk may take a part, and one that is nearly full is left to others."""
    if not spares(file.fileno(), len(content)) or file.write(content) < len(content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
