"""Any stretch of a lane in at most N buckets, from the coarsest roll-ups that still show as much.

The cost follows N, not the length of the run. Buckets are powers of two of rows, aligned to their index: while a run
grows, the buckets that were complete stay as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select

from underfed_server.store import tables
from underfed_server.store.chunks import Column, Columns
from underfed_server.store.ladder import (
    COMPUTE,
    DERIVED_FROM,
    STALL,
    STALL_FRACTION,
    TIER_ROWS,
    Rollup,
    from_bytes,
    joined,
    merge,
    summarise,
    with_derived,
)
from underfed_server.store.lanes import instant_of, kind_of
from underfed_server.store.tail import belongs_to
from underfed_server.store.tracks import Reader, Track, cut

DERIVED = {COMPUTE, STALL, STALL_FRACTION}


def read_series(
    reader: Reader,
    run_id: str,
    rank: int,
    lane: str,
    run_started_at: datetime,
    *,
    names: Sequence[str],
    buckets: int,
    low: int = 0,
    high: int | None = None,
) -> Rollup | None:
    """The measures ``names`` of rows ``low … high`` (left out), counted through all incarnations.

    ``None``: no row lies there.
    """
    tracks = reader.tracks(run_id, rank, lane, run_started_at)
    spans = [span for track in tracks if (span := _span(track, low, high))]
    if not spans:
        return None
    size = bucket_size(min(span[1] for span in spans), max(span[2] for span in spans), buckets)
    pieces = [piece for span in spans for piece in _pieces(reader, *span, size, names)]
    if not pieces:
        return None
    rollup = joined(pieces)
    return merge(rollup, starts_of(rollup.first_index, size))


def read_series_between(
    reader: Reader,
    run_id: str,
    rank: int,
    lane: str,
    run_started_at: datetime,
    *,
    names: Sequence[str],
    buckets: int,
    from_us: float | None,
    to_us: float | None,
) -> Rollup | None:
    """As :func:`read_series`, of the rows between two instants of the run's clock; ``None``: no bound."""
    tracks = reader.tracks(run_id, rank, lane, run_started_at)
    if not tracks:
        return None
    low = 0 if from_us is None else _index_at(reader, tracks, from_us)
    high = None if to_us is None else _index_at(reader, tracks, to_us)
    return read_series(reader, run_id, rank, lane, run_started_at, names=names, buckets=buckets, low=low, high=high)


def bucket_size(low: int, high: int, buckets: int) -> int:
    """The smallest power of two of which at most ``buckets``, aligned, cover the rows ``low … high``."""
    size = 1
    while (high - 1) // size - low // size + 1 > buckets:
        size *= 2
    return size


def starts_of(index: Column, size: int) -> NDArray[np.intp]:
    """Where a new bucket begins among rows (or smaller buckets) with these indices."""
    # An agent counts upwards; should one ever not, buckets still must not grow in number.
    bucket = np.maximum.accumulate(index) // size
    return np.flatnonzero(np.diff(bucket, prepend=-1.0))


def _span(track: Track, low: int, high: int | None) -> tuple[Track, int, int] | None:
    """The part of a track that is asked for, in indices counted through all incarnations."""
    end = track.shift_index + track.end_index
    first, last = max(low, track.shift_index), end if high is None else min(high, end)
    return (track, first, last) if first < last else None


def _index_at(reader: Reader, tracks: Sequence[Track], at_us: float) -> int:
    for track in tracks:
        index = reader.index_at(track, at_us - track.shift_us)
        if index < track.end_index:
            return track.shift_index + index
    return tracks[-1].shift_index + tracks[-1].end_index


def _pieces(reader: Reader, track: Track, low: int, high: int, size: int, names: Sequence[str]) -> Iterator[Rollup]:
    """Roll-ups of a track's rows, each of at most about ``size`` rows, shifted to the run's count and clock."""
    first, last = low - track.shift_index, high - track.shift_index
    for piece in _chunk_pieces(reader, track, first, last, size, names):
        yield _shifted(track, piece)
    hot = reader.hot_rows(track)
    if hot is not None:
        yield from (_shifted(track, piece) for piece in _summaries(track, [hot], first, last, size))


