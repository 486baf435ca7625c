"""Whether a run is running: which ranks have ended, and when the last window arrived."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, get_args

from sqlalchemy import ColumnElement, Connection, case, func, select

from underfed_server.model import Status
from underfed_server.store.databases import tables

LOST_AFTER = timedelta(seconds=30)
"""A live stream posts at least every 5 s (docs/wire.md): six posts are missing. A last window so far in the future came
before the clock was set back: a run that still sends would have sent one since."""


def status_of(*, open_ranks: int, crashed_ranks: int, last_seen_at: datetime, now: datetime) -> Status:
    """A crashed rank decides once no other rank sends any more."""
    if open_ranks and abs(now - last_seen_at) <= LOST_AFTER:
        return "running"
    if crashed_ranks:
        return "crashed"
    return "lost" if open_ranks else "finished"


def count_by_status(connection: Connection, now: datetime, *conditions: ColumnElement[bool]) -> dict[Status, int]:
    """How many of the runs for which all conditions hold have which status."""
    # Grouped by a column of the inner query: PostgreSQL compares expressions with parameters by their place.
    each = select(status_column(now).label("status")).where(*conditions).subquery()
    rows = connection.execute(select(each.c.status, func.count()).group_by(each.c.status))
    found: dict[Status, int] = {row[0]: row[1] for row in rows}
    return {status: found.get(status, 0) for status in get_args(Status)}


def running_runs(connection: Connection, now: datetime) -> list[str]:
    run = tables.run.c
    statement = select(run.run_id).where(run.deleted_at.is_(None), status_column(now) == "running")
    return list(connection.execute(statement).scalars())


def status_column(now: datetime) -> ColumnElement[str]:
    """The same as :func:`status_of`, for the database to filter by."""
    return status_seen_within(now - LOST_AFTER, now + LOST_AFTER)


def status_seen_within(earliest: Any, latest: Any) -> ColumnElement[str]:
    """Likewise, where a run seen between these two instants is there; they may be parameters of a statement."""
    run = tables.run.c
    is_seen = run.last_seen_at.between(earliest, latest)
    return case(
        ((run.open_ranks > 0) & is_seen, "running"),
        (run.crashed_ranks > 0, "crashed"),
        (run.open_ranks > 0, "lost"),
        else_="finished",
    )
