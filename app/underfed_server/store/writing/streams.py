"""What the writer keeps in memory of a run: how far each of its streams has come.

Read from the tables when a stream is first written to, and dropped when a transaction fails: the tables are
authoritative. Where several service processes share a database, it is read again in each transaction, under the locks
of the runs, so that no other process changes it meanwhile.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, bindparam, func, select, tuple_

from underfed_server.ingest.posted import RunVerdict
from underfed_server.store.columns.lanes import kind_of
from underfed_server.store.databases import tables
from underfed_server.store.databases.locks import lock_runs

_OF_VERDICT = tuple(each.name for each in fields(RunVerdict))

RUNS_KEPT = 2_000
"""Runs whose state stays in memory: some kilobytes each."""


class StreamKey(NamedTuple):
    run_id: str
    rank: int
    incarnation: int


@dataclass(slots=True)
class TrackState:
    """Of a lane of steps."""

    rows: int = 0
    next_index: int = 0
    step_us_total: int = 0
    data_wait_us_total: int = 0


@dataclass(slots=True)
class StreamState:
    key: StreamKey
    started_at: datetime
    last_window_index: int = -1
    end_us: int = 0
    has_run: bool = False
    end_status: str | None = None
    exit_reason: str | None = None
    exit_code: int | None = None
    dropped_steps: int = 0
    dropped_batches: int = 0
    dropped_windows: int = 0
    rejected_windows: int = 0
    agent_errors: int = 0
    overhead_us_total: float = 0.0
    overhead_steps: int = 0
    hot_rows: int = 0
    hot_windows: int = 0
    tracks: dict[str, TrackState] = field(default_factory=dict)
    """Of its lanes of steps, whose totals are shown as they grow."""
    lanes: set[str] = field(default_factory=set)
    """The others: what they have in chunks is counted there, the rest by who reads it."""


@dataclass(slots=True)
class RunState:
    run_id: str
    exists: bool = False
    project: str = ""
    streams: dict[tuple[int, int], StreamState] = field(default_factory=dict)
    """Streams that were written to lately."""
    loaders: set[str] = field(default_factory=set)
    described_by: int | None = None
    """The lowest rank that described the run, whose description counts."""
    newest: dict[int, int] = field(default_factory=dict)
    """By rank, the newest incarnation that has sent anything."""
    verdict: RunVerdict | None = None
    judged_at: datetime | None = None
    """When what the verdict is on, or an earlier one, began to be read; later, where what came since is known to say
    the same."""

    def begin(self, key: StreamKey, started_at: datetime) -> StreamState:
        """A stream of which nothing was written yet."""
        stream = self.streams[key.rank, key.incarnation] = StreamState(key, started_at)
        self.newest[key.rank] = max(key.incarnation, self.newest.get(key.rank, key.incarnation))
        return stream

    def is_newest(self, key: StreamKey) -> bool:
        """Whether no later incarnation of the rank has sent anything."""
        return key.incarnation >= self.newest[key.rank]

    def verdict_age_us(self, now: datetime) -> int | None:
        """At most. ``None``: there is no verdict."""
        if self.verdict is None or self.judged_at is None:
            return None
        return max(0, (now - self.judged_at) // tables.MICROSECOND)


class RunStates:
    """The runs written to lately. Used by the writer's thread alone."""

    def __init__(self, *, is_shared: bool) -> None:
        """``is_shared``: other processes write to the same tables."""
        self._is_shared = is_shared
        self._runs: OrderedDict[str, RunState] = OrderedDict()

    def load(self, connection: Connection, keys: Sequence[StreamKey]) -> None:
        """Load these streams; where the database is shared, their runs are locked until the transaction ends."""
        if self._is_shared:
            self._runs.clear()
        lock_runs(connection, (key.run_id for key in keys))
        unknown = sorted({key.run_id for key in keys} - self._runs.keys())
        self._runs.update(_read_runs(connection, unknown))
        for stream in _read_streams(connection, [key for key in sorted(set(keys)) if self._lacks(key)]):
            self._runs[stream.key.run_id].streams[stream.key.rank, stream.key.incarnation] = stream
        for key in keys:
            self._runs.move_to_end(key.run_id)
        while len(self._runs) > RUNS_KEPT:
            self._runs.popitem(last=False)

    def __getitem__(self, run_id: str) -> RunState:
        """The state of a loaded stream."""
        return self._runs[run_id]

    def note_compacted(self, key: StreamKey, rows: int, windows: int) -> None:
        """Note that so many of the stream's are in chunks now."""
        run = self._runs.get(key.run_id)
        stream = None if run is None else run.streams.get((key.rank, key.incarnation))
        if stream is not None:
            stream.hot_rows -= rows
            stream.hot_windows -= windows

    def note_verdict(self, run_id: str, verdict: RunVerdict | None) -> None:
        """Note what was judged of the run, so that no answer to a window has to look for it."""
        run = self._runs.get(run_id)
        if run is not None:
            run.verdict = verdict

    def note_judged(self, run_id: str, as_of: datetime) -> None:
        """Note since when the verdict that was noted last is of, likewise."""
        run = self._runs.get(run_id)
        if run is not None:
            run.judged_at = as_of

    def forget(self, run_id: str | None = None) -> None:
        """Drop one run, which was deleted; or all, after a failed transaction."""
        if run_id is None:
            self._runs.clear()
        else:
            self._runs.pop(run_id, None)

    def _lacks(self, key: StreamKey) -> bool:
        run = self._runs[key.run_id]
        # Nothing is written yet of an incarnation that is newer than all of its rank: of most that are not known.
        return key.incarnation <= run.newest.get(key.rank, -1) and (key.rank, key.incarnation) not in run.streams


