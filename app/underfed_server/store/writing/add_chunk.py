"""Adds a chunk to a track, with the roll-ups and histograms that it completes, like a carry in binary counting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sqlalchemy import Connection, and_, insert, select, update

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
from underfed_server.store.writing.peaks import note_peaks
from underfed_server.store.writing.streams import StreamKey
from underfed_server.store.writing.tail import belongs_to


def add_chunk(
    connection: Connection, key: StreamKey, lane: str, columns: Columns, precision_bits: int | None = None
) -> None:
    """``precision_bits``: significant bits that durations keep; ``None``: all of them.

    The track is locked, also against retention. Roll-ups are computed from exact figures even if rows are rounded.
    """
    track = tables.track.c
    is_ours = and_(belongs_to(tables.track, key), track.lane == lane)
    so_far = connection.execute(select(tables.track).where(is_ours).with_for_update()).one()
    index = index_of(columns, so_far.chunk_rows)
    columns_with_computed = with_computed(lane, columns)
    rollups = rollups_of(lane, columns_with_computed, index)
    row = {
        **key._asdict(),
        "lane": lane,
        "ordinal": so_far.chunks,
        "rows": length(columns),
        "first_index": int(index[0]),
        "first_us": int(columns[instant_of(lane)][0]),
        "rollups": chunk_rollups_to_bytes(lane, rollups),
        "body": encode(packed(lane, rounded(lane, columns, precision_bits))),
    }
    lane_bits = precision_bits if names_of(kind_of(lane), "duration") else None
    connection.execute(insert(tables.chunk), row)
    if lane == HOST:
        note_peaks(connection, key, rollups)
    above = _climb(connection, key, lane, so_far.chunks, total(rollups))
    above += _climb_binned(connection, key, lane, so_far.chunks, _histograms(lane, columns_with_computed))
    bits = [each for each in (so_far.precision_bits, lane_bits) if each is not None]
    grown = {
        "chunks": so_far.chunks + 1,
        "chunk_rows": so_far.chunk_rows + length(columns),
        "rows": so_far.chunk_rows + length(columns),
        "chunk_bytes": so_far.chunk_bytes + len(row["body"]),
        "ladder_bytes": so_far.ladder_bytes + len(row["rollups"]) + above,
        "precision_bits": min(bits, default=None),
    }
    connection.execute(update(tables.track).where(is_ours).values(**grown))


def _climb(connection: Connection, key: StreamKey, lane: str, ordinal: int, node: Rollup) -> int:
    """Add the roll-ups that chunk ``ordinal`` completes. Returns their bytes."""
    rows = []
    for level, place in _completed(ordinal):
        node = total(joined([_left_half(connection, key, lane, level, place), node]))
        body = node_to_bytes(lane, node)
        rows.append({**key._asdict(), "lane": lane, "level": level, "ordinal": place, "body": body})
    if rows:
        connection.execute(insert(tables.rollup), rows)
    return sum(len(row["body"]) for row in rows)


def _climb_binned(
    connection: Connection, key: StreamKey, lane: str, ordinal: int, counted: Mapping[str, Counts]
) -> int:
    """Add the histograms of chunk ``ordinal``, and those that it completes. Returns their bytes."""
    rows = _histogram_rows(key, lane, 0, ordinal, counted)
    for level, place in _completed(ordinal) if _binned(lane) else ():
        left = _left_histograms(connection, key, lane, level, place)
        nothing = np.zeros(histograms.BINS, np.int64)
        counted = {name: left.get(name, nothing) + counted.get(name, nothing) for name in {**left, **counted}}
        rows += _histogram_rows(key, lane, level, place, counted)
    if rows:
        connection.execute(insert(tables.histogram), rows)
    return sum(len(row["body"]) for row in rows)


def _completed(ordinal: int) -> list[tuple[int, int]]:
    """``(level, ordinal)`` of the nodes that chunk ``ordinal`` completes, lowest level first."""
    after = ordinal + 1
    return [(level, after // 2**level - 1) for level in range(1, (after & -after).bit_length())]


def _left_half(connection: Connection, key: StreamKey, lane: str, level: int, place: int) -> Rollup:
    names = tuple(MEASURES[kind_of(lane)])
    if level == 1:
        chunk = tables.chunk.c
        statement = select(chunk.rollups).where(belongs_to(tables.chunk, key), chunk.lane == lane)
        body = connection.execute(statement.where(chunk.ordinal == 2 * place)).scalar_one()
        return total(chunk_rollups_from_bytes(lane, [body], names))
    rollup = tables.rollup.c
    statement = select(rollup.body).where(belongs_to(tables.rollup, key), rollup.lane == lane)
    statement = statement.where(rollup.level == level - 1, rollup.ordinal == 2 * place)
    return nodes_from_bytes(lane, [connection.execute(statement).scalar_one()], names)


def _binned(lane: str) -> list[str]:
    """Measures that have a histogram."""
    return [name for name, each in MEASURES[kind_of(lane)].items() if each.has_histogram]


def _histograms(lane: str, columns: Columns) -> dict[str, Counts]:
    """Histograms of the measured values."""
    measured = {name: columns[name] for name in _binned(lane) if name in columns}
    return {name: histograms.counts_of(column) for name, column in measured.items() if np.isfinite(column).any()}


def _histogram_rows(
    key: StreamKey, lane: str, level: int, ordinal: int, counted: Mapping[str, Counts]
) -> list[dict[str, Any]]:
    place = {**key._asdict(), "lane": lane, "level": level, "ordinal": ordinal}
    return [{**place, "measure": name, "body": histograms.to_bytes(counts)} for name, counts in counted.items()]


def _left_histograms(connection: Connection, key: StreamKey, lane: str, level: int, place: int) -> dict[str, Counts]:
    histogram = tables.histogram.c
    statement = select(histogram.measure, histogram.body).where(
        belongs_to(tables.histogram, key),
        histogram.lane == lane,
        histogram.measure.in_(_binned(lane)),
        histogram.level == level - 1,
        histogram.ordinal == 2 * place,
    )
    return {name: histograms.from_bytes(body) for name, body in connection.execute(statement)}
