"""What the writer knows of a run while it writes: where each of its streams stands.

Read from the tables when a run is first written to, and forgotten when a transaction fails: the tables are the truth.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Connection, select

from underfed_server.store import tables

RUNS_KEPT = 2_000
"""Runs whose state stays in memory: some kilobytes each."""


class StreamKey(NamedTuple):
    run_id: str
    rank: int
    incarnation: int


@dataclass(slots=True)
class TrackState:
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


@dataclass(slots=True)
class RunState:
    run_id: str
    exists: bool = False
    streams: dict[tuple[int, int], StreamState] = field(default_factory=dict)
    loaders: set[str] = field(default_factory=set)
    told_by: int | None = None
    """The lowest rank that described the run: its words win."""

    def is_newest(self, rank: int, incarnation: int) -> bool:
        """No later incarnation of the rank has sent anything."""
        return all(incarnation >= other for each, other in self.streams if each == rank)

    def newest_streams(self) -> Iterator[StreamState]:
        """One a rank: what an earlier incarnation said of its end no longer counts."""
        newest: dict[int, StreamState] = {}
        for (rank, incarnation), stream in self.streams.items():
            if rank not in newest or newest[rank].key.incarnation < incarnation:
                newest[rank] = stream
        yield from newest.values()

    def ending(self) -> dict[str, object]:
        """The columns of ``run`` that follow from how its streams ended."""
        newest = list(self.newest_streams())
        crashed = [stream for stream in newest if stream.end_status == "crashed"]
        still_open = [stream for stream in newest if stream.end_status is None]
        reasons = [stream.exit_reason for stream in (*crashed, *newest) if stream.exit_reason]
        return {
            "started_at": min(stream.started_at for stream in self.streams.values()),
            "open_ranks": len(still_open),
            "crashed_ranks": len(crashed),
            "ended_at": None
            if still_open
            else max(stream.started_at + timedelta(microseconds=stream.end_us) for stream in newest),
            "exit_reason": reasons[0] if reasons else None,
        }


class RunStates:
    """The runs written to lately. Used by the writer's thread alone."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, RunState] = OrderedDict()

    def get(self, connection: Connection, run_id: str) -> RunState:
        state = self._runs.get(run_id)
        if state is None:
            state = self._runs[run_id] = _read(connection, run_id)
        self._runs.move_to_end(run_id)
        while len(self._runs) > RUNS_KEPT:
            self._runs.popitem(last=False)
        return state

    def note_compacted(self, key: StreamKey) -> None:
        run = self._runs.get(key.run_id)
        stream = None if run is None else run.streams.get((key.rank, key.incarnation))
        if stream is not None:
            stream.hot_rows = stream.hot_windows = 0

    def forget(self, run_id: str | None = None) -> None:
        """One run, or all: what is in memory may no longer be what is in the tables."""
        if run_id is None:
            self._runs.clear()
        else:
            self._runs.pop(run_id, None)


def _read(connection: Connection, run_id: str) -> RunState:
    row = connection.execute(select(tables.run.c.run_id).where(tables.run.c.run_id == run_id)).first()
    state = RunState(run_id, exists=row is not None)
    for values in connection.execute(select(tables.stream).where(tables.stream.c.run_id == run_id)).mappings():
        fields = dict(values)
        key = StreamKey(fields.pop("run_id"), fields.pop("rank"), fields.pop("incarnation"))
        state.streams[key.rank, key.incarnation] = StreamState(key, **fields)
    for values in connection.execute(select(tables.track).where(tables.track.c.run_id == run_id)).mappings():
        track = TrackState(*(values[name] for name in ("rows", "next_index", "step_us_total", "data_wait_us_total")))
        state.streams[values["rank"], values["incarnation"]].tracks[values["lane"]] = track
    loaders = select(tables.loader.c.loader).where(tables.loader.c.run_id == run_id)
    state.loaders = set(connection.execute(loaders).scalars())
    ranks = select(tables.rank.c.rank).where(tables.rank.c.run_id == run_id)
    state.told_by = min(connection.execute(ranks).scalars(), default=None)
    return state
