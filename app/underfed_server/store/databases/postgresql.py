"""PostgreSQL: connections with which several service processes share one database."""

from __future__ import annotations

import importlib.util
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.pool import ConnectionPoolEntry

from underfed_server.errors import SettingsError
from underfed_server.store.databases.dialects import read_json

WRITERS = 4
"""One commits windows; the others serve judgements and edits, which seldom write at once."""

READERS = 8
CONNECT_TIMEOUT_S = 10

DRIVER = "psycopg"


def require_driver(url: URL) -> None:
    """Raises:
    SettingsError: the URL names another driver, no database, or the driver is not installed.
    """
    if url.drivername != f"postgresql+{DRIVER}":
        raise SettingsError(f"--db: PostgreSQL is reached as postgresql+{DRIVER}://…, not as {url.drivername}://")
    if not url.database:
        raise SettingsError("--db must name a database, as in postgresql+psycopg://underfed@host/underfed")
    if importlib.util.find_spec(DRIVER) is None:
        raise SettingsError("PostgreSQL needs its driver: pip install 'underfed[postgresql]'")


def open_writer(url: URL) -> Engine:
    """Each statement sees what was committed before it: who has locked a row reads its newest state."""
    return _engine(url, pool_size=WRITERS, isolation_level="READ COMMITTED")


def open_readers(url: URL) -> Engine:
    """Each transaction sees one snapshot."""
    return _engine(
        url,
        pool_size=READERS,
        isolation_level="REPEATABLE READ",
        execution_options={"postgresql_readonly": True},
    )


def _engine(url: URL, **options: Any) -> Engine:
    # The server closes connections when it restarts: each is tried before it is used.
    given = {"connect_timeout": CONNECT_TIMEOUT_S, "application_name": "underfed"}
    engine = create_engine(
        url, pool_pre_ping=True, hide_parameters=True, json_deserializer=read_json, max_overflow=READERS,
        connect_args=given, **options,
    )  # fmt: skip
    event.listen(engine, "connect", _prepare)
    return engine


def _prepare(connection: Any, entry: ConnectionPoolEntry) -> None:  # noqa: ARG001
    """A sum of integers is ``numeric`` here, which the driver would return as ``Decimal``. No query here is worth JIT
    compilation: for a search of 5,000 runs that took 0.7 s, the query itself 0.1 s.
    """
    from psycopg.adapt import Loader

    class Number(Loader):
        def load(self, data: Any) -> int | float:
            text = bytes(data)
            return int(text) if text.lstrip(b"-").isdigit() else float(text)

    connection.adapters.register_loader("numeric", Number)
    connection.execute("SET jit = off")
    connection.commit()
