"""Copies everything from one database into another of either kind, and compares the two row by row."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, RowMapping, Table, func, insert, select

from underfed_server.errors import MoveError
from underfed_server.store.columns.lanes import steps_lane
from underfed_server.store.databases import tables
from underfed_server.store.databases.database import Database
from underfed_server.store.databases.schema import upgrade

ROWS = 500
"""Rows copied at once: a chunk of 4,096 steps with all its columns takes some 100 kB."""

Progress = Callable[[str, int], None]
"""Called with a table and how many of its rows are copied."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What was copied and compared."""

    runs: int
    steps: int
    rows: int


@dataclass(slots=True)
class _Sum:
    """Rows, and the sum of their digests, which is the same in whatever order they are read.

    Texts are ordered differently by every database, so that rows cannot be compared as they come.
    """

    rows: int = 0
    digests: int = field(default=0, repr=False)

    def add(self, rows: Sequence[RowMapping]) -> None:
        self.rows += len(rows)
        for row in rows:
            digest = hashlib.blake2b(repr(list(row.values())).encode(errors="surrogatepass"), digest_size=16).digest()
            self.digests = (self.digests + int.from_bytes(digest, "big")) % 2**128


def move(source: Database, target: Database, progress: Progress) -> Moved:
    """Copy all tables of ``source`` from one snapshot; ``target`` has all of them afterwards, or nothing.

    Raises:
        MoveError: ``target`` holds runs already, or does not give back what was written to it.
        StartError: one of the databases was written by a newer version.
    """
    upgrade(source.writing)
    upgrade(target.writing)
    with source.reading.begin() as reading, target.writing.begin() as writing:
        if writing.execute(select(func.count()).select_from(tables.run)).scalar():
            raise MoveError(f"{target.name} holds runs already; a database is moved into an empty one only")
        copied = {table.name: _copy(reading, writing, table, progress) for table in tables.metadata.sorted_tables}
        for table in tables.metadata.sorted_tables:
            _compare(writing, table, copied[table.name], target.name)
        return Moved(copied["run"].rows, _steps(writing), sum(each.rows for each in copied.values()))


def _copy(reading: Connection, writing: Connection, table: Table, progress: Progress) -> _Sum:
    total = _Sum()
    for rows in _pages(reading, table):
        total.add(rows)
        writing.execute(insert(table), [dict(row) for row in rows])
        progress(table.name, total.rows)
    return total


def _compare(writing: Connection, table: Table, copied: _Sum, name: str) -> None:
    found = _Sum()
    for rows in _pages(writing, table):
        found.add(rows)
    if found != copied:
        raise MoveError(
            f"{name} gives back other rows of {table.name!r} than were written to it "
            f"({found.rows} beside {copied.rows}); nothing was kept"
        )


def _pages(connection: Connection, table: Table) -> Iterator[Sequence[RowMapping]]:
    return connection.execute(select(table).execution_options(yield_per=ROWS)).mappings().partitions()


def _steps(connection: Connection) -> int:
    track = tables.track.c
    statement = select(func.sum(track.rows)).where(track.lane.startswith(steps_lane(""), autoescape=True))
    return int(connection.execute(statement).scalar() or 0)