def _chunk_pieces(
    reader: Reader, track: Track, low: int, high: int, size: int, names: Sequence[str]
) -> Iterator[Rollup]:
    if not track.chunks:
        return
    first, end = reader.ordinal_at(track, low), reader.ordinal_at(track, high - 1) + 1
    mean_rows = track.chunk_rows / track.chunks
    if size < TIER_ROWS and size < mean_rows:
        rows = reader.chunk_rows(track, range(first, end), _columns_for(track, names))
        yield from _summaries(track, rows, low, high, size)
        return
    # The chunks at the edges may hold rows that were not asked for: they are cut row by row.
    cut_first, cut_last = low > 0, high < track.end_index
    inner = range(first + cut_first, max(first + cut_first, end - cut_last))
    yield from _edge(reader, track, [first] if cut_first else [], low, high, size, names)
    yield from _inner(reader, track, inner, size / mean_rows, names)
    is_apart = cut_last and end - 1 >= inner.start
    yield from _edge(reader, track, [end - 1] if is_apart else [], low, high, size, names)


def _edge(
    reader: Reader, track: Track, ordinals: list[int], low: int, high: int, size: int, names: Sequence[str]
) -> Iterator[Rollup]:
    rows = reader.chunk_rows(track, ordinals, _columns_for(track, names))
    yield from _summaries(track, rows, low, high, size)


def _inner(
    reader: Reader, track: Track, ordinals: range, chunks_a_bucket: float, names: Sequence[str]
) -> Iterator[Rollup]:
    """Whole chunks: their tiers, or the largest roll-ups of several that fit into a bucket."""
    highest = max(0, int(np.log2(max(1.0, chunks_a_bucket))))
    start = ordinals.start
    while start < ordinals.stop:
        level = min(highest, (ordinals.stop - start).bit_length() - 1, _trailing_zeros(start, highest))
        stop = start + (1 << level)
        # Take the whole stretch that lies on this level at once.
        while level == highest and stop + (1 << level) <= ordinals.stop:
            stop += 1 << level
        yield from _nodes(reader, track, level, start >> level, (stop >> level) - 1, names)
        start = stop


def _nodes(reader: Reader, track: Track, level: int, first: int, last: int, names: Sequence[str]) -> Iterator[Rollup]:
    chunk, rollup = tables.chunk.c, tables.rollup.c
    if level == 0:
        statement = select(chunk.tier).where(reader.is_chunk_of(track), chunk.ordinal.between(first, last))
        statement = statement.order_by(chunk.ordinal)
    else:
        statement = select(rollup.body).where(belongs_to(tables.rollup, track.key), rollup.lane == track.lane)
        statement = statement.where(rollup.level == level, rollup.ordinal.between(first, last))
        statement = statement.order_by(rollup.ordinal)
    with_bins = kind_of(track.lane) == "batches"
    for body in reader.connection.execute(statement).scalars():
        yield from_bytes(body, names, with_bins=with_bins)


def _trailing_zeros(number: int, most: int) -> int:
    return most if number == 0 else (number & -number).bit_length() - 1


def _summaries(track: Track, parts: Sequence[Columns], low: int, high: int, size: int) -> Iterator[Rollup]:
    for part in parts:
        columns = cut(with_derived(track.lane, part), low, high)
        if len(columns["row"]):
            # Buckets are aligned to the count through all incarnations.
            index = columns["row"] + track.shift_index
            yield summarise(track.lane, columns, columns["row"], starts_of(index, size))


def _columns_for(track: Track, names: Sequence[str]) -> list[str]:
    """The columns that the measures ``names`` are made of."""
    wanted = {instant_of(track.lane), *(name for name in names if name not in DERIVED)}
    if DERIVED & set(names):
        wanted |= set(DERIVED_FROM)
    return sorted(wanted)


def _shifted(track: Track, piece: Rollup) -> Rollup:
    return Rollup(
        piece.rows,
        piece.first_index + track.shift_index,
        piece.first_us + track.shift_us,
        piece.stats,
        piece.load_bins,
    )
