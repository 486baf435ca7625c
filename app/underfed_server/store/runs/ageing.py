"""Runs that nobody changed for long: archived, and later deleted, as the retention of their project says.

A run changes when a window of it arrives, and when a person edits, archives or restores it. What the service does by
itself, as a verdict or an archiving by age, is no change.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, and_, case, false, func, not_, select, update

from underfed_server.model import AgedRun, AgedRuns, AuditAction
from underfed_server.store.databases import tables
from underfed_server.store.runs.audit_log import AuditOf, Author, add_entry
from underfed_server.store.runs.searching import NAME
from underfed_server.store.runs.status import status_column

MOST_AT_ONCE = 50
"""Runs of one transaction: windows wait meanwhile."""

BY = Author("retention")

_run = tables.run.c
# SQLite's max() of two and PostgreSQL's greatest() have no common name. A run that nobody touched has no instant there.
UNCHANGED_SINCE: ColumnElement[datetime] = case(
    (_run.touched_at > _run.last_seen_at, _run.touched_at), else_=_run.last_seen_at
)

Fate = Literal["archived", "deleted"]
FATES: dict[Fate, AuditAction] = {"deleted": "deleted_by_age", "archived": "archived_by_age"}
"""What becomes of runs, with its entry in the audit log. One that is due for both is deleted."""


class Ages(NamedTuple):
    """Microseconds without a change, after which runs are archived or deleted; ``None`` and 0: never."""

    archived: int | None
    deleted: int | None

    def of(self, fate: Fate) -> int | None:
        return self.archived if fate == "archived" else self.deleted


def age_runs(connection: Connection, now: datetime, project: str, ages: Ages) -> list[str]:
    """Archive and delete some of the project's runs that are due. Returns which: where there are any, call it again."""
    found: list[str] = []
    for fate, action in FATES.items():
        column = tables.run.c[f"{fate}_at"]
        for run_id, name, _ in connection.execute(_due(now, project, ages, fate).limit(MOST_AT_ONCE)).all():
            # Another process may have done it meanwhile, or a window may have come.
            still = and_(tables.run.c.run_id == run_id, *_conditions(now, project, ages, fate))
            statement = update(tables.run).where(still).values({column.name: now, "changed_at": now})
            if connection.execute(statement).rowcount:
                add_entry(connection, now, BY, AuditOf(action, name, project, run_id))
                found.append(run_id)
    return found


def read_due(connection: Connection, now: datetime, project: str, ages: Ages, most: int) -> AgedRuns:
    """What :func:`age_runs` would do now: how many runs, and of each kind those unchanged for longest."""
    counts: dict[Fate, int] = {}
    runs: list[AgedRun] = []
    for fate in FATES:
        counts[fate] = connection.execute(
            select(func.count()).select_from(tables.run).where(*_conditions(now, project, ages, fate))
        ).scalar_one()
        rows = connection.execute(_due(now, project, ages, fate).limit(most))
        runs += [AgedRun(run_id=run_id, name=name, fate=fate, unchanged_since=since) for run_id, name, since in rows]
    return AgedRuns(
        archive_after_us=ages.archived or None,
        delete_after_us=ages.deleted or None,
        archived=counts["archived"],
        deleted=counts["deleted"],
        runs=runs,
    )


def _due(now: datetime, project: str, ages: Ages, fate: Fate) -> Select[Any]:
    """The runs, unchanged for longest first, with when they last changed."""
    statement = select(tables.run.c.run_id, NAME, UNCHANGED_SINCE).where(*_conditions(now, project, ages, fate))
    return statement.order_by(UNCHANGED_SINCE, tables.run.c.run_id)


def _conditions(now: datetime, project: str, ages: Ages, fate: Fate) -> list[ColumnElement[bool]]:
    run, age_us = tables.run.c, ages.of(fate)
    if not age_us:
        return [false()]
    found = [run.project == project, run.deleted_at.is_(None), status_column(now) != "running", _is_older(now, age_us)]
    if fate == "archived":
        found.append(run.archived_at.is_(None))
        # What is due for both is deleted.
        if ages.deleted:
            found.append(not_(_is_older(now, ages.deleted)))
    return found


def _is_older(now: datetime, age_us: int) -> ColumnElement[bool]:
    age = timedelta(microseconds=age_us)
    return (now - age if age < now - tables.UNIX_EPOCH else tables.UNIX_EPOCH) > UNCHANGED_SINCE
