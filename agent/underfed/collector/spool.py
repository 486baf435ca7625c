"""Keeps every window on disk until the service has it: bounded, append-only, safe against a crash at any moment.

DATA/spool/RUN_ID@HOSTNAME/      lock  00000001.segment …  progress.json  rejected/

A full segment is followed by a new one, and removed when all of it was acknowledged. One process holds a spool at
a time; within it one thread appends and another reads.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import Any

from underfed.collector.frames import Frame, Label, encode, read_segment
from underfed.rundir import write_atomically

BOUND_BYTES = 256 << 20
"""About 48 hours of one rank that posts each second."""

SEGMENTS = 16
"""The bound is kept by dropping whole segments: a sixteenth of it at a time."""

REJECTED_KEPT = 16
"""Windows that the service will never take are put aside to be looked at, the newest ones."""

PROGRESS = "progress.json"
REJECTED = "rejected"


class Spool:
    """Windows of one run on one host, in the order they were appended.

    Raises:
        OSError: the directory cannot be used.
    """

    def __init__(self, directory: Path, bound_bytes: int = BOUND_BYTES) -> None:
        self.directory = directory
        self._segment_bytes = max(1, bound_bytes // SEGMENTS)
        self._changed = threading.Condition()
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        progress = self._read_progress()
        segment, offset = progress.get("position", (0, 0))
        self._position: tuple[int, int] = segment, offset
        self.dropped: Counter[str] = Counter(progress.get("dropped"))
        """Windows of each stream that were not kept, or pushed out unsent by the bound."""
        self.rejected: Counter[str] = Counter(progress.get("rejected"))
        self.resume: dict[str, Mapping[str, Any]] = dict(progress.get("resume", {}))
        """The newest ``resume`` of each stream, also of windows sent long ago."""
        self._segments = sorted(int(path.stem) for path in directory.glob("*.segment"))
        self._file: FileIO | None = None
        self._size = 0
        self.unsent = 0
        for frame in self._frames():
            self.unsent += 1
            self.resume[frame.label.stream] = frame.label.resume
        # Never appended to an old segment: it may end in a torn frame.
        self._open_segment()

    def append(self, label: Label, body: bytes) -> bool:
        """Keep a window; oldest segments go when the bound is passed. ``False``: the disk does not take it."""
        frame = encode(label, body)
        with self._changed:
            if self._size and self._size + len(frame) > self._segment_bytes:
                self._open_segment()
            if not self._write(frame):
                self.dropped[label.stream] += 1
                return False
            self.unsent += 1
            self.resume[label.stream] = label.resume
            while len(self._segments) > SEGMENTS:
                self._drop_oldest()
            self._changed.notify_all()
            return True

    def peek(self, timeout_s: float = 0.0) -> Frame | None:
        """The oldest window that was not acknowledged; waits for one at most ``timeout_s``."""
        with self._changed:
            if not self.unsent:
                self._changed.wait(timeout_s)
            return next(self._frames(), None)

    def wake(self) -> None:
        """End the wait of ``peek()``."""
        with self._changed:
            self._changed.notify_all()

    def acknowledge(self, frame: Frame) -> None:
        """The service has it: it is forgotten, and everything before it."""
        with self._changed:
            self._pass(frame)

    def reject(self, frame: Frame) -> None:
        """The service will never take it: it is put aside and counted, and the next one's turn comes."""
        with self._changed:
            self.rejected[frame.label.stream] += 1
            aside = self.directory / REJECTED
            aside.mkdir(mode=0o700, exist_ok=True)
            (aside / f"{frame.label.stream}-{frame.label.window_index:08}.json.gz").write_bytes(frame.body)
            for path in sorted(aside.iterdir())[:-REJECTED_KEPT]:
                path.unlink()
            self._pass(frame)

    def go_back(self, stream: str, window_index: int) -> bool:
        """Read again from this window, if it still is here. ``False``: it is gone."""
        with self._changed:
            before = (self._segments[0], 0)
            for frame in self._frames(before):
                if before >= self._position:
                    break
                if (frame.label.stream, frame.label.window_index) == (stream, window_index):
                    self._position = before
                    self.unsent = sum(1 for _ in self._frames())
                    return True
                before = (frame.segment, frame.end)
            return False

    def close(self, is_over: bool = False) -> None:
        """Of a run that is over and sent, nothing is kept but windows that were put aside."""
        with self._changed:
            if self._file is not None:
                self._file.close()
            if self.unsent:
                return
            for segment in list(self._segments):
                self._remove(segment)
            if is_over:
                (self.directory / PROGRESS).unlink(missing_ok=True)

    def _pass(self, frame: Frame) -> None:
        if (frame.segment, frame.end) <= self._position:
            return
        self._position = frame.segment, frame.end
        self.unsent -= 1
        for segment in [number for number in self._segments if number < frame.segment]:
            self._remove(segment)
        self._write_progress()

    def _frames(self, start: tuple[int, int] | None = None) -> Iterator[Frame]:
        segment, offset = start or self._position
        for number in self._segments:
            if number >= segment:
                yield from read_segment(self._path(number), number, offset if number == segment else 0)

    def _drop_oldest(self) -> None:
        oldest, following = self._segments[0], self._segments[1]
        for frame in self._frames():
            if frame.segment > oldest:
                break
            self.dropped[frame.label.stream] += 1
            self.unsent -= 1
        self._remove(oldest)
        self._position = max(self._position, (following, 0))
        self._write_progress()

    def _open_segment(self) -> None:
        if self._file is not None:
            self._file.close()
        number = max([self._position[0], *self._segments], default=0) + 1
        self._file = FileIO(self._path(number), "ab")
        self._segments.append(number)
        self._size = 0

    def _write(self, frame: bytes) -> bool:
        if self._file is None:
            return False
        try:
            written = self._file.write(frame)
        except OSError:
            written = 0
        if written == len(frame):
            self._size += len(frame)
            return True
        # Otherwise what is appended next would lie behind a torn frame.
        self._file.truncate(self._size)
        return False

    def _remove(self, segment: int) -> None:
        self._segments.remove(segment)
        self._path(segment).unlink(missing_ok=True)

    def _path(self, segment: int) -> Path:
        return self.directory / f"{segment:08}.segment"

    def _read_progress(self) -> Mapping[str, Any]:
        try:
            progress: Mapping[str, Any] = json.loads((self.directory / PROGRESS).read_text())
        except (FileNotFoundError, ValueError):
            return {}
        return progress

    def _write_progress(self) -> None:
        progress = {
            "position": self._position,
            "dropped": self.dropped,
            "rejected": self.rejected,
            "resume": self.resume,
        }
        write_atomically(self.directory / PROGRESS, json.dumps(progress))
