"""Any range of a lane in at most N buckets, from the coarsest roll-ups that are fine enough.

The cost follows N, not the length of the run. Buckets are powers of two of rows, aligned to their index: while a run
grows, the buckets that were complete stay as they were. Where retention deleted the rows, no bucket is finer
than the roll-ups of a chunk: 256 rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from underfed_server.measurements import COMPUTED, MEASURES, Column, Columns
from underfed_server.store.columns.histograms import exact_percentiles, percentiles_of
from underfed_server.store.columns.ladder import (
    ROLLUP_ROWS,
    Rollup,
    joined,
    merge,
    summarise,
    with_computed,
)
from underfed_server.store.columns.lanes import instant_of, kind_of
from underfed_server.store.columns.lanes import joined as joined_rows
from underfed_server.store.columns.short_batches import ESTIMATED_WITH, SAMPLED
from underfed_server.store.reading.instants import index_at
from underfed_server.store.reading.tracks import Reader, Track, cut, shifted

SLACK = 1.2

MOST_CHUNKS_SORTED = 64
"""Percentiles are exact where at most so many chunks are read, else from histograms, which only whole chunks have."""


@dataclass(frozen=True, slots=True)
class _Question:
    """What is requested of a range."""

    names: Sequence[str]
    size: int
    """Rows per bucket."""
    binned: Sequence[str]
    """Measures whose histograms are read: then no bucket is finer than a chunk."""


@dataclass(frozen=True, slots=True)
class _Span:
    """The requested part of a track, in indices counted through all incarnations."""

    track: Track
    low: int
    high: int

    @property
    def first(self) -> int:
        """As the incarnation counts."""
        return self.low - self.track.shift_index

    @property
    def last(self) -> int:
        return self.high - self.track.shift_index

    def chunks(self, reader: Reader) -> range:
        if not self.track.chunks:
            return range(0)
        return range(reader.ordinal_at(self.track, self.first), reader.ordinal_at(self.track, self.last - 1) + 1)


def read_series(
    reader: Reader,
    run_id: str,
    rank: int,
    lane: str,
    *,
    names: Sequence[str],
    buckets: int,
    low: int = 0,
    high: int | None = None,
    from_us: float | None = None,
    to_us: float | None = None,
    binned: Sequence[str] = (),
    percentiles: Sequence[float] = (),
) -> Rollup | None:
    """The measures ``names`` of rows ``low … high`` (exclusive), counted through all incarnations.

    ``from_us`` and ``to_us``: instants of the run's clock, in place of rows. With the bins of the measures ``binned``,
    or with ``percentiles`` of those of ``names`` that have histograms.
    ``None``: no row lies there.
    """
    tracks = reader.tracks(run_id, rank, lane)
    if tracks and from_us is not None:
        low = index_at(reader, tracks, from_us)
    if tracks and to_us is not None:
        high = index_at(reader, tracks, to_us, is_end=True)
    spans = [span for track in tracks if (span := _span(track, low, high))]
    if not spans:
        return None
    size = bucket_size(min(span.low for span in spans), max(span.high for span in spans), buckets)
    measures = MEASURES[kind_of(lane)]
    asked = [name for name in names if percentiles and measures[name].has_histogram]
    ordinals = [span.chunks(reader) for span in spans]
    if (asked or binned) and _needs_histograms(spans, ordinals):
        binned = list(dict.fromkeys([*binned, *asked]))
        size = max(size, *(_chunk_size(span.track) for span in spans))
    elif all(_is_fine(span.track, size) for span in spans) or asked or binned:
        return _by_row(reader, spans, ordinals, _Question(names, size, binned), asked, percentiles)
    question = _Question(names, size, binned)
    pieces = [
        piece for span, chunks in zip(spans, ordinals, strict=True) for piece in _pieces(reader, span, chunks, question)
    ]
    if not pieces:
        return None
    rollup = joined(pieces)
    rollup = merge(rollup, starts_of(rollup.first_index, size))
    found = {name: percentiles_of(rollup.bins[name], percentiles) for name in asked if name in rollup.bins}
    return replace(rollup, percentiles=found)


def read_sums(reader: Reader, run_id: str, rank: int, lane: str, names: Sequence[str]) -> dict[str, float]:
    """The measures ``names`` added up over all rows that have them: as :func:`read_series` of one bucket, which takes
    several times as long for rows that no chunk holds yet. One that no row has is left out."""
    found: dict[str, float] = {}
    for track in reader.tracks(run_id, rank, lane):
        hot = reader.hot_rows(track)
        if track.chunks:
            low, high = track.shift_index, track.shift_index + reader.after_chunks(track)
            rollup = read_series(reader, run_id, rank, lane, names=names, buckets=1, low=low, high=high)
            for name, stat in rollup.stats.items() if rollup else ():
                found[name] = found.get(name, 0.0) + float(np.sum(stat.sum))
        if hot is not None:
            known = with_computed(lane, hot)
            for name in known.keys() & set(names):
                measured = known[name][np.isfinite(known[name])]
                if len(measured):
                    found[name] = found.get(name, 0.0) + float(np.sum(measured))
    return found


def bucket_size(low: int, high: int, buckets: int) -> int:
    """The smallest power of two of which at most ``buckets``, aligned, cover the rows ``low … high``."""
    size = 1
    while (high - 1) // size - low // size + 1 > buckets:
        size *= 2
    return size


def starts_of(index: Column, size: int) -> NDArray[np.intp]:
    """Where a new bucket begins among rows (or smaller buckets) with these indices."""
    # An agent counts upwards; if one does not, there must not be more buckets.
    bucket = np.maximum.accumulate(index) // size
    return np.flatnonzero(np.diff(bucket, prepend=-1.0))


def _span(track: Track, low: int, high: int | None) -> _Span | None:
    end = track.shift_index + track.end_index
    first, last = max(low, track.shift_index), end if high is None else min(high, end)
    return _Span(track, first, last) if first < last else None


def _needs_histograms(spans: Sequence[_Span], ordinals: Sequence[range]) -> bool:
    has_deleted = any(chunks.start < span.track.dropped_chunks for span, chunks in zip(spans, ordinals, strict=True))
    return has_deleted or sum(map(len, ordinals)) > MOST_CHUNKS_SORTED


def _mean_rows(track: Track) -> float:
    return track.chunk_rows / track.chunks if track.chunks else np.inf


def _chunk_size(track: Track) -> int:
    """The power of two of rows that the mean chunk of the track fits into."""
    return 1 << int(np.ceil(np.log2(_mean_rows(track)))) if track.chunks else 1


def _is_fine(track: Track, size: int) -> bool:
    """Whether such buckets need the track's rows, and all of these are kept."""
    return not track.dropped_chunks and size < ROLLUP_ROWS and size < _mean_rows(track)


