"""Keeps every window until the service has it: bounded, append-only, safe against a crash at any moment.

DATA/spool/RUN_ID@HOSTNAME/      lock  00000001.segment …  progress.json  rejected/
RINGS/RUN_ID/spool/              00000004.segment …: the fallback, for what the disk did not take

A full segment is followed by a new one, and removed when all of it was acknowledged; each window tries the disk
first. One process holds a spool at a time; within it one thread appends and another reads.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from underfed.collector.spool.all_spools import AllSpools
from underfed.collector.spool.segment import Label, Segment, SpooledWindow, encode_frame
from underfed.collector.spool.spool_directory import BOUND_BYTES, FALLBACK_BYTES, SpoolDirectory
from underfed.host.files import write_atomically

REJECTED_KEPT = 16
"""The newest windows that the service rejected are kept for inspection."""

PROGRESS = "progress.json"
REJECTED = "rejected"


class Spool:
    """Windows of one run on one host, in the order they were appended. Disk errors raise nothing here."""

    def __init__(
        self,
        directory: Path,
        bound_bytes: int = BOUND_BYTES,
        fallback: Path | None = None,
        others: AllSpools | None = None,
    ) -> None:
        """``others``: all spools there, of which this is one, and which share a bound."""
        self.directory = directory
        self._others = others
        if others is not None:
            bound_bytes = min(bound_bytes, others.bound_bytes)
        self._homes = [SpoolDirectory(directory, bound_bytes)]
        if fallback is not None:
            self._homes.append(SpoolDirectory(fallback, min(bound_bytes, FALLBACK_BYTES)))
        self._changed = threading.Condition()
        progress = self._read_progress()
        segment, offset = progress.get("position", (0, 0))
        self._position: tuple[int, int] = segment, offset
        self.dropped: Counter[str] = Counter(progress.get("dropped"))
        """Windows of each stream that no disk took, that the bound removed unsent, or whose files are gone."""
        self._holes: set[str] = set()
        self.rejected: Counter[str] = Counter(progress.get("rejected"))
        self.resume: dict[str, Mapping[str, Any]] = dict(progress.get("resume", {}))
        """The newest ``resume`` of each stream, also of windows sent long ago."""
        found = {number: Segment(home, number) for home in reversed(self._homes) for number in home.numbers()}
        self._segments = [found[number] for number in sorted(found)]
        self._count_unsent()

    @property
    def unsent(self) -> int:
        """Windows that the service does not have."""
        with self._changed:
            return sum(segment.unsent.total() for segment in self._segments)

    def append(self, label: Label, body: bytes) -> bool:
        """Store a window; the oldest segments are removed at the bound. ``False``: no directory takes it."""
        frame = encode_frame(label, body)
        with self._changed:
            if not any(self._append_to(home, label.stream, frame) for home in self._homes):
                self._drop(Counter([label.stream]))
                return False
            self.resume[label.stream] = label.resume
            self._changed.notify_all()
            return True

    def take_holes(self) -> set[str]:
        """Streams of which a window was dropped since the last call: it may have held the facts of run and loaders."""
        with self._changed:
            holes, self._holes = self._holes, set()
            return holes

    def peek(self, timeout_s: float = 0.0) -> SpooledWindow | None:
        """The oldest window that was not acknowledged; waits for one at most ``timeout_s``.

        Raises:
            OSError: it cannot be read now.
        """
        with self._changed:
            if not self.unsent:
                self._changed.wait(timeout_s)
            frame = next(self._frames(), None)
            if frame is None:
                self._remove_unreadable()
            return frame

    def wake(self) -> None:
        """End the wait of ``peek()``."""
        with self._changed:
            self._changed.notify_all()

    def acknowledge(self, frame: SpooledWindow) -> None:
        """The service has the window: drop it and everything before it."""
        with self._changed:
            self._move_on(frame)

    def reject(self, frame: SpooledWindow) -> None:
        """The service rejected the window for good: put it into ``rejected/``, count it, and go on to the next one."""
        with self._changed:
            self.rejected[frame.label.stream] += 1
            with suppress(OSError):
                self._put_aside(frame)
            self._move_on(frame)

    def go_back(self, stream: str, window_index: int) -> bool:
        """Read again from this window on. ``False``: it is no longer in the spool."""
        with self._changed:
            before = (0, 0)
            for frame in self._frames(before):
                if before >= self._position:
                    break
                if (frame.label.stream, frame.label.window_index) == (stream, window_index):
                    self._position = before
                    self._count_unsent()
                    return True
                before = (frame.segment, frame.end)
            return False

    def close(self, is_over: bool = False) -> None:
        """Close the spool. Of a run that has ended and was sent only rejected windows are kept."""
        with self._changed:
            for segment in self._segments:
                segment.close()
            if self.unsent:
                return
            for segment in list(self._segments):
                self._remove(segment)
            for home in self._homes:
                with suppress(OSError):
                    if is_over:
                        (home.directory / PROGRESS).unlink(missing_ok=True)
                    if home is not self._homes[0]:
                        home.directory.rmdir()

    def _append_to(self, home: SpoolDirectory, stream: str, frame: bytes) -> bool:
        """``False``: the directory does not take it."""
        self._make_room(home, len(frame))
        newest = self._segments[-1] if self._segments else None
        try:
            if newest is not None and newest.home is home and newest.takes(len(frame)):
                newest.append(stream, frame)
            else:
                number = max(self._position[0], newest.number if newest else 0) + 1
                self._segments.append(Segment.begin(home, number, stream, frame))
                if newest is not None:
                    newest.close()
        except OSError:
            return False
        if home is self._homes[0]:
            self._move_to_disk()
        return True

    def _move_to_disk(self) -> None:
        """The disk takes windows again: move those in memory there."""
        home = self._homes[0]
        for segment in [segment for segment in self._segments if segment.home is not home]:
            self._make_room(home, segment.size)
            with suppress(OSError):
                segment.move(home)

    def _make_room(self, home: SpoolDirectory, size: int) -> None:
        """Remove the oldest windows of a directory at its bound. Where a segment begins on the disk, also at the bound
        of all spools: those of ended runs first."""
        here = [segment for segment in self._segments if segment.home is home]
        ranks = len({stream.partition("-")[0] for stream in self.resume}) if home is self._homes[0] else 1
        while here and sum(segment.size for segment in here) + size > home.bound_bytes * max(1, ranks):
            self._remove_oldest(here)
        newest = self._segments[-1] if self._segments else None
        if self._others is None or home is not self._homes[0] or (newest is not None and newest.takes(size)):
            return
        excess = self._others.make_room(home.segment_bytes, self.directory)
        while here and excess > 0:
            excess -= self._remove_oldest(here)

    def _remove_oldest(self, segments: list[Segment]) -> int:
        """Returns its size."""
        oldest = segments.pop(0)
        if self._position[0] == oldest.number:
            self._position = oldest.number + 1, 0
        self._remove(oldest)
        self._write_progress()
        return oldest.size

    def _move_on(self, frame: SpooledWindow) -> None:
        if (frame.segment, frame.end) <= self._position:
            return
        self._position = frame.segment, frame.end
        for segment in [segment for segment in self._segments if segment.number <= frame.segment]:
            if segment.number == frame.segment:
                segment.unsent[frame.label.stream] -= 1
            else:
                self._remove(segment)
        self._write_progress()

    def _frames(self, start: tuple[int, int] | None = None) -> Iterator[SpooledWindow]:
        number, offset = start or self._position
        for segment in self._segments:
            if segment.number >= number:
                yield from segment.frames(offset if segment.number == number else 0)

    def _count_unsent(self) -> None:
        """Count all unsent windows, and read how far their streams have come."""
        for segment in self._segments:
            segment.unsent.clear()
        by_number = {segment.number: segment for segment in self._segments}
        for frame in self._frames():
            by_number[frame.segment].unsent[frame.label.stream] += 1
            self.resume[frame.label.stream] = frame.label.resume

    def _remove_unreadable(self) -> None:
        """Drop windows that were counted and cannot be read: their file was removed or truncated."""
        for segment in [segment for segment in self._segments if segment.unsent.total()]:
            self._remove(segment)

    def _remove(self, segment: Segment) -> None:
        """Remove a segment; unsent windows in it are lost."""
        self._segments.remove(segment)
        self._drop(+segment.unsent)
        segment.remove()

    def _drop(self, windows: Counter[str]) -> None:
        self.dropped.update(windows)
        self._holes.update(windows)

    def _put_aside(self, frame: SpooledWindow) -> None:
        aside = self.directory / REJECTED
        aside.mkdir(mode=0o700, exist_ok=True)
        (aside / f"{frame.label.stream}-{frame.label.window_index:08}.json.gz").write_bytes(frame.body)
        for path in sorted(aside.iterdir())[:-REJECTED_KEPT]:
            path.unlink()

    def _read_progress(self) -> Mapping[str, Any]:
        """The file is in the fallback directory only where the disk did not take it."""
        for home in reversed(self._homes):
            try:
                progress: Mapping[str, Any] = json.loads((home.directory / PROGRESS).read_text())
            except (OSError, ValueError):
                continue
            return progress
        return {}

    def _write_progress(self) -> None:
        """Write it to the first directory that takes it. Where none does, the next process sends some windows again."""
        progress = json.dumps(
            {
                "position": self._position,
                "dropped": self.dropped,
                "rejected": self.rejected,
                "resume": self.resume,
            }
        )
        for index, home in enumerate(self._homes):
            with suppress(OSError):
                home.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_atomically(home.directory / PROGRESS, progress)
                for later in self._homes[index + 1 :]:
                    (later.directory / PROGRESS).unlink(missing_ok=True)
                return
