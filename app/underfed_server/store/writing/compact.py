"""Compacts a stream's hot windows into chunks, with the roll-ups that belong to them, in one transaction."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import Connection, delete, select, update

from underfed_server.store.columns.gather import lanes_of
from underfed_server.store.databases import tables
from underfed_server.store.databases.locks import lock_run_at_once
from underfed_server.store.writing.add_chunks import add_chunks
from underfed_server.store.writing.streams import StreamKey
from underfed_server.store.writing.tail import belongs_to, hot_windows

DUE_ROWS = 4_096
"""Rows of the longest lane in a chunk: 9.2 bytes per step, where 1,024 took 9.5 and 256 took 10.1 (own study)."""

DUE_WINDOWS = 600
"""Ten minutes: a slow job's windows must not accumulate, since every reader decodes them."""

ASIDE_S = 3_600.0
"""A stream that could not be compacted is tried again after so long; its windows are kept as they came."""

QUIET_S = 600.0
"""A stream that has sent nothing for this long is not expected to fill its chunk."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    rows: int
    windows: int
    touched_at: float


class CompactionQueue:
    """Counts the hot windows of each stream, and knows which streams are due. Used by the writer's thread alone."""

    def __init__(self) -> None:
        self._queue: dict[StreamKey, _Waiting] = {}
        self._due: dict[StreamKey, None] = {}
        self._aside: dict[StreamKey, float] = {}

    @property
    def aside(self) -> int:
        """Streams that could not be compacted."""
        return len(self._aside)

    def set_aside(self, key: StreamKey) -> None:
        """It is not due before :data:`ASIDE_S` are over, whatever arrives."""
        self._aside[key] = time.monotonic() + ASIDE_S

    def recall(self, connection: Connection) -> None:
        """Find windows left by an earlier service process, or by one that shared the database and has ended."""
        stream = tables.stream.c
        key, hot = (stream.run_id, stream.rank, stream.incarnation), (stream.hot_rows, stream.hot_windows)
        for *values, rows, windows in connection.execute(select(*key, *hot).where(stream.hot_windows > 0)):
            known = self._queue.get(StreamKey(*values))
            if known is None or (known.rows, known.windows) != (rows, windows):
                self.note(StreamKey(*values), rows, windows, has_ended=False)

    def note(self, key: StreamKey, rows: int, windows: int, *, has_ended: bool) -> None:
        """Set a stream's number of hot rows and windows."""
        self._queue[key] = _Waiting(rows, windows, time.monotonic())
        if (has_ended or rows >= DUE_ROWS or windows >= DUE_WINDOWS) and not self._is_aside(key):
            self._due[key] = None

    @property
    def are_due(self) -> bool:
        return bool(self._due)

    def next_due(self, *, look_for_quiet: bool) -> StreamKey | None:
        """A stream to compact now; its count restarts at 0."""
        if look_for_quiet:
            since = time.monotonic() - QUIET_S
            quiet = [key for key, waiting in self._queue.items() if waiting.touched_at < since]
            self._due |= {key: None for key in quiet if not self._is_aside(key)}
        key = next(iter(self._due), None)
        if key is not None:
            self._drop(key)
            self._aside.pop(key, None)
        return key

    def _is_aside(self, key: StreamKey) -> bool:
        return self._aside.get(key, 0.0) > time.monotonic()

    def forget(self, run_id: str) -> None:
        for key in [key for key in self._queue if key.run_id == run_id]:
            self._drop(key)

        for key in [key for key in self._aside if key.run_id == run_id]:
            del self._aside[key]

    def _drop(self, key: StreamKey) -> None:
        self._queue.pop(key, None)
        self._due.pop(key, None)


def compact(connection: Connection, key: StreamKey) -> None:
    """Afterwards every row of ``key`` is in a chunk, unless another process is writing to its run.

    All writers take the lock of the run, so the stream's row needs no lock of its own. Where another process holds it,
    the stream is skipped, not waited for.
    """
    if not lock_run_at_once(connection, key.run_id):
        return
    waiting = select(tables.stream.c.hot_windows).where(belongs_to(tables.stream, key))
    if not connection.execute(waiting).scalar():
        return
    precision_bits = _precision_bits(connection, key.run_id)
    add_chunks(connection, key, lanes_of(hot_windows(connection, key)), precision_bits)
    connection.execute(delete(tables.hot).where(belongs_to(tables.hot, key)))
    connection.execute(update(tables.stream).where(belongs_to(tables.stream, key)).values(hot_rows=0, hot_windows=0))


def _precision_bits(connection: Connection, run_id: str) -> int | None:
    """The setting of the run's project."""
    run, project = tables.run.c, tables.project.c
    statement = select(project.precision_bits).join(tables.run, run.project == project.project)
    return connection.execute(statement.where(run.run_id == run_id)).scalar()
