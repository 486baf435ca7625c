"""Adds chunks to tracks, with the roll-ups and histograms that they complete, like a carry in binary counting.

What is written is computed first, from a snapshot that another process may have: see :func:`new_chunks`.
"""

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
from underfed_server.store.writing.peaks import Peaks, note_peaks, peaks_of
from underfed_server.store.writing.streams import StreamKey


@dataclass(frozen=True, slots=True)
class Grown:
    """What a chunk adds to its track."""

    ordinal: int
    """Of the chunk."""
    rows: int
    chunk_bytes: int
    ladder_bytes: int
    precision_bits: int | None


@dataclass(slots=True)
class NewChunks:
    """Rows for the tables, of all lanes together: a statement costs as much as what it writes of one."""

    chunks: list[tuple[object, ...]] = field(default_factory=list)
    rollups: list[tuple[object, ...]] = field(default_factory=list)
    histograms: list[tuple[object, ...]] = field(default_factory=list)
    tracks: dict[str, Grown] = field(default_factory=dict)
    """By lane."""
    peaks: Peaks = field(default_factory=dict)


_OF_CHUNK = (*StreamKey._fields, "lane", "ordinal", "rows", "first_index", "first_us", "rollups", "body")
_OF_ROLLUP = (*StreamKey._fields, "lane", "level", "ordinal", "body")
_OF_HISTOGRAM = (*StreamKey._fields, "lane", "measure", "level", "ordinal", "body")
_GROWN = ("rows", "chunks", "chunk_rows", "chunk_bytes", "ladder_bytes", "precision_bits")


def _of_lane(table: Table) -> ColumnElement[bool]:
    return and_(*(table.c[name] == bindparam(name) for name in (*StreamKey._fields, "lane")))


# Built once: building a statement costs more than running it.
_chunk, _rollup, _histogram = tables.chunk.c, tables.rollup.c, tables.histogram.c
_TRACKS = select(tables.track).where(*(tables.track.c[name] == bindparam(name) for name in StreamKey._fields))
_TRACKS_LOCKED = _TRACKS.with_for_update()
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


def new_chunks(
    connection: Connection, key: StreamKey, lanes: Mapping[str, Columns], precision_bits: int | None = None
) -> NewChunks:
    """One of each of these lanes. Only reads; whoever else adds chunks to the stream meanwhile makes it void.

    ``precision_bits``: significant bits that durations keep; ``None``: all of them. Roll-ups are computed from exact
    figures even if rows are rounded.
    """
    so_far = {row.lane: row for row in connection.execute(_TRACKS, key._asdict())}
    new = NewChunks()
    for lane, columns in lanes.items():
        _add(connection, key, lane, columns, so_far[lane], precision_bits, new)
    return new


def write_chunks(connection: Connection, key: StreamKey, new: NewChunks) -> bool:
    """The tracks are locked, also against retention. ``False``: others were added since, and nothing is written."""
    so_far = {row.lane: row for row in connection.execute(_TRACKS_LOCKED, key._asdict())}
    if any(lane not in so_far or so_far[lane].chunks != grown.ordinal for lane, grown in new.tracks.items()):
        return False
    for table, names, rows in (
        (tables.chunk, _OF_CHUNK, new.chunks),
        (tables.rollup, _OF_ROLLUP, new.rollups),
        (tables.histogram, _OF_HISTOGRAM, new.histograms),
    ):
        if rows:
            connection.exec_driver_sql(plain_insert(connection, table, names), rows)
    if new.tracks:
        tracks = [(*_grown(so_far[lane], grown), *key, lane) for lane, grown in new.tracks.items()]
        connection.exec_driver_sql(plain_update(connection, tables.track, _GROWN), tracks)
    if new.peaks:
        note_peaks(connection, key, new.peaks)
    return True


def _grown(so_far: Row[Any], grown: Grown) -> tuple[object, ...]:
    chunk_rows = so_far.chunk_rows + grown.rows
    # Those of steps are counted as their windows come; more of them may be there by now than the chunks have.
    rows = so_far.rows if kind_of(so_far.lane) == "steps" else chunk_rows
    bits = [each for each in (so_far.precision_bits, grown.precision_bits) if each is not None]
    return (
        rows, grown.ordinal + 1, chunk_rows, so_far.chunk_bytes + grown.chunk_bytes,
        so_far.ladder_bytes + grown.ladder_bytes, min(bits, default=None),
    )  # fmt: skip


def _add(
    connection: Connection,
    key: StreamKey,
    lane: str,
    columns: Columns,
    so_far: Row[Any],
    precision_bits: int | None,
    new: NewChunks,
) -> None:
    place, ordinal = (*key, lane), so_far.chunks
    index = index_of(columns, so_far.chunk_rows)
    columns_with_computed = with_computed(lane, columns)
    rollups = rollups_of(lane, columns_with_computed, index)
    body = encode(rounded(lane, packed(lane, columns), precision_bits))
    summary = chunk_rollups_to_bytes(lane, rollups)
    first_us = int(columns[instant_of(lane)][0])
    new.chunks.append((*place, ordinal, length(columns), int(index[0]), first_us, summary, body))
    if lane == HOST:
        new.peaks = peaks_of(rollups)
    above = _climb(connection, key, lane, ordinal, total(rollups))
    binned = _climb_binned(connection, key, lane, ordinal, _histograms(lane, columns_with_computed))
    new.rollups += above
    new.histograms += binned
    ladder_bytes = len(summary) + sum(len(row[-1]) for row in (*above, *binned))
    lane_bits = precision_bits if names_of(kind_of(lane), "duration") else None
    new.tracks[lane] = Grown(ordinal, length(columns), len(body), ladder_bytes, lane_bits)


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
