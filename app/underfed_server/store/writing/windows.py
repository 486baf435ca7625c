"""Stores windows exactly once and in order, also where posts or answers are lost or repeated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from operator import attrgetter
from typing import Any

import msgspec
from sqlalchemy import Connection, insert, update

from underfed_server.errors import ForbiddenError, OutOfOrderError
from underfed_server.ingest.posted import Ack, Outcome, PostedWindow
from underfed_server.ingest.wire import Loader, Run, Window
from underfed_server.store.columns.packed import packed
from underfed_server.store.databases import tables
from underfed_server.store.databases.dialects import change, plain_insert, plain_update, plain_upsert, put
from underfed_server.store.databases.tables import unix_us
from underfed_server.store.runs.config_values import index_config
from underfed_server.store.runs.summaries import index_tags
from underfed_server.store.writing.candidates import with_candidates
from underfed_server.store.writing.counted_window import CountedWindow
from underfed_server.store.writing.streams import (
    RunState,
    RunStates,
    StreamKey,
    StreamState,
    TrackState,
    read_endings,
)
from underfed_server.store.writing.switches import with_switches


@dataclass(slots=True)
class _Changes:
    """What a transaction writes at its end: one statement per table, not per window."""

    hot: list[tuple[object, ...]] = field(default_factory=list)
    epochs: dict[tuple[object, ...], dict[str, Any]] = field(default_factory=dict)
    lives: dict[tuple[object, ...], dict[str, Any]] = field(default_factory=dict)
    storage: dict[tuple[object, ...], dict[str, Any]] = field(default_factory=dict)
    stacks: dict[tuple[object, ...], dict[str, Any]] = field(default_factory=dict)
    settings: dict[tuple[object, ...], dict[str, Any]] = field(default_factory=dict)
    tuning: dict[tuple[object, ...], dict[str, Any]] = field(default_factory=dict)
    ranks: dict[tuple[object, ...], dict[str, Any]] = field(default_factory=dict)
    loaders: dict[tuple[object, ...], dict[str, Any]] = field(default_factory=dict)
    streams: dict[StreamKey, StreamState] = field(default_factory=dict)
    tracks: dict[tuple[object, ...], TrackState] = field(default_factory=dict)
    """Lanes of steps that have more of them."""
    lanes: list[tuple[object, ...]] = field(default_factory=list)
    """New ones of another kind, with their rows so far."""
    runs: set[str] = field(default_factory=set)
    endings: set[str] = field(default_factory=set)
    """Runs in which a rank appeared or ended."""


_OF_RUN = tuple(name for name in Run.__struct_fields__ if name in tables.run.c)
_OF_HOT = tuple(column.name for column in tables.hot.c)
_TOTALS = tuple(each.name for each in fields(TrackState))
_OF_CHUNKS = ("chunks", "chunk_rows", "chunk_bytes", "dropped_chunks", "ladder_bytes")
_OF_TRACK = (*StreamKey._fields, "lane", *_TOTALS, *_OF_CHUNKS)
_NO_CHUNKS = (0,) * len(_OF_CHUNKS)
_OF_STREAM = tuple(column.name for column in tables.stream.c if not column.primary_key and column.name != "started_at")
_totals_of = attrgetter(*_TOTALS)
_figures_of = attrgetter(*_OF_STREAM)
_TOUCHED = ("last_seen_at", "changed_at")


def stream_of(window: Window) -> StreamKey:
    return StreamKey(window.run_id, window.rank, window.incarnation)


class Appender:
    """Puts windows into the tables. Used by the writer's thread alone, inside its transaction."""

    def __init__(self, now: Callable[[], datetime], *, is_shared: bool) -> None:
        """``is_shared``: other processes append to the same tables."""
        self._now = now
        self.states = RunStates(is_shared=is_shared)
        self.ended: set[str] = set()
        """Of the runs of which a rank began or ended in the last transaction, those of which all ranks have ended."""

    def hot_of(self, key: StreamKey) -> tuple[int, int]:
        """Rows and windows of a stream just appended to that wait for compaction."""
        stream = self.states[key.run_id].streams[key.rank, key.incarnation]
        return stream.hot_rows, stream.hot_windows

    def append(self, connection: Connection, windows: Sequence[CountedWindow]) -> list[Outcome]:
        """One outcome for each window, in order. They are valid once the caller's transaction is committed."""
        changes = _Changes()
        if windows:
            self.states.load(connection, [stream_of(each.window) for each in windows])
        outcomes = [self._take(connection, each, changes) for each in windows]
        self._write(connection, changes)
        posted_windows = [each.posted for each in windows]
        answered = with_switches(connection, posted_windows, outcomes)
        return with_candidates(connection, posted_windows, answered)

    def _take(self, connection: Connection, counted: CountedWindow, changes: _Changes) -> Outcome:
        posted, window = counted.posted, counted.window
        run = self.states[window.run_id]
        if run.exists and posted.project not in (None, run.project):
            return ForbiddenError(f"run {window.run_id!r} is not of the project {posted.project!r}", field="run_id")
        stream = run.streams.get((window.rank, window.incarnation))
        last = -1 if stream is None else stream.last_window_index
        if window.window_index <= last and stream is not None:
            return self._ack(run, stream, counted, last + 1, is_new=False)
        # The agent's index skips windows that it dropped itself: only a window that it kept can be missing.
        if window.previous_window_index is not None and window.previous_window_index > last:
            return OutOfOrderError(
                f"window {window.window_index} follows {window.previous_window_index}, "
                f"but window {last + 1} has not arrived yet",
                next_window_index=last + 1,
            )
        if stream is None or window.end is not None:
            changes.endings.add(window.run_id)
        if stream is None:
            stream = run.begin(stream_of(window), window.started_at)
        self._describe(connection, run, posted, changes)
        _collect(posted, stream, _advance(stream, counted, changes), changes)
        return self._ack(run, stream, counted, window.window_index + 1, is_new=True)

    def _ack(self, run: RunState, stream: StreamState, counted: CountedWindow, next_index: int, *, is_new: bool) -> Ack:
        age_us = None if run.verdict is None else run.verdict_age_us(self._now())
        wants_run = not stream.has_run or not counted.loaders <= run.loaders
        return Ack(next_index, wants_run, is_new, verdict=run.verdict, verdict_age_us=age_us)

    def _describe(self, connection: Connection, run: RunState, posted: PostedWindow, changes: _Changes) -> None:
        """Few windows describe the run and its loaders."""
        window = posted.window
        is_first = not run.exists
        if is_first:
            run.exists, run.project = True, posted.project or ""
            said = {} if window.run is None else _run_columns(window.run, window.run_id)
            connection.execute(insert(tables.run), _unknown_run(window, run.project, self._now()) | said)
        if window.run is not None and (is_first or run.is_newest(stream_of(window))):
            if run.described_by is None or window.rank <= run.described_by:
                run.described_by, run.project = window.rank, window.run.project
                if not is_first:
                    statement = update(tables.run).where(tables.run.c.run_id == run.run_id)
                    connection.execute(statement.values(**_run_columns(window.run, window.run_id)))
                if window.run.tags or not is_first:
                    index_tags(connection, run.run_id)
                if window.run.config or not is_first:
                    index_config(connection, run.run_id, window.run.config)
            changes.ranks[window.run_id, window.rank] = _rank_row(window, window.run)
        for each in window.loaders:
            run.loaders.add(each.loader)
            changes.loaders[window.run_id, each.loader] = _loader_row(window.run_id, each)

    def _write(self, connection: Connection, changes: _Changes) -> None:
        if not changes.hot:
            return
        _write_rows(connection, changes)
        for table, rows in (
            (tables.rank, changes.ranks),
            (tables.loader, changes.loaders),
            (tables.epoch, changes.epochs),
            (tables.worker_life, changes.lives),
            (tables.storage, changes.storage),
            (tables.stacks, changes.stacks),
            (tables.loader_settings, changes.settings),
            (tables.tuning, changes.tuning),
        ):
            put(connection, table, *rows.values())
        now_us = unix_us(self._now())
        touched = [(now_us, now_us, run_id) for run_id in changes.runs]
        connection.exec_driver_sql(plain_update(connection, tables.run, _TOUCHED), touched)
        endings = read_endings(connection, changes.endings) if changes.endings else []
        self.ended = {ending["run_id"] for ending in endings if not ending["open_ranks"]}
        change(connection, tables.run, *endings)


