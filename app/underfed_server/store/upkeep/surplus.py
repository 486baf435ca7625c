"""Which single rows a project has too many of: those beyond their age, and the oldest ones beyond its size."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import BigInteger, and_, func, select, type_coerce

from underfed_server.store.databases import tables
from underfed_server.store.reading.tracks import Reader, Track
from underfed_server.store.team.retention_policy import RetentionPolicy, read_storage_use
from underfed_server.store.writing.streams import StreamKey
from underfed_server.store.writing.tail import belongs_to

_track = partial(Track, precision_bits=None, end_index=0, shift_index=0, shift_us=0, started_at=tables.UNIX_EPOCH)

TRACKS_A_LOOK = 64
"""Tracks read at once, those with the oldest rows. Rows newer than the oldest row of any other track wait."""

ALIKE_US = 3_600_000_000
"""Rows at most this much newer than the oldest do not wait: ranks of one run record at the same time."""

CHUNKS_A_LOOK = 1_000

NEWEST_ROWS = 20_000
"""Rows of a running run's lane that are always kept: ten times what a verdict uses, and what the workers' page
shows."""

SILENT = timedelta(hours=1)
"""A run that has sent nothing for this long is not judged again."""


@dataclass(frozen=True, slots=True)
class Surplus:
    """Consecutive chunks of one lane whose rows are to be deleted."""

    key: StreamKey
    lane: str
    first: int
    """Ordinal of the first chunk; all before it have no rows."""
    sizes: tuple[int, ...]
    """Bytes of each."""

    @property
    def stop(self) -> int:
        return self.first + len(self.sizes)


@dataclass(frozen=True, slots=True)
class _Oldest:
    """A track that has rows in chunks."""

    began_us: int
    """Unix time of the oldest."""
    started_us: int
    """Unix time at which its clock read 0."""
    end_us: int
    open_ranks: int
    last_seen_at: datetime
    track: Track
    """The track, without its end and shifts, which are not read."""


@dataclass(frozen=True, slots=True)
class _Chunk:
    began_us: int
    """Unix time, as the next."""
    ended_us: int
    place: int
    """Index of its track among those looked at."""
    ordinal: int
    size: int


def find_surplus(reader: Reader, project: str, policy: RetentionPolicy, now: datetime) -> list[Surplus]:
    """The oldest first, and not all at once: call it again when these are deleted."""
    before_us = tables.unix_us(now) - policy.retain_us if policy.retain_us else 0
    excess = read_storage_use(reader.connection, project).total_bytes - policy.max_bytes if policy.max_bytes else 0
    tracks = _oldest_tracks(reader, project)
    is_all = len(tracks) <= TRACKS_A_LOOK
    horizon_us = None if is_all else max(tracks[TRACKS_A_LOOK].began_us, tracks[0].began_us + ALIKE_US)
    found: dict[int, Surplus] = {}
    looked_at = [_chunks(reader, row, place, now) for place, row in enumerate(tracks[:TRACKS_A_LOOK])]
    for chunk in heapq.merge(*looked_at, key=lambda each: each.began_us):
        is_beyond = horizon_us is not None and chunk.began_us > horizon_us
        if is_beyond or (excess <= 0 and chunk.began_us >= before_us):
            break
        if excess > 0 or chunk.ended_us < before_us:
            excess -= chunk.size
            track = tracks[chunk.place].track
            known = found.get(chunk.place) or Surplus(track.key, track.lane, track.dropped_chunks, ())
            found[chunk.place] = replace(known, sizes=(*known.sizes, chunk.size))
    return list(found.values())


def _oldest_tracks(reader: Reader, project: str) -> list[_Oldest]:
    """Tracks that have rows in chunks, ordered by the oldest row."""
    run, stream, track, chunk = tables.run.c, tables.stream.c, tables.track.c, tables.chunk.c
    began_us = (type_coerce(stream.started_at, BigInteger) + chunk.first_us).label("began_us")
    of_run = run.run_id == track.run_id
    of_stream = and_(stream.run_id == track.run_id, stream.rank == track.rank, stream.incarnation == track.incarnation)
    is_oldest = and_(
        chunk.run_id == track.run_id,
        chunk.rank == track.rank,
        chunk.incarnation == track.incarnation,
        chunk.lane == track.lane,
        chunk.ordinal == track.dropped_chunks,
    )
    columns = (
        began_us, type_coerce(stream.started_at, BigInteger).label("started_us"), stream.end_us, run.open_ranks,
        run.last_seen_at, track.run_id, track.rank, track.incarnation, track.lane, track.rows, track.chunks,
        track.dropped_chunks, track.chunk_rows,
    )  # fmt: skip
    statement = select(*columns).select_from(tables.track).join(tables.run, of_run).join(tables.stream, of_stream)
    statement = statement.join(tables.chunk, is_oldest).where(run.project == project)
    rows = reader.connection.execute(statement.order_by(began_us).limit(TRACKS_A_LOOK + 1))
    return [_Oldest(row[0], row[1], row[2], row[3], row[4], _track(StreamKey(*row[5:8]), *row[8:])) for row in rows]


def _chunks(reader: Reader, row: _Oldest, place: int, now: datetime) -> Iterator[_Chunk]:
    """Chunks of a track whose rows may be deleted at all, in order."""
    chunk = tables.chunk.c
    statement = select(chunk.ordinal, chunk.first_us, func.length(chunk.body)).where(
        belongs_to(tables.chunk, row.track.key),
        chunk.lane == row.track.lane,
        chunk.ordinal.between(row.track.dropped_chunks, _stop(reader, row, now)),
    )
    known = reader.connection.execute(statement.order_by(chunk.ordinal).limit(CHUNKS_A_LOOK)).all()
    ends = [first_us for _, first_us, _ in known[1:]] + [row.end_us]
    stop = _stop(reader, row, now)
    for (ordinal, first_us, size), end_us in zip(known, ends, strict=True):
        if ordinal < stop:
            yield _Chunk(row.started_us + first_us, row.started_us + end_us, place, ordinal, size)


def _stop(reader: Reader, row: _Oldest, now: datetime) -> int:
    """The ordinal from which on the rows are kept."""
    if not row.open_ranks or row.last_seen_at < now - SILENT:
        return row.track.chunks
    missing = NEWEST_ROWS - (row.track.rows - row.track.chunk_rows)
    return _first_needed(reader, row.track, missing) if missing > 0 else row.track.chunks


def _first_needed(reader: Reader, track: Track, rows: int) -> int:
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
