"""A file of windows, one checksummed frame after another: appended whole, read up to the first torn one."""

from __future__ import annotations

import errno
import json
import os
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO

from underfed.collector.spool.spool_directory import SpoolDirectory, leaves_room
from underfed.exchange.run_files import make_private

HEAD = struct.Struct("<4sIII")
"""magic, bytes of the label, bytes of the body, CRC-32 of both."""

MAGIC = b"UFS2"


@dataclass(frozen=True, slots=True)
class Label:
    """What is known of a stored window without decoding it."""

    stream: str
    """``RANK-INCARNATION``."""
    window_index: int
    previous_window_index: int | None
    resume: Mapping[str, Any]
    """Where the next collector would continue, see ``resume``."""


@dataclass(frozen=True, slots=True)
class SpooledWindow:
    label: Label
    body: bytes
    """As it is sent."""
    segment: int
    end: int
    """Offset in its segment at which the next frame begins."""


def encode_frame(label: Label, body: bytes) -> bytes:
    # Uncompressed it would be a quarter of the segment.
    named = {each.name: getattr(label, each.name) for each in fields(label)}
    text = zlib.compress(json.dumps(named, separators=(",", ":")).encode(), 1)
    return HEAD.pack(MAGIC, len(text), len(body), zlib.crc32(body, zlib.crc32(text))) + text + body


def read_segment(path: Path, segment: int, offset: int = 0) -> Iterator[SpooledWindow]:
    """Frames from ``offset`` on. A torn or damaged one ends it: what follows cannot be trusted to be aligned."""
    with path.open("rb") as file:
        file.seek(offset)
        while (frame := _read_frame(file, segment)) is not None:
            yield frame


def count_frames(path: Path) -> int:
    """How many windows it holds, without reading them. 0 where it cannot be read."""
    count = 0
    with suppress(OSError), path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        while len(head := file.read(HEAD.size)) == HEAD.size:
            magic, text_length, body_length, _ = HEAD.unpack(head)
            if magic != MAGIC or file.seek(text_length + body_length, os.SEEK_CUR) > size:
                break
            count += 1
    return count


def _read_frame(file: BinaryIO, segment: int) -> SpooledWindow | None:
    head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    magic, text_length, body_length, checksum = HEAD.unpack(head)
    if magic != MAGIC:
        return None
    text, body = file.read(text_length), file.read(body_length)
    if zlib.crc32(body, zlib.crc32(text)) != checksum or len(body) < body_length:
        return None
    return SpooledWindow(Label(**json.loads(zlib.decompress(text))), body, segment, file.tell())


class Segment:
    """Numbers give the order of segments across directories."""

    __slots__ = ("_file", "home", "number", "size", "unsent")

    def __init__(self, home: SpoolDirectory, number: int) -> None:
        """A segment that exists; ``begin`` creates a new one."""
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
        """Create a segment with this frame in it.

        Raises:
            OSError: the directory does not take it. Nothing is left there.
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
        """Whether it is being written, has room below its bound, and was not removed or renamed."""
        if self._file is None or self.size + size > self.home.segment_bytes:
            return False
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self._file.fileno()))
        except OSError:
            return False

    def append(self, stream: str, frame: bytes) -> None:
        """Append a frame to a segment that is being written.

        Raises:
            OSError: the disk does not take it. The segment is as it was.
        """
        if self._file is None:
            raise ValueError(f"{self.path} is closed for writing")
        try:
            _write(self._file, frame)
        except OSError:
            # Otherwise the next frame would follow a torn one.
            self._file.truncate(self.size)
            self._file.seek(self.size)
            raise
        self.size += len(frame)
        self.unsent[stream] += 1

    def frames(self, offset: int = 0) -> Iterator[SpooledWindow]:
        """None where somebody removed the file."""
        with suppress(FileNotFoundError):
            yield from read_segment(self.path, self.number, offset)

    def move(self, home: SpoolDirectory) -> None:
        """Move it to the directory that did not take it at first.

        Raises:
            OSError: the directory still does not take it. The segment is where it was.
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
        """Close it for writing."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def remove(self) -> None:
        self.close()
        with suppress(OSError):
            self.path.unlink()


def _write(file: FileIO, content: bytes) -> None:
    """Write all of it; a full disk may take a part, and the rest of a nearly full one is left to others."""
    if not leaves_room(file.fileno(), len(content)) or file.write(content) < len(content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