def _write_rows(connection: Connection, changes: _Changes) -> None:
    """What nearly every window changes."""
    connection.exec_driver_sql(plain_insert(connection, tables.hot, _OF_HOT), changes.hot)
    streams = [(*key, unix_us(each.started_at), *_figures_of(each)) for key, each in changes.streams.items()]
    names = (*StreamKey._fields, "started_at", *_OF_STREAM)
    connection.exec_driver_sql(plain_upsert(connection, tables.stream, names), streams)
    if changes.tracks:
        tracks = [(*place, *_totals_of(track), *_NO_CHUNKS) for place, track in changes.tracks.items()]
        connection.exec_driver_sql(plain_upsert(connection, tables.track, _OF_TRACK, keep=_OF_CHUNKS), tracks)
    if changes.lanes:
        connection.exec_driver_sql(plain_insert(connection, tables.track, _OF_TRACK), changes.lanes)


def _advance(stream: StreamState, counted: CountedWindow, changes: _Changes) -> int:
    """Return the rows of the lane that gets the most."""
    window = counted.window
    stream.last_window_index = window.window_index
    stream.end_us = max(stream.end_us, window.end_us)
    stream.has_run = stream.has_run or window.run is not None
    for steps in counted.steps:
        track = changes.tracks[(*stream.key, steps.lane)] = stream.tracks.setdefault(steps.lane, TrackState())
        track.rows += steps.rows
        track.next_index = max(track.next_index, steps.next_index)
        track.step_us_total += steps.step_us
        track.data_wait_us_total += steps.data_wait_us
    # All at once: nearly every window has those of the one before.
    for lane in counted.rows.keys() - stream.lanes - stream.tracks.keys():
        stream.lanes.add(lane)
        changes.lanes.append((*stream.key, lane, *_totals_of(TrackState(counted.rows[lane])), *_NO_CHUNKS))
    if window.losses is not None:
        for name in window.losses.__struct_fields__:
            setattr(stream, name, getattr(window.losses, name))
    if window.overhead_us is not None:
        stream.overhead_us_total += window.overhead_us * counted.step_count
        stream.overhead_steps += counted.step_count
    if window.end is not None:
        stream.end_status, stream.exit_reason = window.end.status, window.end.exit_reason
        stream.exit_code = window.end.exit_code
    longest = max(counted.rows.values(), default=0)
    stream.hot_rows += longest
    stream.hot_windows += 1
    return longest


