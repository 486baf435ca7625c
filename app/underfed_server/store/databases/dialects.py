"""What each database writes differently: inserting or replacing a row, and comparing texts byte by byte."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Dialect, Table, Text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import IdentifierPreparer, SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

read_json = msgspec.json.Decoder().decode
"""What a column of JSON holds: five to ten times as fast as Python's own, and each page reads thousands."""


def plain_insert(connection: Connection, table: Table, names: Sequence[str]) -> str:
    """Insert a new row with the columns ``names`` in this order, as text for the driver: SQLAlchemy takes longer for a
    row than SQLite does. Types are the driver's own: an :class:`tables.Instant` is passed as Unix microseconds.
    """
    return _plain_insert(connection.dialect.name, table, tuple(names))


def plain_upsert(connection: Connection, table: Table, names: Sequence[str], *, keep: tuple[str, ...] = ()) -> str:
    """Insert a row, or replace these columns of that of the same key, likewise, but for those that ``keep`` says."""
    return _plain_upsert(connection.dialect.name, table, tuple(names), keep)


def plain_update(connection: Connection, table: Table, names: Sequence[str]) -> str:
    """Set the columns ``names`` of the row whose key follows them, likewise."""
    return _plain_update(connection.dialect.name, table, tuple(names))


def put(connection: Connection, table: Table, *rows: Mapping[str, Any]) -> None:
    """Insert these rows, or replace those of the same keys, with values as the table's types have them: half of what
    SQLAlchemy's own takes (own study). All rows name the same columns; others stay as they are."""
    if rows:
        statement = plain_upsert(connection, table, tuple(rows[0]))
        connection.exec_driver_sql(statement, [_as_driver_has(connection.dialect, table, row) for row in rows])


def change(connection: Connection, table: Table, *rows: Mapping[str, Any]) -> None:
    """Likewise, set columns of the rows that have the primary keys which these name, too."""
    if rows:
        key = _key_of(table)
        names = tuple(name for name in rows[0] if name not in key)
        ordered = ({name: row[name] for name in (*names, *key)} for row in rows)
        statement = plain_update(connection, table, names)
        connection.exec_driver_sql(statement, [_as_driver_has(connection.dialect, table, row) for row in ordered])


def _as_driver_has(dialect: Dialect, table: Table, row: Mapping[str, Any]) -> tuple[Any, ...]:
    kinds = _processors(dialect, table, tuple(row))
    return tuple(value if kind is None else kind(value) for kind, value in zip(kinds, row.values(), strict=True))


@cache
def _processors(dialect: Dialect, table: Table, names: tuple[str, ...]) -> Sequence[Callable[[Any], Any] | None]:
    return [table.c[name].type.dialect_impl(dialect).bind_processor(dialect) for name in names]


@cache
def _plain_insert(dialect: str, table: Table, names: tuple[str, ...]) -> str:
    quoted, mark = _style(dialect)
    marks = ", ".join(mark for _ in names)
    return f"INSERT INTO {quoted(table.name)} ({', '.join(map(quoted, names))}) VALUES ({marks})"


@cache
def _plain_upsert(dialect: str, table: Table, names: tuple[str, ...], keep: tuple[str, ...]) -> str:
    quoted, _ = _style(dialect)
    key = _key_of(table)
    changed = (quoted(name) for name in names if name not in key and name not in keep)
    replaced = ", ".join(f"{name} = excluded.{name}" for name in changed)
    inserted = _plain_insert(dialect, table, names)
    return f"{inserted} ON CONFLICT ({', '.join(map(quoted, key))}) DO UPDATE SET {replaced}"


@cache
def _plain_update(dialect: str, table: Table, names: tuple[str, ...]) -> str:
    quoted, mark = _style(dialect)
    changed, own = ([f"{quoted(name)} = {mark}" for name in each] for each in (names, _key_of(table)))
    return f"UPDATE {quoted(table.name)} SET {', '.join(changed)} WHERE {' AND '.join(own)}"


@cache
def _style(dialect: str) -> tuple[Callable[[str], str], str]:
    """How a name is written that may be a word of SQL's, and what stands for a value."""
    kind, mark = (postgresql.dialect, "%s") if dialect == "postgresql" else (sqlite.dialect, "?")
    return IdentifierPreparer(kind()).quote, mark


def _key_of(table: Table) -> tuple[str, ...]:
    return tuple(column.name for column in table.primary_key.columns)


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