def _by_row(
    reader: Reader,
    spans: Sequence[_Span],
    ordinals: Sequence[range],
    question: _Question,
    asked: Sequence[str],
    percentiles: Sequence[float],
) -> Rollup | None:
    """All rows at once: one piece per chunk would cost as much again for each."""
    parts = [
        shifted(span.track, part)
        for span, chunks in zip(spans, ordinals, strict=True)
        for part in _rows(reader, span, chunks, question.names)
    ]
    if not parts:
        return None
    rows = joined_rows(parts)
    lane, index = spans[0].track.lane, rows["row"]
    at = starts_of(index, question.size)
    rollup = summarise(lane, rows, index, at, question.binned)
    return replace(rollup, percentiles={name: exact_percentiles(rows[name], at, percentiles) for name in asked})


def _rows(reader: Reader, span: _Span, chunks: range, names: Sequence[str]) -> Iterator[Columns]:
    """Kept rows of the span, chunk by chunk, not yet shifted."""
    columns = _columns_for(span.track, names)
    hot = reader.hot_rows(span.track)
    wanted = {*names, instant_of(span.track.lane), "row"}
    for part in [*reader.chunk_rows(span.track, chunks, columns), *([] if hot is None else [hot])]:
        known = with_computed(span.track.lane, part)
        found = cut({name: known[name] for name in known if name in wanted}, span.first, span.last)
        if len(found["row"]):
            yield found


def _pieces(reader: Reader, span: _Span, chunks: range, question: _Question) -> Iterator[Rollup]:
    """Roll-ups of a track's rows, each of at most about ``size`` rows, shifted to the run's count and clock."""
    hot, track = reader.hot_rows(span.track), span.track
    for piece in (
        *_chunk_pieces(reader, span, chunks, question),
        *_summaries(span, [] if hot is None else [hot], question),
    ):
        first_us = piece.first_us + track.shift_us
        yield replace(piece, first_index=piece.first_index + track.shift_index, first_us=first_us)


def _chunk_pieces(reader: Reader, span: _Span, chunks: range, question: _Question) -> Iterator[Rollup]:
    track = span.track
    if question.size < ROLLUP_ROWS and question.size < _mean_rows(track) and not question.binned:
        kept = max(chunks.start, min(chunks.stop, track.dropped_chunks))
        yield from _cut_rollups(reader, span, range(chunks.start, kept), question)
        yield from _summaries(
            span, reader.chunk_rows(track, range(kept, chunks.stop), _columns_for(track, question.names)), question
        )
        return
    # The chunks at the edges may hold rows outside the range: they are cut row by row.
    cut_first, cut_last = span.first > 0, span.last < track.end_index
    inner = range(chunks.start + cut_first, max(chunks.start + cut_first, chunks.stop - cut_last))
    yield from _edge(reader, span, chunks[:1] if cut_first else range(0), question)
    yield from _inner(reader, track, inner, question)
    is_apart = cut_last and chunks.stop - 1 >= inner.start
    yield from _edge(reader, span, chunks[-1:] if is_apart else range(0), question)


