"""Recorded rows of a rank, all of them or the newest, through all incarnations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from underfed_server.measurements import Columns, Rows
from underfed_server.store.columns.lanes import columns_of, joined, length
from underfed_server.store.reading.tracks import Reader, Track, cut, shifted


def read_rows(kind: type[Rows], reader: Reader, run_id: str, rank: int, lane: str, last: int | None) -> Rows:
    """The newest ``last`` rows of a lane, all of them by default; empty columns where nothing was recorded.

    Rows that retention deleted are left out.
    """
    parts: list[Columns] = []
    missing = last
    for track in reversed(reader.tracks(run_id, rank, lane)):
        found = _newest(reader, track, missing)
        parts[:0] = [shifted(track, columns) for columns in found]
        if missing is not None:
            missing -= sum(length(columns) for columns in found)
            # Rows before a gap do not adjoin those after it.
            if missing <= 0 or track.dropped_chunks:
                break
    columns = joined(parts) if parts else {name: np.empty(0) for name in columns_of(lane)}
    first = 0 if last is None else max(0, length(columns) - last)
    return kind(**{each.name: columns[each.name][first:] for each in fields(kind)})


def _newest(reader: Reader, track: Track, last: int | None) -> list[Columns]:
    """At least ``last`` rows if there are that many, in order."""
    hot = reader.hot_rows(track)
    parts = [] if hot is None else [hot]
    missing = track.chunk_rows if last is None else last - sum(length(columns) for columns in parts)
    if missing <= 0 or not track.chunks:
        return parts
    since = 0 if last is None else first_needed(reader, track, missing)
    return reader.chunk_rows(track, range(since, track.chunks), columns_of(track.lane)) + parts


def first_needed(reader: Reader, track: Track, rows: int) -> int:
    """The ordinal from which on the track's chunks have at least ``rows``."""
    # Chunks differ in size, but seldom by much: look at twice as many as the mean asks for before looking at all.
    guess = max(0, track.chunks - 2 - 2 * rows * track.chunks // max(1, track.chunk_rows))
    for since in (guess, 0):
        found = 0
        for place in reversed(reader.chunk_places(track, since)):
            found += place.rows
            if found >= rows:
                return place.ordinal
    return 0


def read_range(reader: Reader, track: Track, low: int, high: int, names: Sequence[str]) -> Columns | None:
    """The columns ``names`` of the rows ``low … high`` (exclusive, the track's own indices), shifted for readers.

    ``None``: no row is kept there. Compaction does not change the index of a row, so a growing track may be read in
    several transactions.
    """
    parts = []
    if track.chunks:
        ordinals = range(reader.ordinal_at(track, low), reader.ordinal_at(track, high - 1) + 1)
        parts += reader.chunk_rows(track, ordinals, names)
    hot = reader.hot_rows(track)
    if hot is not None:
        parts.append({name: hot[name] for name in parts[0]} if parts else hot)
    if not parts:
        return None
    found = cut(joined(parts), low, high)
    return shifted(track, found) if length(found) else None
