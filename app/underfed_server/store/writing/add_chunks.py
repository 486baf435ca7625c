"""Adds chunks to tracks, with the roll-ups and histograms that they complete, like a carry in binary counting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, Row, Table, and_, bindparam, select

from underfed_server.measurements import MEASURES, Columns, names_of
from underfed_server.store.columns import histograms
from underfed_server.store.columns.chunks import encode
from underfed_server.store.columns.histograms import Counts
from underfed_server.store.columns.ladder import Rollup, joined, rollups_of, total, with_computed
from underfed_server.store.columns.lanes import HOST, index_of, instant_of, kind_of, length, packed
from underfed_server.store.columns.records import (
    chunk_rollups_from_bytes,
    chunk_rollups_to_bytes,
    node_to_bytes,
    nodes_from_bytes,
)
from underfed_server.store.columns.rounding import rounded
from underfed_server.store.databases import tables
from underfed_server.store.databases.dialects import plain_insert, plain_update
from underfed_server.store.writing.peaks import note_peaks
from underfed_server.store.writing.streams import StreamKey


@dataclass(slots=True)
class _Added:
    """Rows for the tables, of all lanes together: a statement costs as much as what it writes of one."""

    chunks: list[tuple[object, ...]] = field(default_factory=list)
    rollups: list[tuple[object, ...]] = field(default_factory=list)
    histograms: list[tuple[object, ...]] = field(default_factory=list)
    tracks: list[tuple[object, ...]] = field(default_factory=list)


_OF_CHUNK = (*StreamKey._fields, "lane", "ordinal", "rows", "first_index", "first_us", "rollups", "body")
_OF_ROLLUP = (*StreamKey._fields, "lane", "level", "ordinal", "body")
_OF_HISTOGRAM = (*StreamKey._fields, "lane", "measure", "level", "ordinal", "body")
_GROWN = ("rows", "chunks", "chunk_rows", "chunk_bytes", "ladder_bytes", "precision_bits")


def _of_lane(table: Table) -> ColumnElement[bool]:
    return and_(*(table.c[name] == bindparam(name) for name in (*StreamKey._fields, "lane")))


# Built once: building a statement costs more than running it.
_chunk, _rollup, _histogram = tables.chunk.c, tables.rollup.c, tables.histogram.c
_TRACKS = (
    select(tables.track).where(*(tables.track.c[name] == bindparam(name) for name in StreamKey._fields))
).with_for_update()
_LEFT_CHUNK = select(_chunk.rollups).where(_of_lane(tables.chunk), _chunk.ordinal == bindparam("left"))
_LEFT_NODE = select(_rollup.body).where(
    _of_lane(tables.rollup), _rollup.level == bindparam("below"), _rollup.ordinal == bindparam("left")
)
_LEFT_HISTOGRAMS = select(_histogram.measure, _histogram.body).where(
    _of_lane(tables.histogram),
    _histogram.measure.in_(bindparam("measures", expanding=True)),
    _histogram.level == bindparam("below"),
    _histogram.ordinal == bindparam("left"),
)


def add_chunks(
    connection: Connection, key: StreamKey, lanes: Mapping[str, Columns], precision_bits: int | None = None
) -> None:
    """One of each of these lanes. ``precision_bits``: significant bits that durations keep; ``None``: all of them.

    The tracks are locked, also against retention. Roll-ups are computed from exact figures even if rows are rounded.
    """
    so_far = {row.lane: row for row in connection.execute(_TRACKS, key._asdict())}
    added = _Added()
    for lane, columns in lanes.items():
        _add(connection, key, lane, columns, so_far[lane], precision_bits, added)
    for table, names, rows in (
        (tables.chunk, _OF_CHUNK, added.chunks),
        (tables.rollup, _OF_ROLLUP, added.rollups),
        (tables.histogram, _OF_HISTOGRAM, added.histograms),
    ):
        if rows:
            connection.exec_driver_sql(plain_insert(connection, table, names), rows)
    if added.tracks:
        connection.exec_driver_sql(plain_update(connection, tables.track, _GROWN), added.tracks)


def _add(
    connection: Connection,
    key: StreamKey,
    lane: str,
    columns: Columns,
    so_far: Row[Any],
    precision_bits: int | None,
    added: _Added,
) -> None:
    place, ordinal = (*key, lane), so_far.chunks
    index = index_of(columns, so_far.chunk_rows)
    columns_with_computed = with_computed(lane, columns)
    rollups = rollups_of(lane, columns_with_computed, index)
    body = encode(packed(lane, rounded(lane, columns, precision_bits)))
    summary = chunk_rollups_to_bytes(lane, rollups)
    first_us = int(columns[instant_of(lane)][0])
    added.chunks.append((*place, ordinal, length(columns), int(index[0]), first_us, summary, body))
    if lane == HOST:
        note_peaks(connection, key, rollups)
    above = _climb(connection, key, lane, ordinal, total(rollups))
    binned = _climb_binned(connection, key, lane, ordinal, _histograms(lane, columns_with_computed))
    added.rollups += above
    added.histograms += binned
    lane_bits = precision_bits if names_of(kind_of(lane), "duration") else None
    bits = [each for each in (so_far.precision_bits, lane_bits) if each is not None]
    rows, ladder_bytes = so_far.chunk_rows + length(columns), sum(len(row[-1]) for row in (*above, *binned))
    added.tracks.append(
        (
            rows, ordinal + 1, rows, so_far.chunk_bytes + len(body),
            so_far.ladder_bytes + len(summary) + ladder_bytes, min(bits, default=None), *place,
        )
    )  # fmt: skip


def _climb(connection: Connection, key: StreamKey, lane: str, ordinal: int, node: Rollup) -> list[tuple[Any, ...]]:
    """The roll-ups that chunk ``ordinal`` completes."""
    rows = []
    for level, place in _completed(ordinal):
        node = total(joined([_left_half(connection, key, lane, level, place), node]))
        rows.append((*key, lane, level, place, node_to_bytes(lane, node)))
    return rows


def _climb_binned(
    connection: Connection, key: StreamKey, lane: str, ordinal: int, counted: Mapping[str, Counts]
) -> list[tuple[Any, ...]]:
    """The histograms of chunk ``ordinal``, and those that it completes."""
    rows = _histogram_rows(key, lane, 0, ordinal, counted)
    for level, place in _completed(ordinal) if _binned(lane) else ():
        left = _left_histograms(connection, key, lane, level, place)
        nothing = np.zeros(histograms.BINS, np.int64)
        counted = {name: left.get(name, nothing) + counted.get(name, nothing) for name in {**left, **counted}}
        rows += _histogram_rows(key, lane, level, place, counted)
    return rows


def _completed(ordinal: int) -> list[tuple[int, int]]:
    """``(level, ordinal)`` of the nodes that chunk ``ordinal`` completes, lowest level first."""
    after = ordinal + 1
    return [(level, after // 2**level - 1) for level in range(1, (after & -after).bit_length())]


def _left_half(connection: Connection, key: StreamKey, lane: str, level: int, place: int) -> Rollup:
    names = tuple(MEASURES[kind_of(lane)])
    named = {**key._asdict(), "lane": lane, "left": 2 * place}
    if level == 1:
        body = connection.execute(_LEFT_CHUNK, named).scalar_one()
        return total(chunk_rollups_from_bytes(lane, [body], names))
    return nodes_from_bytes(lane, [connection.execute(_LEFT_NODE, named | {"below": level - 1}).scalar_one()], names)


def _binned(lane: str) -> list[str]:
    """Measures that have a histogram."""
    return [name for name, each in MEASURES[kind_of(lane)].items() if each.has_histogram]


def _histograms(lane: str, columns: Columns) -> dict[str, Counts]:
    """Histograms of the measured values."""
    measured = {name: columns[name] for name in _binned(lane) if name in columns}
    return {name: histograms.counts_of(column) for name, column in measured.items() if np.isfinite(column).any()}


def _histogram_rows(
    key: StreamKey, lane: str, level: int, ordinal: int, counted: Mapping[str, Counts]
) -> list[tuple[Any, ...]]:
    return [(*key, lane, name, level, ordinal, histograms.to_bytes(counts)) for name, counts in counted.items()]


def _left_histograms(connection: Connection, key: StreamKey, lane: str, level: int, place: int) -> dict[str, Counts]:
    named = {**key._asdict(), "lane": lane, "left": 2 * place, "below": level - 1, "measures": _binned(lane)}
    return {name: histograms.from_bytes(body) for name, body in connection.execute(_LEFT_HISTOGRAMS, named)}
