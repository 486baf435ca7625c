"""Files that are written as a whole, and directories that are read again only where something changed."""

from __future__ import annotations

import os
import time
from pathlib import Path

RESOLUTION_NS = 100_000_000
"""File systems keep the time of a change to 4 or 10 ms: what changed just before a look may change again unseen."""


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
    """Whether anything was made, replaced or removed in a directory since the last look: cheaper than looking."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._changed_ns: int | None = None

    def has_changed(self) -> bool:
        """Also where it cannot be told yet. One that was removed has not: nothing in it can be looked at."""
        try:
            changed_ns = self._path.stat().st_mtime_ns
        except FileNotFoundError:
            return False
        has_changed = changed_ns != self._changed_ns or time.time_ns() - changed_ns < RESOLUTION_NS
        self._changed_ns = changed_ns
        return has_changed