def _collect(posted: PostedWindow, stream: StreamState, rows: int, changes: _Changes) -> None:
    window, key = posted.window, stream.key._asdict()
    changes.hot.append((*stream.key, window.window_index, rows, posted.encoding, posted.body))
    for epoch in window.epochs:
        changes.epochs[(*stream.key, epoch.loader, epoch.epoch_index)] = {**key, **msgspec.structs.asdict(epoch)}
    for life in window.workers:
        place = (*stream.key, life.loader, life.iterator_index, life.worker)
        changes.lives[place] = {**key, **msgspec.structs.asdict(life)}
    for storage in window.storage:
        changes.storage[(*stream.key, storage.loader, storage.mount)] = {**key, **msgspec.structs.asdict(storage)}
    for each in window.loaders:
        changes.settings[(*stream.key, each.loader)] = {**key, "loader": each.loader, "settings": each.settings}
    for stacks in window.stacks:
        sent = {"window_index": window.window_index, "body": packed(stacks)}
        changes.stacks[(*stream.key, stacks.loader)] = {**key, "loader": stacks.loader, **sent}
    for tuning in window.tuning:
        changes.tuning[(*stream.key, tuning.loader)] = {**key, "loader": tuning.loader, "body": packed(tuning)}
    changes.streams[stream.key] = stream
    changes.runs.add(window.run_id)


def _unknown_run(window: Window, project: str, now: datetime) -> dict[str, Any]:
    """A run whose first window came before its description."""
    return {
        **_run_columns(Run(project=project, name=window.run_id), window.run_id),
        "run_id": window.run_id,
        "notes": "",
        "started_at": window.started_at,
        "last_seen_at": now,
        "changed_at": now,
        "open_ranks": 1,
        "crashed_ranks": 0,
        "bound": "unknown",
        "level": "unknown",
        "spark": [],
    }


def _run_columns(run: Run, run_id: str) -> dict[str, Any]:
    replay = None if run.replay is None else msgspec.to_builtins(run.replay)
    named = {"name": run.name or run_id, "user": run.user or "", "replay": replay}
    trackers = msgspec.to_builtins(run.trackers)
    return {name: getattr(run, name) for name in _OF_RUN} | named | {"trackers": trackers}


def _rank_row(window: Window, run: Run) -> dict[str, Any]:
    return {
        "run_id": window.run_id,
        "rank": window.rank,
        "incarnation": window.incarnation,
        "hostname": run.hostname,
        "pod": run.pod,
        "local_rank": run.local_rank,
        "host": None if run.host is None else msgspec.to_builtins(run.host),
        "devices": msgspec.to_builtins(run.devices),
        "gpu_name": run.devices[0].name if run.devices else None,
        "not_measured": run.not_measured,
    }


def _loader_row(run_id: str, loader: Loader) -> dict[str, Any]:
    workers = loader.settings.get("num_workers")
    is_whole = type(workers) is int and abs(workers) < 2**31
    return {
        "run_id": run_id,
        "loader": loader.loader,
        "info": msgspec.to_builtins(loader),
        "num_workers": workers if is_whole else None,
    }
