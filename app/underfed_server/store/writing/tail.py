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

MOST_KEPT_BYTES = 512 * 2**20
"""Of decoded tails in memory: a stream of a rank with eight workers has 0.2 MB after a minute, and at most 1.4 MB, when
it is about to become a chunk."""


@dataclass(frozen=True, slots=True, eq=False)
class Tail:
    """The rows of the hot windows ``first_window_index … last_window_index``, by lane."""

    first_window_index: int
    last_window_index: int
    lanes: Mapping[str, Columns]

    @property
    def held_bytes(self) -> int:
        return sum(column.nbytes for columns in self.lanes.values() for column in columns.values())


EMPTY = Tail(0, -1, {})


def belongs_to(table: Table, key: StreamKey) -> ColumnElement[bool]:
    return and_(table.c.run_id == key.run_id, table.c.rank == key.rank, table.c.incarnation == key.incarnation)


def hot_windows(connection: Connection, key: StreamKey, after: int = -1) -> Iterator[Window]:
    """The windows of ``key`` that no chunk holds yet, in order, from that after ``after`` on; decoded one by one."""
    rows = connection.execute(_AFTER, {**key._asdict(), "after": after})
    return (decode_known(inflate(body, encoding)) for encoding, body in rows)


# Built once: building a statement costs more than running it.
_hot = tables.hot.c
_OF_STREAM = select(_hot.window_index).where(
    *(_hot[name] == bindparam(name) for name in ("run_id", "rank", "incarnation"))
)
_FIRST = _OF_STREAM.order_by(_hot.window_index).limit(1)
_LAST = _OF_STREAM.order_by(_hot.window_index.desc()).limit(1)
_stream = tables.stream.c
_OF_SAME = select(_hot.window_index).where(*(_hot[name] == _stream[name] for name in ("run_id", "rank", "incarnation")))
_ENDS = select(
    _stream.run_id,
    _stream.rank,
    _stream.incarnation,
    *(_OF_SAME.order_by(order).limit(1).scalar_subquery() for order in (_hot.window_index, _hot.window_index.desc())),
).where(_stream.run_id == bindparam("run_id"), _stream.hot_windows > 0)
_AFTER = (
    select(_hot.encoding, _hot.body)
    .where(*(_hot[name] == bindparam(name) for name in ("run_id", "rank", "incarnation")))
    .where(_hot.window_index > bindparam("after"))
    .order_by(_hot.window_index)
)


class Tails:
    """The tails read lately. Any thread may read; a transaction gets the rows of the snapshot it sees."""

    def __init__(self, most_bytes: int = MOST_KEPT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept_bytes = 0
        self._kept: OrderedDict[StreamKey, Tail] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, connection: Connection, key: StreamKey) -> Tail:
        """As ``connection`` sees it, which must be in a transaction."""
        first, last = (connection.execute(end, key._asdict()).scalar() for end in (_FIRST, _LAST))
        return EMPTY if first is None or last is None else self._read(connection, key, first, last)

    def read_run(self, connection: Connection, run_id: str) -> dict[StreamKey, Tail]:
        """Those of all streams of a run that have one."""
        ends = connection.execute(_ENDS, {"run_id": run_id}).all()
        return {
            StreamKey(*key): self._read(connection, StreamKey(*key), first, last)
            for *key, first, last in ends
            if first is not None
        }

    def _read(self, connection: Connection, key: StreamKey, first: int, last: int) -> Tail:
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
        if kept is None or kept.first_window_index != first or kept.last_window_index > last:
            kept = EMPTY
        if kept.last_window_index == last:
            return kept
        tail = _extended(kept, hot_windows(connection, key, after=kept.last_window_index), first, last)
        self._put(key, tail)
        return tail

    def _put(self, key: StreamKey, tail: Tail) -> None:
        with self._lock:
            self._drop(key)
            self._kept[key] = tail
            self._kept_bytes += tail.held_bytes
            while self._kept_bytes > self._most_bytes:
                self._drop(next(iter(self._kept)))

    def _drop(self, key: StreamKey) -> None:
        dropped = self._kept.pop(key, EMPTY)
        self._kept_bytes -= dropped.held_bytes


def _extended(tail: Tail, windows: Iterable[Window], first: int, last: int) -> Tail:
    lanes = dict(tail.lanes)
    for lane, columns in lanes_of(windows).items():
        lanes[lane] = joined([lanes[lane], columns]) if lane in lanes else columns
    return Tail(first, last, lanes)
