"""Does to a file of SQLite's what a failing disk does."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

PAGE_BYTES = 4_096


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
