"""``INSERT … ON CONFLICT DO UPDATE``, which every engine we run on has under its own dialect's name."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Table
from sqlalchemy.dialects.sqlite import Insert, insert


def upsert(table: Table, *, keep: Iterable[str] = ()) -> Insert:
    """Insert a row, or replace that of the same key, except for its columns ``keep``."""
    statement = insert(table)
    kept = set(keep)
    changed = {
        column.name: statement.excluded[column.name]
        for column in table.c
        if not column.primary_key and column.name not in kept
    }
    return statement.on_conflict_do_update(index_elements=list(table.primary_key.columns), set_=changed)
