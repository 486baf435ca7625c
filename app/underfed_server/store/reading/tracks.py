"""Where the rows of a lane lie: one track for each incarnation of the rank, one after the other.

Incarnations count their steps from 0 and have a run clock each; a track knows how far to shift both, so that readers
see one sequence on the clock that reads 0 when the run started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Connection, RowMapping, Select, Table, and_, bindparam, select

from underfed_server.measurements import Column, Columns, names_of
from underfed_server.store.columns.chunks import decode
from underfed_server.store.columns.histograms import BINS, Bins, add_to
from underfed_server.store.columns.ladder import Rollup
from underfed_server.store.columns.lanes import columns_of, index_of, kind_of, length, stored_names, unpacked
from underfed_server.store.columns.records import chunk_rollups_from_bytes, nodes_from_bytes
from underfed_server.store.databases import tables
from underfed_server.store.writing.kept_rows import KeptRows
from underfed_server.store.writing.streams import StreamKey
from underfed_server.store.writing.tail import EMPTY, Tail, Tails, belongs_to


def at_place(table: Table) -> ColumnElement[bool]:
    """Rows of the track that :func:`place_of` names."""
    names = ("run_id", "rank", "incarnation", "lane")
    return and_(*(table.c[name] == bindparam(name) for name in names))


def with_starts(table: Table) -> Select[Any]:
    """Rows of a table of streams, with when their stream and their run started."""
    stream, run = tables.stream.c, tables.run.c
    same = and_(*(table.c[name] == stream[name] for name in StreamKey._fields))
    statement = select(table, stream.started_at, run.started_at.label("run_started_at"))
    return statement.join(tables.stream, same).join(tables.run, run.run_id == table.c.run_id)


def on_run_clock(row: RowMapping) -> dict[str, int | None]:
    """Start and end of what a row of :func:`with_starts` records."""
    shift = (row["started_at"] - row["run_started_at"]) // tables.MICROSECOND
    return {name: None if row[name] is None else row[name] + shift for name in ("start_us", "end_us")}


# Built once: building a statement costs more than running it.
_track, _chunk, _stream, _run = tables.track.c, tables.chunk.c, tables.stream.c, tables.run.c
_TRACKS_OF_RUN = (
    with_starts(tables.track)
    .with_only_columns(
        *(_track.run_id, _track.rank, _track.incarnation, _track.lane),
        *(_track.rows, _track.chunks, _track.dropped_chunks, _track.chunk_rows, _track.precision_bits),
        *(_track.next_index, _stream.started_at, _run.started_at.label("run_started_at"), _stream.hot_windows),
    )
    .where(_track.run_id == bindparam("run_id"), _track.rows > 0)
    .order_by(_track.rank, _track.lane, _track.incarnation)
)
_TRACKS = _TRACKS_OF_RUN.where(_track.rank == bindparam("rank"), _track.lane == bindparam("lane"))
_LANES = (
    select(_track.lane)
    .where(_track.run_id == bindparam("run_id"), _track.rank == bindparam("rank"), _track.rows > 0)
    .distinct()
)
_RANKS = select(_stream.rank).where(_stream.run_id == bindparam("run_id")).distinct().order_by(_stream.rank)
_STREAM_ENDS = select(_stream.started_at, _stream.end_us).where(_stream.run_id == bindparam("run_id"))
_ORDINAL_AT = (
    select(_chunk.ordinal)
    .where(at_place(tables.chunk), _chunk.first_index <= bindparam("index"))
    .order_by(_chunk.first_index.desc())
    .limit(1)
)
_inside = _chunk.ordinal.between(bindparam("first"), bindparam("last"))
_BODIES = select(_chunk.first_index, _chunk.body).where(at_place(tables.chunk), _inside).order_by(_chunk.ordinal)
_rollup, _histogram = tables.rollup.c, tables.histogram.c
_NODES = (
    select(_rollup.body)
    .where(at_place(tables.rollup), _rollup.level == bindparam("level"))
    .where(_rollup.ordinal.between(bindparam("first"), bindparam("last")))
    .order_by(_rollup.ordinal)
)
_HISTOGRAMS = (
    select(_histogram.ordinal, _histogram.body)
    .where(at_place(tables.histogram), _histogram.measure == bindparam("measure"))
    .where(_histogram.level == bindparam("level"))
    .where(_histogram.ordinal.between(bindparam("first"), bindparam("last")))
)
_ROLLUPS = select(_chunk.rollups).where(at_place(tables.chunk), _inside).order_by(_chunk.ordinal)


class Track(NamedTuple):
    """A judgement reads a hundred: a dataclass takes four times as long to be made."""

    key: StreamKey
    lane: str
    rows: int
    chunks: int
    dropped_chunks: int
    """So many of the first chunks have only their roll-ups left."""
    chunk_rows: int
    precision_bits: int | None
    """Significant bits of the durations in the chunk that was rounded most; ``None``: all are exact."""
    end_index: int
    """One past its last, not yet shifted."""
    shift_index: int
    shift_us: int
    started_at: datetime
    """Of its incarnation."""


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    ordinal: int
    rows: int
    first_index: int


@dataclass(frozen=True, slots=True)
class RowsLeft:
    """What is left of the single rows of a lane."""

    given_up_before: int | None = None
    """Index before which retention deleted rows; ``None``: it deleted none."""
    precision_bits: int | None = None
    """Least number of significant bits of single durations; ``None``: all are exact."""


Chunks = KeptRows[tuple[StreamKey, datetime, str, int], Columns]
"""Rows of chunks by stream, its start, lane and ordinal."""

MOST_CHUNK_BYTES = 256 * 2**20
"""Of decoded chunks in memory: the newest of a rank with eight workers take up to 2 MB, after an hour."""


Rollups = KeptRows[tuple[StreamKey, datetime, str, int, int, int, tuple[str, ...]], Rollup]
"""Of a stream, by its start, lane, level (0: of chunks), first and last ordinal, and measures."""

MOST_ROLLUP_BYTES = 16 * 2**20
"""Of decoded roll-ups in memory: what a rank spent over the whole run is summed at each judgement, of 2 kB an hour."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads one snapshot of the database: its connection is in a transaction."""

    connection: Connection
    tails: Tails
    chunks: Chunks
    rollups: Rollups
    stays: bool = False
    """It may be read from until the snapshot ends, beyond the read that it was opened for."""
    _tracks: dict[tuple[str, int, str], list[Track]] = field(default_factory=dict)
    _hot: dict[StreamKey, Tail] = field(default_factory=dict)
    _whole: set[str] = field(default_factory=set)

    def read_whole(self, run_id: str) -> None:
        """Look up all tracks and tails of the run at once, for who reads most of them: a question costs as much as
        what a thousand rows take to be read."""
        self._hot.update(self.tails.read_run(self.connection, run_id))
        self._whole.add(run_id)
        rows = self.connection.execute(_TRACKS_OF_RUN, {"run_id": run_id})
        for (rank, lane), own in groupby(rows, key=lambda row: (row.rank, row.lane)):
            self._tracks[run_id, rank, lane] = list(self._tracks_of(own))

    def tracks(self, run_id: str, rank: int, lane: str) -> list[Track]:
        """Oldest incarnation first; empty when nothing was recorded."""
        place = (run_id, rank, lane)
        if place not in self._tracks and run_id not in self._whole:
            rows = self.connection.execute(_TRACKS, {"run_id": run_id, "rank": rank, "lane": lane}).all()
            self._tracks[place] = list(self._tracks_of(rows))
        return self._tracks.get(place, [])

    def tail(self, key: StreamKey) -> Tail:
        """The rows of the stream that no chunk holds yet."""
        if key not in self._hot and key.run_id not in self._whole:
            self._hot[key] = self.tails.read(self.connection, key)
        return self._hot.get(key, EMPTY)

    def kept(self, run_id: str, rank: int, lane: str) -> RowsLeft:
        tracks = self.tracks(run_id, rank, lane)
        ends = [track.shift_index + end for track in tracks if (end := self.exact_from(track)) is not None]
        bits = [track.precision_bits for track in tracks if track.precision_bits is not None]
        return RowsLeft(max(ends, default=None), min(bits, default=None))

    def lanes(self, run_id: str, rank: int) -> set[str]:
        if run_id in self._whole:
            return {lane for of, each, lane in self._tracks if (of, each) == (run_id, rank)}
        return set(self.connection.execute(_LANES, {"run_id": run_id, "rank": rank}).scalars())

    def known_lanes(self, run_id: str) -> list[tuple[int, str]] | None:
        """Rank and lane of all tracks of the run; ``None``: they were not looked up at once."""
        return [(rank, lane) for of, rank, lane in self._tracks if of == run_id] if run_id in self._whole else None

    def ranks(self, run_id: str) -> list[int]:
        """Ranks that sent anything, in order."""
        return list(self.connection.execute(_RANKS, {"run_id": run_id}).scalars())

    def end_us(self, run_id: str, run_started_at: datetime) -> int:
        """When recording of the run ended, on its clock."""
        rows = self.connection.execute(_STREAM_ENDS, {"run_id": run_id})
        return max(((row.started_at - run_started_at) // tables.MICROSECOND + row.end_us for row in rows), default=0)

    def chunk_places(self, track: Track, since: int = 0) -> list[ChunkPlace]:
        """The chunks from ordinal ``since`` on, in order."""
        chunk = tables.chunk.c
        statement = select(chunk.ordinal, chunk.rows, chunk.first_index).where(self.is_chunk_of(track))
        rows = self.connection.execute(statement.where(chunk.ordinal >= since).order_by(chunk.ordinal))
        return [ChunkPlace(*row) for row in rows]

    def ordinal_at(self, track: Track, index: int) -> int:
        """Of the chunk that holds row ``index``, or of the last one that begins before it."""
        return self.connection.execute(_ORDINAL_AT, place_of(track) | {"index": index}).scalar() or 0

    def chunk_rows(self, track: Track, ordinals: Sequence[int], names: Sequence[str]) -> list[Columns]:
        """The columns ``names`` of these consecutive chunks, each with ``row`` (its index), not yet shifted.

        A column unknown to the agent or service at that time counts as not measured. Chunks whose rows retention
        deleted are left out.
        """
        ordinals = [ordinal for ordinal in ordinals if ordinal >= track.dropped_chunks]
        if not ordinals:
            return []
        wanted = [*names, "step_index"] if track.lane.startswith("steps:") else list(names)
        found = []
        place = place_of(track) | {"first": ordinals[0], "last": ordinals[-1]}
        for first_index, body in self.connection.execute(_BODIES, place):
            columns = unpacked(decode(body, stored_names(track.lane, wanted)))
            columns |= {name: np.full(length(columns), np.nan) for name in wanted if name not in columns}
            found.append(columns | {"row": index_of(columns, first_index)})
        return found

    def chunk(self, track: Track, ordinal: int) -> Columns:
        """As :meth:`chunk_rows`, with all columns, of one chunk whose rows are kept. The newest are asked for again and
        again while a run is judged, and never change.
        """
        # A run that was removed may come again under its name.
        place = (track.key, track.started_at, track.lane, ordinal)
        columns = self.chunks.get(place)
        if columns is None:
            columns = self.chunk_rows(track, [ordinal], columns_of(track.lane))[0]
            self.chunks.put(place, columns, sum(column.nbytes for column in columns.values()))
        return columns

    def hot_rows(self, track: Track) -> Columns | None:
        """As :meth:`chunk_rows`, of rows that no chunk holds yet."""
        columns = self.tail(track.key).lane(track.lane)
        return None if columns is None else columns | {"row": index_of(columns, track.chunk_rows)}

    def chunk_rollups(self, track: Track, first: int, last: int, names: Sequence[str]) -> Rollup | None:
        """Of the chunks ``first … last``, with the measures ``names``; ``None``: there is no such chunk."""

        def read() -> Rollup | None:
            place = place_of(track) | {"first": first, "last": last}
            bodies = self.connection.execute(_ROLLUPS, place).scalars().all()
            return chunk_rollups_from_bytes(track.lane, bodies, names) if bodies else None

        return self._rollup(track, 0, first, last, names, read)

    def nodes(self, track: Track, level: int, first: int, last: int, names: Sequence[str]) -> Rollup | None:
        """``first … last`` of a ``level`` of roll-ups of several chunks, a bucket each, likewise."""

        def read() -> Rollup | None:
            place = place_of(track) | {"level": level, "first": first, "last": last}
            bodies = self.connection.execute(_NODES, place).scalars().all()
            return nodes_from_bytes(track.lane, bodies, names) if bodies else None

        return self._rollup(track, level, first, last, names, read)

    def histogram(self, track: Track, level: int, first: int, last: int, measure: str) -> Bins:
        """``first … last`` of ``level``, a row each; of zeros where nothing was counted."""
        place = place_of(track) | {"measure": measure, "level": level, "first": first, "last": last}
        bins = np.zeros((last - first + 1, BINS), np.uint32)
        for ordinal, body in self.connection.execute(_HISTOGRAMS, place):
            add_to(bins[ordinal - first], body)
        return bins

    def exact_from(self, track: Track) -> int | None:
        """Index, not yet shifted, of the first row that retention kept; ``None``: it deleted none."""
        if not track.dropped_chunks:
            return None
        chunk = tables.chunk.c
        statement = select(chunk.first_index).where(self.is_chunk_of(track), chunk.ordinal == track.dropped_chunks)
        kept = self.connection.execute(statement).scalar()
        return self.after_chunks(track) if kept is None else int(kept)

    def after_chunks(self, track: Track) -> int:
        """Index, not yet shifted, of the first row that no chunk holds."""
        if not track.lane.startswith("steps:"):
            return track.chunk_rows
        hot = self.hot_rows(track)
        return track.end_index if hot is None else int(hot["row"][0])

    @staticmethod
    def is_chunk_of(track: Track) -> ColumnElement[bool]:
        return and_(belongs_to(tables.chunk, track.key), tables.chunk.c.lane == track.lane)

    def _rollup(
        self, track: Track, level: int, first: int, last: int, names: Sequence[str], read: Callable[[], Rollup | None]
    ) -> Rollup | None:
        """Those of the same chunks never change."""
        # A run that was removed may come again under its name.
        place = (track.key, track.started_at, track.lane, level, first, last, tuple(names))
        known = self.rollups.get(place)
        if known is None and (known := read()) is not None:
            self.rollups.put(place, known, known.figures.nbytes + known.rows.nbytes * 3)
        return known

    def _tracks_of(self, rows: Iterable[Sequence[Any]]) -> Iterator[Track]:
        """Of one rank and lane, by incarnation."""
        shift = 0
        # A run of eight ranks has a hundred tracks: to ask each for its values by name takes longer than to read them.
        for run_id, rank, incarnation, lane, *counted, next_index, started_at, run_started_at, hot_windows in rows:
            key = StreamKey(run_id, rank, incarnation)
            kept, chunks, dropped_chunks, chunk_rows, bits = counted
            end = next_index if lane.startswith("steps:") else chunk_rows + self._hot_length(key, lane, hot_windows)
            shift_us = (started_at - run_started_at) // tables.MICROSECOND
            yield Track(key, lane, kept, chunks, dropped_chunks, chunk_rows, bits, end, shift, shift_us, started_at)
            shift += end

    def _hot_length(self, key: StreamKey, lane: str, hot_windows: int) -> int:
        """Rows of the lane that no chunk holds yet."""
        return self.tail(key).length(lane) if hot_windows else 0


def place_of(track: Track) -> dict[str, object]:
    """Parameters of statements with :func:`at_place`."""
    return {**track.key._asdict(), "lane": track.lane}


def shifted(track: Track, columns: Columns) -> Columns:
    """The rows on the run's clock, with steps counted through all incarnations."""
    by = {"row": track.shift_index, "step_index": track.shift_index}
    by |= dict.fromkeys(names_of(kind_of(track.lane), "instant"), track.shift_us)
    return {name: column + by[name] if by.get(name) else column for name, column in columns.items()}


def cut(columns: Columns, low: float, high: float) -> Columns:
    """The rows whose index lies in ``low … high``, ``high`` left out."""
    row: Column = columns["row"]
    inside = (row >= low) & (row < high)
    return columns if inside.all() else {name: column[inside] for name, column in columns.items()}
