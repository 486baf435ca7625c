"""A file of SQLite's, and what a failing disk does to it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.app.made_windows import made_stream
from tests.app.store.posting import post_split
from underfed_server.store.store import Store

PAGE_BYTES = 4_096


def written(directory: Path) -> Path:
    """As a service writes and closes it: windows, and chunks of older ones."""
    database = directory / "underfed.db"
    with closing(Store(f"sqlite:///{database}")) as store:
        post_split(store, list(made_stream(230)), (205,))
    return database


def overwrite(path: Path, at: int, size: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(b"\xa5" * size)


def damage(database: Path, table: str) -> None:
    """The pages by which all else of ``table`` and its indices is found."""
    with closing(sqlite3.connect(database)) as connection:
        found = connection.execute("SELECT rootpage FROM sqlite_schema WHERE tbl_name = ?", [table]).fetchall()
    for (page,) in found:
        overwrite(database, (page - 1) * PAGE_BYTES, PAGE_BYTES)
