"""SQLite: one connection that writes, several that only read, and no second service beside this one.

Whether the file is intact is checked as far as milliseconds before the start of a service allow. The large tables are
checked when they are read, and in full by ``underfed backup``.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool, StaticPool

from underfed_server.errors import SettingsError, StartError
from underfed_server.store.databases import journal
from underfed_server.store.databases.dialects import read_json
from underfed_server.store.databases.trouble import CORRUPTED, trouble_of

READERS = 8
BUSY_TIMEOUT_MS = 10_000

# WAL: readers never wait for the writer. FULL: what was acknowledged survives a power loss (own study: NORMAL lost
# 36 acknowledged posts in four simulated ones, FULL none; with group commit it costs one fsync a group).
WRITER_PRAGMAS = (
    # Must be set before the first table is created; without it a file never shrinks.
    "auto_vacuum=INCREMENTAL",
    "journal_mode=WAL",
    "synchronous=FULL",
    f"busy_timeout={BUSY_TIMEOUT_MS}",
    "temp_store=MEMORY",
    f"journal_size_limit={journal.KEPT_BYTES}",
)
# SQLite before 3.51.3 can corrupt a WAL database when two connections checkpoint at once
# (sqlite.org/wal.html#walresetbug): readers never do.
READER_PRAGMAS = ("query_only=1", "wal_autocheckpoint=0", f"busy_timeout={BUSY_TIMEOUT_MS}")

SMALL_TABLES = ("sqlite_schema", "alembic_version", "run", "token", "session", "project")
"""Tables that every answer needs. Some thousand runs are a few megabytes."""


def path_of(url: URL) -> Path:
    """The file behind an SQLAlchemy URL.

    Raises:
        SettingsError: the URL names no file.
    """
    if not url.database or url.database == ":memory:" or url.query:
        raise SettingsError("--db must name a file, as in sqlite:////var/lib/underfed/underfed.db")
    return Path(url.database).absolute()


class Lock:
    """Held by the one service that uses a database; the kernel releases it when the process ends, however it ends."""

    def __init__(self, database: Path) -> None:
        file = os.open(database.with_name(f"{database.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(file, 32).decode(errors="replace").strip() or "unknown"
            os.close(file)
            raise StartError(
                f"another underfed service (process {holder}) uses {database}; stop it, or choose another with --db"
            ) from error
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        self._file: int | None = file

    def release(self) -> None:
        """A second time does nothing: the number of a closed file may be another file's."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def lock(database: Path) -> Lock:
    """Create the file, for its owner alone, and lock it.

    Raises:
        StartError: another service has it, or the directory cannot be written.
    """
    try:
        database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        held = Lock(database)
        # Commands and configurations may hold secrets; SQLite's other files get the permissions of this one.
        os.close(os.open(database, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise StartError(f"data cannot be kept in {database.parent}: {error.strerror}") from error
    return held


def open_writer(database: Path) -> Engine:
    """The engine of the one thread that writes, also the only one that checkpoints."""
    engine = _engine(database, poolclass=StaticPool)
    _prepare(engine, WRITER_PRAGMAS, begin="BEGIN IMMEDIATE")
    return engine


def open_readers(database: Path, turnstile: journal.Turnstile) -> Engine:
    """The engine of everybody else. A connection sees one snapshot of the database until it is returned, which begins
    behind ``turnstile``."""
    engine = _engine(database, poolclass=QueuePool, pool_size=READERS, max_overflow=READERS)
    event.listen(engine, "begin", lambda _: turnstile.pass_through())
    _prepare(engine, READER_PRAGMAS, begin="BEGIN")
    return engine


def _engine(database: Path, **options: Any) -> Engine:
    url = URL.create("sqlite", database=str(database))
    return create_engine(url, hide_parameters=True, json_deserializer=read_json, **options)


def _prepare(engine: Engine, pragmas: tuple[str, ...], *, begin: str) -> None:
    """The driver's own transactions begin late and leave table definitions out: SQLAlchemy's begin is ours instead."""

    def connected(connection: sqlite3.Connection, entry: ConnectionPoolEntry) -> None:  # noqa: ARG001
        connection.isolation_level = None
        for pragma in pragmas:
            connection.execute(f"PRAGMA {pragma}")

    def began(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", began)


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
