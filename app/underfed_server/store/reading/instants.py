"""Which row was recorded at an instant, and when a row was. Where retention deleted rows, to within 256 of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from sqlalchemy import bindparam, select

from underfed_server.measurements import Columns
from underfed_server.store.columns.lanes import instant_of
from underfed_server.store.databases import tables
from underfed_server.store.reading.tracks import Reader, Track, at_place, place_of

_chunk = tables.chunk.c
# Built once: building a statement costs more than running it.
_ORDINAL_BEFORE = (
    select(_chunk.ordinal)
    .where(at_place(tables.chunk), _chunk.first_us < bindparam("at_us"))
    .order_by(_chunk.ordinal.desc())
    .limit(1)
)


def index_at(reader: Reader, tracks: Sequence[Track], at_us: float, *, is_end: bool = False) -> int:
    """Index of the first row at or after an instant of the run's clock; one past the last row: there is none.

    Where rows were deleted: of the first row of the bucket that holds the instant; as an end, of the bucket after it.
    """
    # An infinite instant, of a step that there is not, is none that a database has a number for.
    for track in tracks if at_us < np.inf else ():
        index = _index_at(reader, track, at_us - track.shift_us, is_end=is_end)
        if index < track.end_index:
            return track.shift_index + index
    return tracks[-1].shift_index + tracks[-1].end_index


def instant_at(reader: Reader, tracks: Sequence[Track], index: int) -> float | None:
    """When the first row from ``index`` on was, on the run's clock; ``None``: there is none."""
    for track in tracks:
        if index < track.shift_index + track.end_index:
            at_us = _instant_at(reader, track, index - track.shift_index)
            if at_us is not None:
                return at_us + track.shift_us
    return None


def span_of(reader: Reader, steps: Sequence[Track], first: int, after: int | None) -> tuple[float | None, float | None]:
    """From step ``first`` until step ``after`` began, on the run clock. ``None``: no bound; infinite: no such step."""
    if first == 0 and after is None:
        return None, None
    began = instant_at(reader, steps, first)
    return (np.inf if began is None else began), None if after is None else instant_at(reader, steps, after)


def _index_at(reader: Reader, track: Track, at_us: float, *, is_end: bool) -> int:
    """Index not yet shifted; ``at_us`` is on the incarnation's clock."""
    asked = place_of(track) | {"at_us": at_us}
    ordinal = reader.connection.execute(_ORDINAL_BEFORE, asked).scalar() if track.chunks else None
    if ordinal is None and track.chunks:
        return 0
    if ordinal is not None and ordinal < track.dropped_chunks:
        rollups = reader.chunk_rollups(track, ordinal, ordinal + 1, [])
        if rollups is None:
            return track.end_index
        place = int(np.searchsorted(rollups.first_us, at_us)) - (0 if is_end else 1)
        return int(rollups.first_index[place]) if place < len(rollups) else reader.after_chunks(track)
    for columns in _rows(reader, track, ordinal):
        later = np.flatnonzero(columns[instant_of(track.lane)] >= at_us)
        if len(later):
            return int(columns["row"][later[0]])
    return track.end_index


def _instant_at(reader: Reader, track: Track, index: int) -> float | None:
    ordinal = reader.ordinal_at(track, index) if track.chunks else None
    if ordinal is not None and ordinal < track.dropped_chunks:
        rollups = reader.chunk_rollups(track, ordinal, ordinal, [])
        if rollups is not None:
            place = int(np.searchsorted(rollups.first_index, index, side="right")) - 1
            return float(rollups.first_us[max(place, 0)])
    for columns in _rows(reader, track, ordinal):
        later = np.flatnonzero(columns["row"] >= index)
        if len(later):
            return float(columns[instant_of(track.lane)][later[0]])
    return None


def _rows(reader: Reader, track: Track, ordinal: int | None) -> Iterator[Columns]:
    """Rows of the chunk ``ordinal``, of the one after it, and those that no chunk holds yet."""
    if ordinal is not None:
        yield from reader.chunk_rows(track, [ordinal, ordinal + 1], [instant_of(track.lane)])
    hot = reader.hot_rows(track)
    if hot is not None:
        yield hot
