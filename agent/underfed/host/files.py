"""Files that are written as a whole, and directories that are read again only where something changed."""

from __future__ import annotations

import os
import time
from pathlib import Path

RESOLUTION_NS = 100_000_000
"""File systems keep times of changes to 4 or 10 ms: two changes, before and after a check, may have the same one."""


def write_atomically(path: Path, text: str) -> None:
    """A reader sees the old file or the new one, never a part. Where it cannot be written nothing is left."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_text(text)
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise


class DirectoryChanges:
    """Whether anything was created, replaced or removed in a directory since the last check; cheaper than a listing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._changed_ns: int | None = None

    def has_changed(self) -> bool:
        """True also where it is not certain yet; false for a directory that was removed."""
        try:
            changed_ns = self._path.stat().st_mtime_ns
        except FileNotFoundError:
            return False
        has_changed = changed_ns != self._changed_ns or time.time_ns() - changed_ns < RESOLUTION_NS
        self._changed_ns = changed_ns
        return has_changed
