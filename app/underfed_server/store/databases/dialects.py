"""What each database writes differently: inserting or replacing a row, and comparing texts byte by byte."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, Text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

Insert = sqlite.Insert | postgresql.Insert


def upsert(connection: Connection, table: Table, *, keep: tuple[str, ...] = ()) -> Insert:
    """Insert a row, or replace that of the same key, except for its columns ``keep``."""
    return _upsert(connection.dialect.name, table, keep)


# Cached: building a statement costs more than running it.
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


class bytewise(FunctionElement[str]):  # noqa: N801 – it stands among SQL's functions
    """``column``, ordered alike on every database, whatever the language of its server."""

    inherit_cache = True
    type = Text()

    def __init__(self, column: ColumnElement[str]) -> None:
        super().__init__(column)


@compiles(bytewise)
def _plain(element: bytewise, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.clauses, **options)


@compiles(bytewise, "postgresql")
def _collated(element: bytewise, compiler: SQLCompiler, **options: Any) -> str:
    return f'({compiler.process(element.clauses, **options)}) COLLATE "C"'