def _edge(reader: Reader, span: _Span, ordinals: range, question: _Question) -> Iterator[Rollup]:
    if ordinals and ordinals.start < span.track.dropped_chunks:
        yield from _cut_rollups(reader, span, ordinals, question)
        return
    rows = reader.chunk_rows(span.track, ordinals, _columns_for(span.track, question.names))
    yield from _summaries(span, rows, question)


def _cut_rollups(reader: Reader, span: _Span, ordinals: range, question: _Question) -> Iterator[Rollup]:
    """For chunks without rows: the buckets that begin in the span, and the one that it begins in.

    Where histograms are requested: whole chunks, since only these have one.
    """
    if not ordinals:
        return
    if question.binned:
        yield from _nodes(reader, span.track, 0, ordinals.start, ordinals.stop - 1, question)
        return
    rollups = reader.chunk_rollups(span.track, ordinals.start, ordinals.stop - 1, question.names)
    if rollups is None:
        return
    inside = np.flatnonzero((rollups.first_index + rollups.rows > span.first) & (rollups.first_index < span.last))
    if len(inside):
        yield _slice(rollups, int(inside[0]), int(inside[-1]) + 1)


def _slice(rollup: Rollup, first: int, stop: int) -> Rollup:
    part = slice(first, stop)
    return replace(
        rollup, rows=rollup.rows[part], first_index=rollup.first_index[part], first_us=rollup.first_us[part],
        figures=rollup.figures[:, :, part],
    )  # fmt: skip


def _inner(reader: Reader, track: Track, ordinals: range, question: _Question) -> Iterator[Rollup]:
    """Whole chunks: their own roll-ups, or the largest roll-ups of several that fit into a bucket."""
    # A bucket may be larger than its size by so much: chunks end with a window, a few rows beyond a power of two.
    chunks_a_bucket = SLACK * question.size / _mean_rows(track) if ordinals else 1.0
    highest = max(0, int(np.log2(max(1.0, chunks_a_bucket))))
    start = ordinals.start
    while start < ordinals.stop:
        level = min(highest, (ordinals.stop - start).bit_length() - 1, _trailing_zeros(start, highest))
        stop = start + (1 << level)
        # Read all consecutive nodes of this level at once.
        while level == highest and stop + (1 << level) <= ordinals.stop:
            stop += 1 << level
        yield from _nodes(reader, track, level, start >> level, (stop >> level) - 1, question)
        start = stop


def _nodes(reader: Reader, track: Track, level: int, first: int, last: int, question: _Question) -> Iterator[Rollup]:
    """With histograms one bucket per node; without, on level 0, the buckets of each chunk."""
    if level > 0:
        found = reader.nodes(track, level, first, last, question.names)
    else:
        found = reader.chunk_rollups(track, first, last, question.names)
        if found is not None and question.binned:
            found = _whole_chunks(reader, track, first, last, found)
    if found is None:
        return
    yield replace(found, bins={name: reader.histogram(track, level, first, last, name) for name in question.binned})


def _whole_chunks(reader: Reader, track: Track, first: int, last: int, rollups: Rollup) -> Rollup:
    begins = [place.first_index for place in reader.chunk_places(track, first)][: last - first + 1]
    return merge(rollups, np.searchsorted(rollups.first_index, np.array(begins)))


def _trailing_zeros(number: int, most: int) -> int:
    return most if number == 0 else (number & -number).bit_length() - 1


def _summaries(span: _Span, parts: Sequence[Columns], question: _Question) -> Iterator[Rollup]:
    track = span.track
    for part in parts:
        columns = cut(with_computed(track.lane, part), span.first, span.last)
        if len(columns["row"]):
            # Buckets are aligned to the count through all incarnations.
            index = columns["row"] + track.shift_index
            wanted = {name: columns[name] for name in (*question.names, instant_of(track.lane)) if name in columns}
            yield summarise(track.lane, wanted, columns["row"], starts_of(index, question.size), question.binned)


def _columns_for(track: Track, names: Sequence[str]) -> list[str]:
    """The columns that the measures ``names`` are computed from."""
    kind = kind_of(track.lane)
    computed, is_estimated = COMPUTED.get(kind, {}), kind == "batches" and not set(SAMPLED).isdisjoint(names)
    wanted = {instant_of(track.lane), *(ESTIMATED_WITH if is_estimated else ())}.union(
        *(computed[name].made_of if name in computed else (name,) for name in names)
    )
    return sorted(wanted)
