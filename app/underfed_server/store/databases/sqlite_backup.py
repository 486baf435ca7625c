"""Copies SQLite's file while a service writes to it: one snapshot, checked, or nothing."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from underfed_server.errors import BackupError

PAGES = 2_048
"""Pages copied between two checks whether to go on: 8 MB."""

Progress = Callable[[float], None]
"""Called with the fraction that is copied."""


def back_up(database: Path, target: Path, progress: Progress | None = None) -> int:
    """Copy ``database`` to ``target``, for its owner alone. Returns its size in bytes.

    The copy is one file that needs no other beside it. It has its name only once it is whole, checked and on disk.

    Raises:
        BackupError: there is no such database, it is damaged, or the copy cannot be written. Nothing is left of it.
    """
    if not database.is_file():
        raise BackupError(f"there is no database at {database}; name it with --db")
    if target.exists():
        raise BackupError(f"{target} exists; back-ups are not overwritten, choose another name")
    partial = target.with_name(f"{target.name}.partial")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    except FileExistsError as error:
        raise BackupError(f"{partial} exists: another back-up runs, or one broke off; remove it then") from error
    except OSError as error:
        raise BackupError(f"{partial} cannot be written: {error.strerror}") from error
    try:
        _copy(database, partial, progress)
        _keep(partial, target)
    except sqlite3.Error as error:
        raise BackupError(f"{database} could not be copied to {target}: {error}") from error
    except OSError as error:
        raise BackupError(f"{target} cannot be written: {error.strerror}") from error
    finally:
        for name in (partial.name, f"{partial.name}-journal", f"{partial.name}-wal", f"{partial.name}-shm"):
            partial.with_name(name).unlink(missing_ok=True)
    return target.stat().st_size


def _copy(database: Path, partial: Path, progress: Progress | None) -> None:
    def copied(status: int, remaining: int, total: int) -> None:  # noqa: ARG001
        if progress is not None:
            progress(1 - remaining / max(total, 1))

    # Read-only: a second connection that moves the log into the file can damage it (see sqlite.py).
    with (
        closing(sqlite3.connect(f"file:{quote(str(database))}?mode=ro", uri=True)) as source,
        closing(sqlite3.connect(partial)) as copy,
    ):
        # In one transaction: otherwise every write meanwhile would make the copy start again.
        source.isolation_level = None
        source.execute("BEGIN")
        source.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        # Unneeded until the file is complete, which is then synced once.
        copy.execute("PRAGMA synchronous=OFF")
        source.backup(copy, pages=PAGES, progress=copied)
        copy.execute("PRAGMA journal_mode=DELETE")
        found = copy.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if found != "ok":
        raise BackupError(f"{database} is damaged, so a copy of it is worth nothing: {found}")


def _keep(partial: Path, target: Path) -> None:
    _bring_to_disk(partial)
    partial.rename(target)
    _bring_to_disk(target.parent)


def _bring_to_disk(path: Path) -> None:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
