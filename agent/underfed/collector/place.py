"""Where the windows of a run on this host are kept."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from underfed.collector.spool import BOUND_BYTES
from underfed.rank import slug
from underfed.rundir import LOCK

SPOOL = "spool"
MEMORY_BOUND_BYTES = 8 << 20
"""Beside the rings, in memory, where the data directory cannot be used: hours are kept then, not days."""


def spool_directory(data_directory: Path, run_id: str, hostname: str) -> Path:
    """Hosts may share a data directory, and each has ranks of its own to tell of."""
    return data_directory / SPOOL / f"{run_id}@{slug(hostname)}"


def usable_place(wanted: Path, run_directory: Path) -> tuple[Path, int]:
    """``(directory, bound in bytes)``: the wanted one, or one beside the rings where that cannot be written."""
    try:
        wanted.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return run_directory / SPOOL, MEMORY_BOUND_BYTES
    if not os.access(wanted, os.W_OK | os.X_OK):
        return run_directory / SPOOL, MEMORY_BOUND_BYTES
    return wanted, BOUND_BYTES


def leave(directory: Path) -> None:
    """Remove a directory in which nothing but its lock is left. Someone else may be moving in: then it stays."""
    (directory / LOCK).unlink(missing_ok=True)
    with suppress(OSError):
        directory.rmdir()
