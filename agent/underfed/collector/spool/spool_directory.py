"""Where the windows of a run on this host are stored: a directory of segments, with a bound and a reserve."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from underfed.exchange.rank import slug
from underfed.host.lock import LOCK, locked

SPOOL = "spool"
SEGMENTS = 16
"""The bound is kept by dropping whole segments: a sixteenth of it at a time."""

BOUND_BYTES = 640 << 20
"""For each rank: 48 hours of steps of 20 ms with four workers, a window of 3.1 KB each second where others fill the
cores and no two figures are alike, and a fifth more."""

FALLBACK_BYTES = 8 << 20
"""Bound of the fallback in memory, beside the rings: it holds most of an hour, not days."""

SPARED_FRACTION = 0.05
SPARED_BYTES = 1 << 30
"""Bytes, or a twentieth of a small disk, that are always left free: the training's checkpoints need them more."""


@dataclass(frozen=True, slots=True)
class SpoolDirectory:
    """``bound_bytes`` is for the segments in it, for each rank whose windows are kept."""

    directory: Path
    bound_bytes: int

    @property
    def segment_bytes(self) -> int:
        return max(1, self.bound_bytes // SEGMENTS)

    def path(self, number: int) -> Path:
        return self.directory / f"{number:08}.segment"

    def numbers(self) -> list[int]:
        """Numbers of the segments in it."""
        return sorted(int(path.stem) for path in segments_in(self.directory) if path.stem.isdecimal())


def leaves_room(file: int, size: int) -> bool:
    """Whether the file system of the open ``file`` keeps room for others when ``size`` bytes more are written."""
    disk = os.fstatvfs(file)
    spared = min(SPARED_BYTES, int(disk.f_blocks * disk.f_frsize * SPARED_FRACTION))
    return disk.f_bavail * disk.f_frsize - size >= spared


def spool_directory(data_directory: Path, run_id: str, hostname: str) -> Path:
    """One for each host: hosts may share a data directory, and each sends its own ranks' windows."""
    return data_directory / SPOOL / f"{run_id}@{slug(hostname)}"


def host_of(directory: Path) -> str:
    """The inverse, of ``slug(hostname)``."""
    return directory.name.rpartition("@")[2]


def segments_in(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.segment"))


@contextmanager
def claimed(directory: Path, patience_s: float = 0.0) -> Iterator[None]:
    """Hold the lock of a spool within the block. A disk that takes no lock takes no window either, of anyone.

    Raises:
        SpoolLockedError: another process has it.
    """
    with ExitStack() as stack:
        with suppress(OSError):
            stack.enter_context(locked(directory, patience_s))
        yield


def leave(directory: Path) -> None:
    """Remove a directory in which nothing but its lock is left, which is held. It stays if another process has put
    something there, and is that one's to leave."""
    with suppress(OSError):
        (directory / LOCK).unlink(missing_ok=True)
        directory.rmdir()
