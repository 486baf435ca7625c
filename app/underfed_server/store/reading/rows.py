"""Recorded rows of a rank, all of them or the newest, through all incarnations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from underfed_server.measurements import Columns, Rows
from underfed_server.store.columns.lanes import columns_of, joined, length
from underfed_server.store.reading.tracks import Reader, Track, shifted


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
    return kind(*(columns[name] for name in kind.__dataclass_fields__))


def _newest(reader: Reader, track: Track, last: int | None) -> list[Columns]:
    """The newest ``last`` rows if there are that many, in order."""
    hot = reader.hot_rows(track)
    parts = [] if hot is None else [hot]
    if last is None:
        return reader.chunk_rows(track, range(track.chunks), columns_of(track.lane)) + parts
    missing = last - sum(length(columns) for columns in parts)
    for ordinal in reversed(range(track.dropped_chunks, track.chunks)):
        if missing <= 0:
            break
        parts.insert(0, reader.chunk(track, ordinal))
        missing -= length(parts[0])
    if missing < 0:
        parts[0] = {name: column[-missing:] for name, column in parts[0].items()}
    return parts


def read_after(
    reader: Reader, track: Track, after: float, most: int, names: Sequence[str]
) -> tuple[float, Columns] | None:
    """The next ``most`` kept rows or fewer: the index of the last, and the columns ``names``, shifted for readers.

    ``after``: the index of the last row that was read; -1: of none. Indices are the track's own. ``None``: no row
    follows. The cost follows the rows, however far apart their indices are, which a client chooses. Compaction does
    not change the index of a row, so a growing track may be read in several transactions.
    """
    since = max(reader.ordinal_at(track, int(after)), track.dropped_chunks)
    chunks = (rows for ordinal in range(since, track.chunks) for rows in reader.chunk_rows(track, [ordinal], names))
    for rows in chain(chunks, _hot(reader, track, names)):
        places = np.flatnonzero(rows["row"] > after)[:most]
        if len(places):
            found = {name: column[places] for name, column in rows.items()}
            return float(found["row"].max()), shifted(track, found)
    return None


def _hot(reader: Reader, track: Track, names: Sequence[str]) -> Iterator[Columns]:
    hot = reader.hot_rows(track)
    if hot is not None:
        yield {name: hot[name] for name in ("row", *names)}
