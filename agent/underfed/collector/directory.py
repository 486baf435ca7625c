"""Whether anything was made, replaced or removed in a directory since one last looked: cheaper than looking."""

from __future__ import annotations

import time
from pathlib import Path

RESOLUTION_NS = 100_000_000
"""File systems keep the time of a change to 4 or 10 ms: what changed just before a look may change again unseen."""


class Directory:
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
