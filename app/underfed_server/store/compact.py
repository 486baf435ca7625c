"""Makes chunks of a stream's hot windows, with the roll-ups that belong to them, in one transaction."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from sqlalchemy import ColumnElement, Connection, and_, delete, insert, select, update

from underfed_server.store import tables
from underfed_server.store.chunks import Column, Columns, encode
from underfed_server.store.gather import lanes_of
from underfed_server.store.ladder import Rollup, from_bytes, joined, tier_of, to_bytes, total
from underfed_server.store.lanes import instant_of, length, packed
from underfed_server.store.streams import StreamKey
from underfed_server.store.tail import belongs_to, hot_windows

DUE_ROWS = 4_096
"""Rows of the longest lane: 9.2 bytes a step where 1,024 took 9.5 and 256 took 10.1 (own study)."""

DUE_WINDOWS = 600
"""Ten minutes: a slow job's windows must not pile up, since every reader decodes them."""

QUIET_S = 600.0
"""A stream that sent nothing for so long is not expected to fill its chunk."""


@dataclass(frozen=True, slots=True)
class _Pile:
    rows: int
    windows: int
    touched_at: float


class Piles:
    """The hot windows of each stream, counted: which streams are due. Used by the writer's thread alone."""

    def __init__(self) -> None:
        self._piles: dict[StreamKey, _Pile] = {}
        self._due: dict[StreamKey, None] = {}

    def recall(self, connection: Connection) -> None:
        """Find what an earlier service left, or one that shares the database and is gone."""
        stream = tables.stream.c
        key, hot = (stream.run_id, stream.rank, stream.incarnation), (stream.hot_rows, stream.hot_windows)
        for *values, rows, windows in connection.execute(select(*key, *hot).where(stream.hot_windows > 0)):
            known = self._piles.get(StreamKey(*values))
            if known is None or (known.rows, known.windows) != (rows, windows):
                self.note(StreamKey(*values), rows, windows, has_ended=False)

    def note(self, key: StreamKey, rows: int, windows: int, *, has_ended: bool) -> None:
        """A stream's hot rows and windows, all in all."""
        self._piles[key] = _Pile(rows, windows, time.monotonic())
        if has_ended or rows >= DUE_ROWS or windows >= DUE_WINDOWS:
            self._due[key] = None

    @property
    def are_due(self) -> bool:
        return bool(self._due)

    def next_due(self, *, look_for_quiet: bool) -> StreamKey | None:
        """A stream to compact now; its count begins anew."""
        if look_for_quiet:
            since = time.monotonic() - QUIET_S
            self._due |= {key: None for key, pile in self._piles.items() if pile.touched_at < since}
        key = next(iter(self._due), None)
        if key is not None:
            self._drop(key)
        return key

    def forget(self, run_id: str) -> None:
        for key in [key for key in self._piles if key.run_id == run_id]:
            self._drop(key)

    def _drop(self, key: StreamKey) -> None:
        self._piles.pop(key, None)
        self._due.pop(key, None)


def compact(connection: Connection, key: StreamKey) -> None:
    """Every row of ``key`` lies in a chunk afterwards, unless another process is about to see to that."""
    waits = select(tables.stream.c.hot_windows).where(belongs_to(tables.stream, key))
    if not connection.execute(waits.with_for_update(skip_locked=True)).scalar():
        return
    for lane, columns in lanes_of(hot_windows(connection, key)).items():
        _add_chunk(connection, key, lane, columns)
    connection.execute(delete(tables.hot).where(belongs_to(tables.hot, key)))
    connection.execute(update(tables.stream).where(belongs_to(tables.stream, key)).values(hot_rows=0, hot_windows=0))


def _add_chunk(connection: Connection, key: StreamKey, lane: str, columns: Columns) -> None:
    track = tables.track.c
    is_ours = and_(belongs_to(tables.track, key), track.lane == lane)
    so_far = select(track.chunks, track.chunk_rows, track.chunk_bytes).where(is_ours)
    ordinal, rows_before, bytes_before = connection.execute(so_far).one()
    index = index_of(columns, rows_before)
    tier = tier_of(lane, columns, index)
    body = encode(packed(lane, columns))
    row = {
        **key._asdict(),
        "lane": lane,
        "ordinal": ordinal,
        "rows": length(columns),
        "first_index": int(index[0]),
        "first_us": int(columns[instant_of(lane)][0]),
        "tier": to_bytes(tier),
        "body": body,
    }
    connection.execute(insert(tables.chunk), row)
    grown = {"chunks": ordinal + 1, "chunk_rows": rows_before + length(columns)}
    grown["chunk_bytes"] = bytes_before + len(body)
    connection.execute(update(tables.track).where(is_ours).values(**grown))
    _climb(connection, key, lane, ordinal, total(tier))


def index_of(columns: Columns, rows_before: int) -> Column:
    """What rows are counted by: a step's index, else their number in the lane."""
    if "step_index" in columns:
        return columns["step_index"]
    return rows_before + np.arange(length(columns), dtype=np.float64)


def _climb(connection: Connection, key: StreamKey, lane: str, ordinal: int, node: Rollup) -> None:
    """Add the roll-ups that chunk ``ordinal`` completes, like a carry in binary counting."""
    level = 1
    while (ordinal + 1) % 2**level == 0:
        place = (ordinal + 1) // 2**level - 1
        node = total(joined([_left_half(connection, key, lane, level, place), node]))
        row = {**key._asdict(), "lane": lane, "level": level, "ordinal": place, "body": to_bytes(node)}
        connection.execute(insert(tables.rollup), row)
        level += 1


def _left_half(connection: Connection, key: StreamKey, lane: str, level: int, place: int) -> Rollup:
    if level == 1:
        body = tables.chunk.c.tier
        where = _at(tables.chunk.c.lane, lane, tables.chunk.c.ordinal, 2 * place)
        return total(
            from_bytes(connection.execute(select(body).where(belongs_to(tables.chunk, key), where)).scalar_one())
        )
    rollup = tables.rollup.c
    where = and_(_at(rollup.lane, lane, rollup.ordinal, 2 * place), rollup.level == level - 1)
    return from_bytes(connection.execute(select(rollup.body).where(belongs_to(tables.rollup, key), where)).scalar_one())


def _at(
    lane_column: ColumnElement[str], lane: str, ordinal_column: ColumnElement[int], ordinal: int
) -> ColumnElement[bool]:
    return and_(lane_column == lane, ordinal_column == ordinal)
