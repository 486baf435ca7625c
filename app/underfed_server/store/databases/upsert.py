"""``INSERT … ON CONFLICT DO UPDATE``, which every engine we run on has under its own dialect's name."""

from __future__ import annotations

from functools import cache

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

Insert = sqlite.Insert | postgresql.Insert


def upsert(connection: Connection, table: Table, *, keep: tuple[str, ...] = ()) -> Insert:
    """Insert a row, or replace that of the same key, except for its columns ``keep``."""
    return _upsert(connection.dialect.name, table, keep)


# Kept: putting a statement together costs more than running it.
@cache
def _upsert(dialect: str, table: Table, keep: tuple[str, ...]) -> Insert:
    statement = postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
    kept = set(keep)
    changed = {
        column.name: statement.excluded[column.name]
        for column in table.c
        if not column.primary_key and column.name not in kept
    }
    return statement.on_conflict_do_update(index_elements=list(table.primary_key.columns), set_=changed)
