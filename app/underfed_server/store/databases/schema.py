"""Brings a database to the tables of this version."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, func, inspect, select

from underfed_server.errors import StartError
from underfed_server.store.databases.tables import metadata

MIGRATIONS = Path(__file__).with_name("migrations")

UPGRADING = int.from_bytes(b"underfed", "big") >> 1
"""The number of our lock, which all programs that use one PostgreSQL database share."""


def upgrade(engine: Engine) -> None:
    """Create the tables where there are none, or run the migrations that are missing, in one transaction.

    Raises:
        StartError: the database has a schema that this version does not know.
    """
    with engine.begin() as connection:
        _wait_for_others(connection)
        current = MigrationContext.configure(connection).get_current_revision()
        if current == _scripts().get_current_head():
            return
        config = configuration(connection)
        if current is not None:
            _require_known(current)
            command.upgrade(config, "head")
            return
        if not metadata.tables.keys().isdisjoint(inspect(connection).get_table_names()):
            raise StartError("the database has tables of another program; choose another with --db")
        metadata.create_all(connection, checkfirst=False)
        command.stamp(config, "head")


def _wait_for_others(connection: Connection) -> None:
    """Service processes that start at the same time upgrade one after the other; the later ones find nothing to do."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(UPGRADING)))


@cache
def _scripts() -> ScriptDirectory:
    return ScriptDirectory(str(MIGRATIONS))


def _require_known(revision: str) -> None:
    if revision not in {script.revision for script in _scripts().walk_revisions()}:
        raise StartError(
            "the database was written by a newer version of underfed, or by one before its first release (its schema "
            f"is {revision}); install that version, or choose another database with --db"
        )


def configuration(connection: Connection) -> Config:
    """Alembic's, without a file: for ``command`` and for writing a new migration."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config
