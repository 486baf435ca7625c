"""The list of runs, filtered and sorted, and what a person may change in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, func, or_, select, update

from underfed_server.errors import ConflictError, InvalidError
from underfed_server.model import Bound, RunSummary, Status, StatusCounts
from underfed_server.store import tables
from underfed_server.store.status import status_column
from underfed_server.store.summaries import read_summary, run_row, summaries
from underfed_server.store.tags import has_tag, index_tags

_name = func.coalesce(tables.run.c.edited_name, tables.run.c.name)

_COLUMNS: Mapping[str, ColumnElement[Any]] = {
    "name": _name,
    "data_stall_fraction": tables.run.c.data_stall_fraction,
    "hours_lost": tables.run.c.hours_lost,
    "predicted_speedup": tables.run.c.predicted_speedup,
    "step_us": tables.run.c.step_us,
    "started_at": tables.run.c.started_at,
}
SORTS = ("status", *_COLUMNS)
"""Keys that runs are sorted by."""


@dataclass(frozen=True, slots=True)
class RunFilter:
    project: str | None = None
    status: Status | None = None
    bound: Bound | None = None
    tag: str | None = None
    """``key=value``, or ``key`` with any value."""
    q: str | None = None
    """Words that must all occur in the name, id, project, user, a host's name or a tag."""
    sort: str = "-started_at"
    """``-`` in front: largest first. Runs without the value come last either way."""
    limit: int = 100
    cursor: str | None = None
    """Where the page before ended. A run that moves in the order meanwhile may be seen twice, or not at all."""


def list_runs(connection: Connection, asked: RunFilter, now: datetime) -> tuple[list[RunSummary], str | None]:
    """A page of runs and where the next one begins.

    Raises:
        InvalidError: no such ``sort`` or ``cursor``.
    """
    offset = _offset(asked.cursor)
    statement = select(tables.run).where(*_conditions(asked))
    if asked.status is not None:
        statement = statement.where(status_column(now) == asked.status)
    statement = statement.order_by(*_order(asked.sort, now)).offset(offset).limit(asked.limit + 1)
    rows = connection.execute(statement).mappings().all()
    page = summaries(connection, rows[: asked.limit], now)
    return page, str(offset + asked.limit) if len(rows) > asked.limit else None


def count_by_status(connection: Connection, asked: RunFilter, now: datetime) -> StatusCounts:
    """Of the runs that pass the filter, whatever status it asks for."""
    status = status_column(now)
    statement = select(status.label("status"), func.count().label("runs")).where(*_conditions(asked)).group_by(status)
    counts = {row.status: row.runs for row in connection.execute(statement)}
    numbers = {name: counts.get(name, 0) for name in ("running", "finished", "crashed", "lost")}
    return StatusCounts(all=sum(numbers.values()), **numbers)


def changed_since(connection: Connection, since: datetime, now: datetime) -> list[RunSummary]:
    statement = select(tables.run).where(tables.run.c.changed_at >= since).order_by(tables.run.c.changed_at)
    return summaries(connection, connection.execute(statement).mappings().all(), now)


def earlier_runs(connection: Connection, run_id: str, limit: int, now: datetime) -> list[RunSummary]:
    """Runs of the same job that started before this one, newest first.

    Raises:
        NotFoundError: there is no such run.
    """
    row, run = run_row(connection, run_id), tables.run.c
    same_job = and_(run.job == row["job"], run.project == row["project"], run.job != "")
    before = or_(run.started_at < row["started_at"], and_(run.started_at == row["started_at"], run.run_id < run_id))
    statement = select(tables.run).where(same_job, before).order_by(run.started_at.desc()).limit(limit)
    return summaries(connection, connection.execute(statement).mappings().all(), now)


def replays(connection: Connection, run_id: str) -> list[str]:
    """This run, then others of the same job, newest first: those that measured a replay, the newest twenty.

    Raises:
        NotFoundError: there is no such run.
    """
    row, run = run_row(connection, run_id), tables.run.c
    same_job = and_(run.job == row["job"], run.project == row["project"], run.job != "")
    statement = select(run.run_id).where(run.replay.is_not(None), or_(run.run_id == run_id, same_job))
    newest = statement.order_by((run.run_id == run_id).desc(), run.started_at.desc()).limit(20)
    return list(connection.execute(newest).scalars())


def edit_run(connection: Connection, run_id: str, changes: Mapping[str, Any], now: datetime) -> None:
    """Set ``name``, ``tags`` or ``notes``. A name or tags of ``None`` go back to what the agent says.

    Raises:
        NotFoundError: there is no such run.
    """
    run_row(connection, run_id)
    columns = {"name": "edited_name", "tags": "edited_tags", "notes": "notes"}
    values = {columns[name]: value for name, value in changes.items()}
    connection.execute(update(tables.run).where(tables.run.c.run_id == run_id).values(changed_at=now, **values))
    index_tags(connection, run_id)


def delete_run(connection: Connection, run_id: str, now: datetime) -> None:
    """Everything that was recorded of it.

    Raises:
        NotFoundError: there is no such run.
        ConflictError: it is running: its next window would be refused, since those before it would be missing.
    """
    if read_summary(connection, run_id, now).status == "running":
        raise ConflictError(f"run {run_id!r} is still running", field="run_id")
    for table in tables.RUN_TABLES:
        connection.execute(delete(table).where(table.c.run_id == run_id))


def _conditions(asked: RunFilter) -> list[ColumnElement[bool]]:
    """All of the filter but the status, which depends on the moment."""
    run = tables.run.c
    conditions: list[ColumnElement[bool]] = [_mentions(word) for word in (asked.q or "").split()]
    if asked.project is not None:
        conditions.append(run.project == asked.project)
    if asked.bound is not None:
        conditions.append(run.bound == asked.bound)
    if asked.tag is not None:
        conditions.append(has_tag(asked.tag))
    return conditions


def _mentions(word: str) -> ColumnElement[bool]:
    run, rank, tag = tables.run.c, tables.rank.c, tables.tag.c
    own = [column.icontains(word, autoescape=True) for column in (_name, run.run_id, run.project, run.user)]
    hosts = select(rank.run_id).where(rank.hostname.icontains(word, autoescape=True))
    tags = select(tag.run_id).where((tag.key + "=" + tag.value).icontains(word, autoescape=True))
    return or_(*own, run.run_id.in_(hosts), run.run_id.in_(tags))


def _order(sort: str, now: datetime) -> list[ColumnElement[Any]]:
    key = sort.removeprefix("-")
    if key not in SORTS:
        raise InvalidError(f"sort: {key!r} is none of {', '.join(SORTS)}", field="sort")
    column = status_column(now) if key == "status" else _COLUMNS[key]
    ordered = column.desc() if sort.startswith("-") else column.asc()
    return [ordered.nulls_last(), tables.run.c.started_at.desc(), tables.run.c.run_id]


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 10):
        raise InvalidError(f"cursor: {cursor!r} is not one that this service gave", field="cursor")
    return int(cursor)
