"""Texts compared byte by byte: SQLite does nothing else, PostgreSQL has to be told."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


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
