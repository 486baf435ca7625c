"""Whether SQLite's file is intact, as far as milliseconds before the start of a service allow to check.

The large tables are checked when they are read, and in full by ``underfed backup``.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from sqlalchemy import Engine

from underfed_server.errors import StartError
from underfed_server.store.databases.trouble import CORRUPTED, trouble_of

SMALL_TABLES = ("sqlite_schema", "alembic_version", "run", "token", "session", "project")
"""Tables that every answer needs. Some thousand runs are a few megabytes."""


def require_size(engine: Engine, database: Path) -> None:
    """Raises:
    StartError: the file is shorter than its header says: a copy was interrupted, or a disk lost its end.
    """
    with _asking(engine, database) as cursor:
        # The missing end may be in the write-ahead log: sizes can be compared only once all of it is in the file.
        _, logged, moved = cursor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        pages, page_bytes = (cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    if logged == moved and database.stat().st_size < pages * page_bytes:
        raise StartError(f"{database} cannot be used: {CORRUPTED}")


def require_sound(engine: Engine, database: Path) -> None:
    """Raises:
    StartError: a table that every answer needs is damaged.
    """
    with _asking(engine, database) as cursor:
        for table in SMALL_TABLES:
            found = cursor.execute(f"PRAGMA quick_check('{table}')").fetchone()[0]
            if found != "ok":
                raise StartError(f"{database} cannot be used: {CORRUPTED} ({found})")


@contextmanager
def _asking(engine: Engine, database: Path) -> Iterator[sqlite3.Cursor]:
    """Outside of any transaction."""
    try:
        connection = engine.raw_connection()
        try:
            yield cast(sqlite3.Cursor, connection.cursor())
        finally:
            connection.close()
    except sqlite3.DatabaseError as error:
        raise StartError(f"{database} cannot be used: {trouble_of(error) or error}") from error
