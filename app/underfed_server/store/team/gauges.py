"""What a monitoring system asks of the store: how much it holds, and the figures of the running runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, select, text

from underfed_server.model import Status
from underfed_server.names import Projects
from underfed_server.store.databases import tables
from underfed_server.store.databases.journal import journal_bytes, journal_of
from underfed_server.store.runs.status import count_by_status, status_column


@dataclass(frozen=True, slots=True)
class RunGauges:
    """One running run as it was judged last; ``None``: not judged, or not measured."""

    run_id: str
    project: str
    name: str
    user: str
    hostname: str | None
    slurm_job_id: str | None
    namespace: str | None
    pod: str | None
    """Of its lowest rank, as its host is."""
    train_job: str | None
    queue: str | None
    bound: str
    level: str
    cause: str | None
    data_stall_fraction: float | None
    steps_per_s: float | None
    step_us: int | None
    hours_lost: float | None
    gpu_hours_lost: float | None
    predicted_speedup: float | None


@dataclass(frozen=True, slots=True)
class StoreGauges:
    runs_by_status: Mapping[Status, int]
    hot_streams: int
    """Streams with windows that wait for compaction."""
    hot_windows: int
    database_bytes: int
    journal_bytes: int
    """Of them, SQLite's write-ahead log."""


def read_running(connection: Connection, limit: int, projects: Projects, now: datetime) -> list[RunGauges]:
    """The ``limit`` running runs that have lost most, of these projects: time of GPUs before time of
    hosts, and the newest of those that lost nothing, or have no verdict yet."""
    run = tables.run.c
    others = {
        "name": func.coalesce(run.edited_name, run.name),
        "hostname": _of_lowest_rank(tables.rank.c.hostname),
        "pod": _of_lowest_rank(tables.rank.c.pod),
    }
    columns = [others[field] if field in others else run[field] for field in RunGauges.__slots__]
    statement = select(*columns).where(
        run.deleted_at.is_(None), status_column(now) == "running", tables.of_projects(projects)
    )
    lost = [func.coalesce(hours, 0.0).desc() for hours in (run.gpu_hours_lost, run.hours_lost)]
    costliest = statement.order_by(*lost, run.started_at.desc(), run.run_id).limit(limit)
    return [RunGauges(*row) for row in connection.execute(costliest)]


def _of_lowest_rank(column: ColumnElement[str | None]) -> ColumnElement[Any]:
    rank = tables.rank.c
    found = select(column).where(rank.run_id == tables.run.c.run_id).order_by(rank.rank).limit(1)
    return found.correlate(tables.run).scalar_subquery()


def read_store(connection: Connection, database: Path | None, projects: Projects, now: datetime) -> StoreGauges:
    """``database``: the file, where it is one. Runs are counted in these projects."""
    stream = tables.stream.c
    waiting = select(func.count(), func.coalesce(func.sum(stream.hot_windows), 0)).where(stream.hot_windows > 0)
    hot_streams, hot_windows = connection.execute(waiting).one()
    counts = count_by_status(connection, now, tables.run.c.deleted_at.is_(None), tables.of_projects(projects))
    journal = 0 if database is None else journal_bytes(database)
    return StoreGauges(counts, hot_streams, int(hot_windows), _bytes_of(connection, database), journal)


def _bytes_of(connection: Connection, database: Path | None) -> int:
    """Size of the database on disk, its write-ahead log included."""
    if database is None:
        return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())
    files = (database, journal_of(database))
    return sum(file.stat().st_size for file in files if file.exists())
