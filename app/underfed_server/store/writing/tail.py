"""The newest rows of a stream: its hot windows, decoded once for all readers."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Table, and_, bindparam, select

from underfed_server.ingest.decode import decode_known
from underfed_server.ingest.inflate import inflate
from underfed_server.ingest.wire import Window
from underfed_server.measurements import Columns
from underfed_server.store.columns.gather import lanes_of
from underfed_server.store.columns.lanes import joined
from underfed_server.store.databases import tables
from underfed_server.store.writing.streams import StreamKey

STREAMS_KEPT = 128
"""Streams whose decoded tail stays in memory: about 1 MB each, when it is about to become a chunk."""


@dataclass(frozen=True, slots=True, eq=False)
class Tail:
    """The rows of the hot windows ``first_window_index … last_window_index``, by lane."""

    first_window_index: int
    last_window_index: int
    lanes: Mapping[str, Columns]


EMPTY = Tail(0, -1, {})


def belongs_to(table: Table, key: StreamKey) -> ColumnElement[bool]:
    return and_(table.c.run_id == key.run_id, table.c.rank == key.rank, table.c.incarnation == key.incarnation)


def hot_windows(connection: Connection, key: StreamKey, after: int = -1) -> Iterator[Window]:
    """The windows of ``key`` that no chunk holds yet, in order, from that after ``after`` on; decoded one by one."""
    hot = tables.hot.c
    statement = select(hot.encoding, hot.body).where(belongs_to(tables.hot, key), hot.window_index > after)
    rows = connection.execute(statement.order_by(hot.window_index))
    return (decode_known(inflate(body, encoding)) for encoding, body in rows)


# Built once: building a statement costs more than running it.
_hot = tables.hot.c
_OF_STREAM = select(_hot.window_index).where(
    *(_hot[name] == bindparam(name) for name in ("run_id", "rank", "incarnation"))
)
_FIRST = _OF_STREAM.order_by(_hot.window_index).limit(1)
_LAST = _OF_STREAM.order_by(_hot.window_index.desc()).limit(1)


class Tails:
    """The tails read lately. Any thread may read; a transaction gets the rows of the snapshot it sees."""

    def __init__(self) -> None:
        self._kept: OrderedDict[StreamKey, Tail] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, connection: Connection, key: StreamKey) -> Tail:
        """As ``connection`` sees it, which must be in a transaction."""
        first, last = (connection.execute(end, key._asdict()).scalar() for end in (_FIRST, _LAST))
        if first is None or last is None:
            return EMPTY
        with self._lock:
            kept = self._kept.get(key)
        if kept is None or kept.first_window_index != first or kept.last_window_index > last:
            kept = EMPTY
        if kept.last_window_index == last:
            return kept
        tail = _extended(kept, hot_windows(connection, key, after=kept.last_window_index), first, last)
        self._put(key, tail)
        return tail

    def _put(self, key: StreamKey, tail: Tail) -> None:
        with self._lock:
            self._kept[key] = tail
            self._kept.move_to_end(key)
            while len(self._kept) > STREAMS_KEPT:
                self._kept.popitem(last=False)


def _extended(tail: Tail, windows: Iterable[Window], first: int, last: int) -> Tail:
    lanes = dict(tail.lanes)
    for lane, columns in lanes_of(windows).items():
        lanes[lane] = joined([lanes[lane], columns]) if lane in lanes else columns
    return Tail(first, last, lanes)
