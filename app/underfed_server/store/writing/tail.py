"""The newest rows of a stream: its hot windows, decoded once for all readers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, RowMapping, Table, and_, bindparam, select

from underfed_server.ingest.decode import decode_rows
from underfed_server.ingest.inflate import inflate
from underfed_server.ingest.wire import LARGEST, WindowRows
from underfed_server.measurements import Columns
from underfed_server.store.columns.gather import lanes_of_streams
from underfed_server.store.columns.growing import GrowingRows
from underfed_server.store.databases import tables
from underfed_server.store.writing.kept_rows import KeptRows
from underfed_server.store.writing.streams import StreamKey

MOST_KEPT_BYTES = 256 * 2**20
"""Of decoded tails in memory: a stream of a rank with eight workers has 0.11 MB after a minute, and at most 0.8 MB,
when it is about to become a chunk."""

MOST_JUDGED_BYTES = 512 * 2**20
"""Where runs are judged: of up to some eight thousand ranks, since of many each is compacted earlier. What does not fit
in is decoded again at each judgement, which takes as long as all else of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Tail:
    """The rows of the hot windows ``first_window_index … last_window_index``, by lane."""

    first_window_index: int
    last_window_index: int
    rows: Mapping[str, GrowingRows]

    def lane(self, lane: str) -> Columns | None:
        """``None``: nothing was recorded in the lane since."""
        rows = self.rows.get(lane)
        return None if rows is None else rows.columns

    def length(self, lane: str) -> int:
        """Rows of the lane."""
        return len(self.rows.get(lane, ()))


Decode = Callable[[bytes], WindowRows]

EMPTY = Tail(0, -1, {})


def belongs_to(table: Table, key: StreamKey) -> ColumnElement[bool]:
    return and_(table.c.run_id == key.run_id, table.c.rank == key.rank, table.c.incarnation == key.incarnation)


def hot_windows(
    connection: Connection, key: StreamKey, after: int = -1, last: int = LARGEST, decode: Decode = decode_rows
) -> Iterator[WindowRows]:
    """The rows of windows of ``key`` that no chunk holds yet, in order, one by one: from that after ``after`` to
    ``last``."""
    rows = connection.execute(_WITHIN, {**key._asdict(), "after": after, "last": last})
    return (decode(inflate(body, encoding)) for encoding, body in rows)


# Built once: building a statement costs more than running it.
_hot, _stream = tables.hot.c, tables.stream.c
_NAMES = ("run_id", "rank", "incarnation")
_OF_SAME = select(_hot.window_index).where(*(_hot[name] == _stream[name] for name in _NAMES)).limit(1)
_ENDS = select(
    *(_stream[name] for name in (*_NAMES, "started_at")),
    _OF_SAME.order_by(_hot.window_index).scalar_subquery().label("first"),
    _OF_SAME.order_by(_hot.window_index.desc()).scalar_subquery().label("last"),
).where(_stream.run_id == bindparam("run_id"), _stream.hot_windows > 0)
_ENDS_OF_STREAM = _ENDS.where(_stream.rank == bindparam("rank"), _stream.incarnation == bindparam("incarnation"))
_WITHIN = (
    select(_hot.encoding, _hot.body)
    .where(
        *(_hot[name] == bindparam(name) for name in _NAMES),
        _hot.window_index > bindparam("after"),
        _hot.window_index <= bindparam("last"),
    )
    .order_by(_hot.window_index)
)
# Each stream's are looked up by its own: of the whole run there may be thousands that are known.
_NEWER = (
    select(*(_hot[name] for name in _NAMES), _hot.window_index, _hot.encoding, _hot.body)
    .select_from(tables.stream.join(tables.hot, and_(*(_hot[name] == _stream[name] for name in _NAMES))))
    .where(
        *(_stream.run_id == bindparam("run_id"), _stream.hot_windows > 0),
        _hot.window_index > bindparam("after"),
    )
    .order_by(_hot.rank, _hot.incarnation, _hot.window_index)
)


class Tails:
    """The tails read lately. Any thread may read; a transaction gets the rows of the snapshot it sees."""

    def __init__(self, most_bytes: int = MOST_KEPT_BYTES, decode: Decode = decode_rows) -> None:
        """``decode``: as much of each window as is wanted."""
        self._decode = decode
        self._kept = KeptRows[tuple[StreamKey, datetime], Tail](most_bytes)

    def read(self, connection: Connection, key: StreamKey) -> Tail:
        """As ``connection`` sees it, which must be in a transaction."""
        row = connection.execute(_ENDS_OF_STREAM, key._asdict()).mappings().one_or_none()
        return EMPTY if row is None or row["first"] is None else self._read(connection, [row])[key]

    def read_run(self, connection: Connection, run_id: str) -> dict[StreamKey, Tail]:
        """Those of all streams of a run that have one."""
        ends = connection.execute(_ENDS, {"run_id": run_id}).mappings().all()
        return self._read(connection, [row for row in ends if row["first"] is not None])

    def _read(self, connection: Connection, ends: Sequence[RowMapping]) -> dict[StreamKey, Tail]:
        """Of these streams of one run."""
        found = {_key_of(row): self._kept_of(row) for row in ends}
        behind = [row for row in ends if found[_key_of(row)].last_window_index < row["last"]]
        newer = _newer(connection, {_key_of(row): found[_key_of(row)].last_window_index for row in behind})
        windows = {key: [self._decode(inflate(*each)) for each in packed] for key, packed in newer.items()}
        lanes = lanes_of_streams(windows)
        for row in behind:
            key = _key_of(row)
            tail = found[key] = _extended(found[key], lanes[key], row["first"], row["last"])
            self._kept.put(_place_of(row), tail, sum(rows.nbytes for rows in tail.rows.values()))
        return found

    def _kept_of(self, row: RowMapping) -> Tail:
        """What is left of it: since then there may be more windows."""
        kept = self._kept.get(_place_of(row))
        is_of_same = kept and kept.first_window_index == row["first"] and kept.last_window_index <= row["last"]
        return kept if kept and is_of_same else EMPTY


def _key_of(row: RowMapping) -> StreamKey:
    return StreamKey(row["run_id"], row["rank"], row["incarnation"])


def _place_of(row: RowMapping) -> tuple[StreamKey, datetime]:
    """A run that was removed may come again under its name."""
    return _key_of(row), row["started_at"]


def _newer(connection: Connection, after: Mapping[StreamKey, int]) -> dict[StreamKey, list[tuple[bytes, str]]]:
    """Body and encoding of each hot window of these streams of one run after that one, in order."""
    found: dict[StreamKey, list[tuple[bytes, str]]] = {key: [] for key in after}
    if not after:
        return found
    asked = {"run_id": next(iter(after)).run_id, "after": min(after.values())}
    for *key, window_index, encoding, body in connection.execute(_NEWER, asked):
        own = StreamKey(*key)
        if own in after and window_index > after[own]:
            found[own].append((body, encoding))
    return found


def _extended(tail: Tail, lanes: Mapping[str, Columns], first: int, last: int) -> Tail:
    rows = dict(tail.rows)
    for lane, columns in lanes.items():
        rows[lane] = rows.get(lane, GrowingRows()).with_rows(columns)
    return Tail(first, last, rows)
