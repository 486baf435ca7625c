"""Compacts a stream's hot windows into chunks, with the roll-ups that belong to them.

What is to be written is computed from one snapshot, which any process can do while windows are written; it is written
in one transaction, unless the stream has changed otherwise than by further windows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, func, select, update

from underfed_server.store.columns.gather import lanes_of
from underfed_server.store.databases import tables
from underfed_server.store.databases.locks import lock_run_at_once
from underfed_server.store.writing.add_chunks import NewChunks, new_chunks, write_chunks
from underfed_server.store.writing.streams import StreamKey
from underfed_server.store.writing.tail import belongs_to, hot_windows

DUE_ROWS = 4_096
"""Rows of the longest lane in a chunk: of 2,048 a step takes 6 % more bytes, of 1,024 20 % (all of a host of eight
workers and four GPUs: 47.9, 50.9, 57.4)."""

MOST_HOT_ROWS = 4_096_000
"""If the streams were all about to become chunks. The process that judges keeps them decoded, of a mean of half as many
rows, in the memory it has for that; decoded again at each judgement they double what that takes."""

LEAST_DUE_ROWS = 512
"""However many streams there are."""

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
        self._in_hand: dict[StreamKey, bool] = {}
        """Streams whose chunks are being computed, and whether one has ended since."""

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
        if key in self._in_hand:
            self._in_hand[key] |= has_ended
            return
        self._queue[key] = _Waiting(rows, windows, time.monotonic())
        if (has_ended or rows >= self._due_rows() or windows >= DUE_WINDOWS) and not self._is_aside(key):
            self._due[key] = None

    def _due_rows(self) -> int:
        return max(LEAST_DUE_ROWS, min(DUE_ROWS, MOST_HOT_ROWS // len(self._queue)))

    @property
    def are_due(self) -> bool:
        """Whether :meth:`next_due` has one."""
        return bool(self._due) and not self._in_hand

    def hold(self, key: StreamKey) -> None:
        """Its chunks are being computed; until :meth:`release` no stream is due."""
        self._in_hand[key] = False

    def release(self, connection: Connection, key: StreamKey) -> None:
        """Count anew what of it is hot."""
        has_ended = self._in_hand.pop(key, False)
        hot = select(tables.stream.c.hot_rows, tables.stream.c.hot_windows).where(belongs_to(tables.stream, key))
        for rows, windows in connection.execute(hot):
            if windows:
                self.note(key, rows, windows, has_ended=has_ended)

    def next_due(self, *, look_for_quiet: bool) -> StreamKey | None:
        """A stream to compact now; its count restarts at 0."""
        if self._in_hand:
            return None
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


class NotElsewhereError(Exception):
    """Chunks can no longer be computed outside of the writer's thread."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """Chunks that take the place of a stream's hot windows, up to the last that was there when they were computed."""

    key: StreamKey
    started_at: datetime
    """A run that was removed may come again under its name."""
    last_window_index: int
    windows: int
    rows: int
    new: NewChunks


def prepare(connection: Connection, key: StreamKey) -> Compaction | None:
    """Only reads, in a transaction of any process. ``None``: no window of the stream is hot."""
    started_at, last, windows, rows = connection.execute(_HOT, key._asdict()).one()
    if not windows:
        return None
    precision_bits = _precision_bits(connection, key.run_id)
    # On PostgreSQL a later statement sees windows that came meanwhile.
    new = new_chunks(connection, key, lanes_of(hot_windows(connection, key, last=last)), precision_bits)
    return Compaction(key, started_at, last, windows, rows, new)


def finish(connection: Connection, prepared: Compaction) -> bool:
    """Write what was prepared. ``False``: nothing was written, since the stream has changed otherwise than by further
    windows, or another process is writing to its run: it is skipped, not waited for.

    All writers take the lock of the run, so the stream's row needs no lock of its own.
    """
    key = prepared.key
    if not lock_run_at_once(connection, key.run_id):
        return False
    now_hot = connection.execute(_HOT_UP_TO, {**key._asdict(), "last": prepared.last_window_index}).one()
    if tuple(now_hot) != (prepared.started_at, prepared.windows) or not write_chunks(connection, key, prepared.new):
        return False
    is_compacted = tables.hot.c.window_index <= prepared.last_window_index
    connection.execute(delete(tables.hot).where(belongs_to(tables.hot, key), is_compacted))
    stream = tables.stream.c
    left = {
        "hot_rows": stream.hot_rows - prepared.rows,
        "hot_windows": stream.hot_windows - prepared.windows,
    }
    connection.execute(update(tables.stream).where(belongs_to(tables.stream, key)).values(left))
    return True


def compact(connection: Connection, key: StreamKey) -> Compaction | None:
    """Both in one transaction; ``None``: nothing was written."""
    prepared = prepare(connection, key)
    return prepared if prepared is not None and finish(connection, prepared) else None


# Built once: building a statement costs more than running it.
_hot, _stream = tables.hot.c, tables.stream.c
_OF_STREAM = [_hot[name] == bindparam(name) for name in StreamKey._fields]
_STARTED_AT = (
    select(_stream.started_at)
    .where(*(_stream[name] == bindparam(name) for name in StreamKey._fields))
    .scalar_subquery()
    .label("started_at")
)
_HOT = select(_STARTED_AT, func.max(_hot.window_index), func.count(), func.coalesce(func.sum(_hot.rows), 0)).where(
    *_OF_STREAM
)
_HOT_UP_TO = select(_STARTED_AT, func.count()).where(*_OF_STREAM, _hot.window_index <= bindparam("last"))


def _precision_bits(connection: Connection, run_id: str) -> int | None:
    """The setting of the run's project."""
    run, project = tables.run.c, tables.project.c
    statement = select(project.precision_bits).join(tables.run, run.project == project.project)
    return connection.execute(statement.where(run.run_id == run_id)).scalar()