_stream = tables.stream.c
_ENDS = (
    select(
        _stream.run_id, _stream.rank, _stream.started_at, _stream.end_us, _stream.end_status, _stream.exit_reason
    )
    .where(_stream.run_id.in_(bindparam("run_ids", expanding=True)))
    .order_by(_stream.run_id, _stream.incarnation)
)  # fmt: skip


def read_endings(connection: Connection, run_ids: Collection[str]) -> list[dict[str, Any]]:
    """Of each of these runs its key, and the columns of ``run`` that follow from how its streams ended."""
    rows = connection.execute(_ENDS, {"run_ids": sorted(run_ids)})
    return [{"run_id": run_id, **_ending(list(own))} for run_id, own in groupby(rows, key=itemgetter(0))]


def _ending(rows: Sequence[Any]) -> dict[str, Any]:
    """``rows``: of its streams, an earlier incarnation before a later one."""
    # One per rank: an earlier incarnation's end no longer counts.
    newest = {row.rank: row for row in rows}.values()
    crashed = [row for row in newest if row.end_status == "crashed"]
    still_open = [row for row in newest if row.end_status is None]
    reasons = [row.exit_reason for row in (*crashed, *newest) if row.exit_reason]
    ends = (row.started_at + timedelta(microseconds=row.end_us) for row in newest)
    return {
        "started_at": min(row.started_at for row in rows),
        "open_ranks": len(still_open),
        "crashed_ranks": len(crashed),
        "ended_at": None if still_open else max(ends),
        "exit_reason": reasons[0] if reasons else None,
    }


def _read_runs(connection: Connection, run_ids: Sequence[str]) -> dict[str, RunState]:
    if not run_ids:
        return {}
    states = {run_id: RunState(run_id) for run_id in run_ids}
    run, loader, rank, stream = tables.run.c, tables.loader.c, tables.rank.c, tables.stream.c
    columns = (run.run_id, run.project, run.judged_at, *(run[name] for name in _OF_VERDICT))
    for run_id, project, judged_at, *judged in connection.execute(select(*columns).where(run.run_id.in_(run_ids))):
        state, verdict = states[run_id], RunVerdict(*judged)
        state.exists, state.project, state.judged_at = True, project, judged_at
        state.verdict = None if verdict.bound == "unknown" else verdict
    for run_id, name in connection.execute(select(loader.run_id, loader.loader).where(loader.run_id.in_(run_ids))):
        states[run_id].loaders.add(name)
    lowest = select(rank.run_id, func.min(rank.rank)).where(rank.run_id.in_(run_ids)).group_by(rank.run_id)
    for run_id, described_by in connection.execute(lowest):
        states[run_id].described_by = described_by
    newest = select(stream.run_id, stream.rank, func.max(stream.incarnation)).where(stream.run_id.in_(run_ids))
    for run_id, number, incarnation in connection.execute(newest.group_by(stream.run_id, stream.rank)):
        states[run_id].newest[number] = incarnation
    return states


def _read_streams(connection: Connection, keys: Sequence[StreamKey]) -> Iterable[StreamState]:
    """Those of ``keys`` that exist."""
    if not keys:
        return []
    rows = connection.execute(select(tables.stream).where(_is_one_of(tables.stream, keys)))
    streams = {}
    for values in rows.mappings():
        fields = dict(values)
        key = StreamKey(fields.pop("run_id"), fields.pop("rank"), fields.pop("incarnation"))
        streams[key] = StreamState(key, **fields)
    track = tables.track.c
    totals = track.rows, track.next_index, track.step_us_total, track.data_wait_us_total
    statement = select(track.run_id, track.rank, track.incarnation, track.lane, *totals)
    for *place, lane, rows, next_index, step_us, wait_us in connection.execute(
        statement.where(_is_one_of(tables.track, keys))
    ):
        stream = streams[StreamKey(*place)]
        if kind_of(lane) == "steps":
            stream.tracks[lane] = TrackState(rows, next_index, step_us, wait_us)
        else:
            stream.lanes.add(lane)
    return streams.values()


def _is_one_of(table: Table, keys: Sequence[StreamKey]) -> ColumnElement[bool]:
    return tuple_(table.c.run_id, table.c.rank, table.c.incarnation).in_(keys)
