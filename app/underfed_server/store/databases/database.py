"""Opens what a URL names: a file of SQLite's, which one service has for itself, or PostgreSQL, which several share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import ConnectionPoolEntry

from underfed_server.errors import SettingsError
from underfed_server.store.databases import postgresql, sqlite
from underfed_server.store.databases.journal import Turnstile

EXAMPLES = "sqlite:////var/lib/underfed/underfed.db or postgresql+psycopg://underfed@host/underfed"


@dataclass(frozen=True, slots=True)
class Database:
    """Open until :meth:`close`."""

    name: str
    """For people: a path, or a URL without its password."""
    writing: Engine
    reading: Engine
    """Its connections only read, and each sees one snapshot until it is returned."""
    is_shared: bool
    """Other service processes write too: what is in memory may be old."""
    path: Path | None
    """SQLite's file."""
    release: Callable[[], None]
    """Release the lock that keeps other services out, and what else is open beside the file."""

    def close(self) -> None:
        """A connection that a thread still uses is closed once the thread returns it."""
        for engine in (self.reading, self.writing):
            event.listen(engine, "checkin", _close)
            engine.dispose()
        self.release()


def open_database(url: str, *, only_reads: bool = False) -> Database:
    """Lock a file, or connect lazily to a server. ``only_reads``: another process has locked the file; nothing can be
    written.

    Raises:
        SettingsError: ``url`` names no database that can be used.
        StartError: another service has the file, or its directory cannot be written.
    """
    parsed = parse(url)
    if parsed.get_backend_name() == "postgresql":
        reading = postgresql.open_readers(parsed)
        writing = reading if only_reads else postgresql.open_writer(parsed)
        return Database(name_of(url), writing, reading, is_shared=True, path=None, release=_nothing)
    path = sqlite.path_of(parsed)
    with ExitStack() as held:
        if not only_reads:
            held.callback(sqlite.lock(path).release)
        turnstile = Turnstile(path)
        held.callback(turnstile.close)
        reading = sqlite.open_readers(path, turnstile)
        writing = reading if only_reads else sqlite.open_writer(path)
        return Database(str(path), writing, reading, is_shared=False, path=path, release=held.pop_all().close)


def name_of(url: str) -> str:
    """The database's name in messages: never with its password.

    Raises:
        SettingsError: as :func:`open_database`.
    """
    parsed = parse(url)
    if parsed.get_backend_name() == "sqlite":
        return str(sqlite.path_of(parsed))
    return parsed.render_as_string(hide_password=True)


def parse(url: str) -> URL:
    """Raises:
    SettingsError: it is no URL, or names an unsupported kind of database.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise SettingsError(f"--db must be an SQLAlchemy URL such as {EXAMPLES}") from error
    kind = parsed.get_backend_name()
    if kind not in ("sqlite", "postgresql"):
        raise SettingsError(f"--db: data is kept in SQLite or PostgreSQL, not in {kind}; as in {EXAMPLES}")
    if kind == "postgresql":
        postgresql.require_driver(parsed)
    return parsed


def _close(connection: DBAPIConnection | None, entry: ConnectionPoolEntry) -> None:  # noqa: ARG001
    if connection is not None:
        connection.close()


def _nothing() -> None: ...
