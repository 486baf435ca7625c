"""Files that are written as a whole, directories that are removed so, and what is read again only where it changed."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from underfed.host.signal_handlers import passing

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


def remove_directory(directory: Path) -> None:
    """With all that is in it. It loses its name first: what another process created by it meanwhile would stay behind.
    Raises nothing: what cannot be removed stays."""
    nameless = directory.with_name(f".{directory.name}.{os.getpid()}")
    with passing(OSError):
        directory.rename(nameless)
        shutil.rmtree(nameless, ignore_errors=True)
        # A file that was being created at that very moment is found now.
        shutil.rmtree(nameless, ignore_errors=True)


def read_text(path: Path) -> str | None:
    """The text without surrounding blanks; ``None``: the file does not exist, may not be read, or holds no text."""
    with passing(OSError, UnicodeDecodeError):
        return path.read_text().strip()
    return None


class Changes:
    """Whether a file was replaced, or anything in a directory created, replaced or removed, since the last check."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._changed_ns: int | None = None

    def has_changed(self) -> bool:
        """True also while it is uncertain; false for a removed file."""
        try:
            changed_ns = self._path.stat().st_mtime_ns
        except FileNotFoundError:
            return False
        has_changed = changed_ns != self._changed_ns or time.time_ns() - changed_ns < RESOLUTION_NS
        self._changed_ns = changed_ns
        return has_changed
