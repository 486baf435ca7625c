"""Runs the migrations on the connection that ``schema.upgrade`` hands over; Alembic loads this file by itself."""

from alembic import context
from sqlalchemy import Connection

from underfed_server.store.databases.tables import metadata


def run(connection: Connection) -> None:
    # SQLite cannot alter a column: the table is copied instead ("batch").
    context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
    context.run_migrations()


run(context.config.attributes["connection"])
