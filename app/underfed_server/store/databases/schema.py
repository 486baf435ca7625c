"""Brings a database to the tables of this version."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, func, select

from underfed_server.errors import StartError

MIGRATIONS = Path(__file__).with_name("migrations")

UPGRADING = int.from_bytes(b"underfed", "big") >> 1
"""The number of our lock, which all programs that use one PostgreSQL database share."""


def upgrade(engine: Engine) -> None:
    """All steps that are missing, in one transaction.

    Raises:
        StartError: the database is of a newer version than this one.
    """
    with engine.begin() as connection:
        _wait_for_others(connection)
        require_known(connection)
        command.upgrade(configuration(connection), "head")


def _wait_for_others(connection: Connection) -> None:
    """Service processes that start at once upgrade one after the other; the later ones find nothing to do."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(UPGRADING)))


def require_known(connection: Connection) -> None:
    """Raises:
    StartError: the database has steps that this version does not know.
    """
    current = MigrationContext.configure(connection).get_current_revision()
    known = {script.revision for script in ScriptDirectory(str(MIGRATIONS)).walk_revisions()}
    if current is not None and current not in known:
        raise StartError(
            f"the database was written by a newer version of underfed (its schema is {current}); "
            "install that version, or choose another file with --db"
        )


def configuration(connection: Connection) -> Config:
    """Alembic's, without a file: for ``command`` and for writing a new step."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config
