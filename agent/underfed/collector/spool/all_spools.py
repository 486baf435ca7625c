"""All spools of a user in one data directory: together they stay below a bound, and none grows old.

What is removed for that are whole spools of runs that have ended, oldest first. How many windows were lost so is noted
for ``underfed push``, which prints it.
"""

from __future__ import annotations

import json
import math
import platform
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from underfed.collector.spool.segment import count_frames
from underfed.collector.spool.spool_directory import SPOOL, host_of, segments_in
from underfed.exchange.config import SpoolLimits
from underfed.exchange.guard import append_line
from underfed.exchange.rank import slug
from underfed.host.lock import LOCK, held, is_held

REMOVED = "removed.log"
REMOVED_BYTES = 64 << 10
TOO_MUCH, TOO_OLD = "too much", "too old"

STALE_S = 86_400
"""Locks of other hosts do not show everywhere: their spools count as ended once nothing was written for a day."""


@dataclass(frozen=True, slots=True)
class Removed:
    """Of a run on a host: windows that no service has and that are gone."""

    run: str
    windows: int
    reason: str


class AllSpools:
    """Raises nothing for a disk: what cannot be read or removed stays."""

    def __init__(self, data_directory: Path, limits: SpoolLimits) -> None:
        self._data_directory = data_directory
        self._limits = limits

    @property
    def bound_bytes(self) -> int:
        return self._limits.bytes

    def remove_old(self) -> None:
        """Spools of ended runs that nothing was written to for longer than the limit."""
        for directory in self._ended():
            if time.time() - changed_at(directory) > self._limits.age_s:
                self._remove(directory, TOO_OLD)

    def make_room(self, size: int, own: Path) -> int:
        """Remove ended runs' spools until ``size`` more bytes fit. Returns how many bytes too many are left: in ``own``
        and in those of other runs that go on."""
        excess = self._size() + size - self._limits.bytes
        for directory in self._ended() if excess > 0 else []:
            if excess > 0 and directory != own:
                size = size_of(directory)
                self._remove(directory, TOO_MUCH)
                excess -= size - size_of(directory)
        return max(0, excess)

    def note_removed(self, run: str, segments: list[Path], reason: str = TOO_OLD) -> None:
        """Before unsent windows of a run are removed."""
        windows = sum(map(count_frames, segments))
        if windows:
            line = json.dumps([run, windows, reason])
            append_line(self._data_directory / REMOVED, line, REMOVED_BYTES)

    def _size(self) -> int:
        return sum(size_of(directory) for directory in self._directories())

    def _directories(self) -> Iterator[Path]:
        with suppress(OSError):
            yield from (path for path in (self._data_directory / SPOOL).iterdir() if path.is_dir())

    def _ended(self) -> list[Path]:
        """Oldest first. Each is looked at again under its lock before it is removed."""
        ended = []
        for directory in self._directories():
            with suppress(OSError):
                is_here = host_of(directory) == slug(platform.node())
                if (is_here or is_stale(directory)) and not is_held(directory):
                    ended.append((changed_at(directory), directory))
        return [directory for _, directory in sorted(ended)]

    def _remove(self, directory: Path, reason: str) -> None:
        with suppress(OSError), held(directory) as is_ours:
            if is_ours:
                self.note_removed(directory.name, segments_in(directory), reason)
                rmtree(directory, ignore_errors=True)


def take_removed(data_directory: Path) -> list[Removed]:
    """What was noted since the last call."""
    path = data_directory / REMOVED
    try:
        lines = path.read_text().splitlines()
        path.unlink()
    except OSError:
        return []
    found = []
    for line in lines:
        with suppress(ValueError, TypeError):
            found.append(Removed(*json.loads(line)))
    return found


def is_stale(directory: Path) -> bool:
    """Whether nothing was written there for so long that no other host can be writing it."""
    return time.time() - changed_at(directory) > STALE_S


def size_of(directory: Path) -> int:
    """Bytes of all files in it."""
    total = 0
    with suppress(OSError):
        for path in directory.rglob("*"):
            with suppress(OSError):
                total += path.lstat().st_size
    return total


def changed_at(directory: Path) -> float:
    """When something in it was written last; its lock is touched by whoever looks. Infinite where that cannot be read:
    then it is not old."""
    try:
        times = [path.lstat().st_mtime for path in directory.rglob("*") if path.name != LOCK]
        return max(times, default=directory.stat().st_mtime)
    except OSError:
        return math.inf
