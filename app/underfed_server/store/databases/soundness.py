"""Whether SQLite's file is whole, as far as that can be told in the milliseconds before a service starts.

The large tables are checked as they are read, and wholly by ``underfed backup``.
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
"""What every answer needs. Some thousand runs are a few megabytes."""


def require_size(engine: Engine, database: Path) -> None:
    """Raises:
    StartError: the file is shorter than what it says of itself: a copy broke off, or a disk lost its end.
    """
    with _asking(engine, database) as cursor:
        # What lies in the log beside the file may be its missing end: only when all of it is in can they be compared.
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
