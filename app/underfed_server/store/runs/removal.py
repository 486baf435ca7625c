"""Deleting a run: it is hidden at once, can be restored for a while, and is then removed for good.

What it lost stays: in the run's own row until then, and in :data:`~tables.removed_run` from then on.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection, Table, and_, delete, select, tuple_, update

from underfed_server.errors import ConflictError, NotFoundError
from underfed_server.store.databases import tables
from underfed_server.store.databases.locks import lock_run_at_once
from underfed_server.store.runs.audit_log import UNKNOWN, AuditOf, Author, add_entry
from underfed_server.store.runs.removed_runs import keep_history
from underfed_server.store.runs.status import status_column
from underfed_server.store.runs.summaries import find_row, name_of, read_summary

KEEP_DELETED = timedelta(days=30)
"""How long after it was deleted a run can be restored, unless the settings say otherwise."""

ROWS_AT_ONCE = 200
"""Rows removed in one transaction: a long run has tens of thousands, and windows wait meanwhile."""

HEAVY = tuple(table for table in tables.RUN_TABLES if table.name in ("chunk", "rollup", "histogram", "hot", "epoch"))
"""Tables that have rows for every so many steps of a run."""


def delete_run(connection: Connection, now: datetime, run_id: str, by: Author = UNKNOWN) -> None:
    """Hide the run. Its data stays until it can no longer be restored by :func:`restore_run`.

    Raises:
        NotFoundError: there is no such run.
        ConflictError: it is running: its windows would be refused once earlier ones are gone.
    """
    run = read_summary(connection, now, run_id)
    if run.status == "running":
        raise ConflictError(f"run {run_id!r} is still running", field="run_id")
    connection.execute(update(tables.run).where(tables.run.c.run_id == run_id).values(deleted_at=now, changed_at=now))
    add_entry(connection, now, by, AuditOf("deleted", run.name, run.project, run_id))


def restore_run(connection: Connection, now: datetime, run_id: str, keep: timedelta, by: Author) -> None:
    """Show a deleted run again; for another one it does nothing.

    Raises:
        NotFoundError: there is no such run, or no more.
    """
    run, row = tables.run.c, find_row(connection, run_id)
    if row is not None and row["deleted_at"] is None:
        return
    # One statement: another process may begin to remove it meanwhile.
    still = (run.run_id == run_id, run.deleted_at >= now - keep)
    statement = update(tables.run).where(*still).values(deleted_at=None, changed_at=now, touched_at=now)
    if row is None or not connection.execute(statement).rowcount:
        message = f"there is no run {run_id!r} to restore: deleted runs are kept for {in_words(keep)}"
        raise NotFoundError(message, field="run_id")
    add_entry(connection, now, by, AuditOf("restored", name_of(row), row["project"], run_id))


def in_words(keep: timedelta) -> str:
    hours = keep // timedelta(hours=1)
    count, unit = (hours // 24, "day") if hours >= 24 and hours % 24 == 0 else (hours, "hour")
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def project_of(connection: Connection, run_id: str) -> str:
    """Also for a deleted run: whether it may be restored depends on its project.

    Raises:
        NotFoundError: there is no such run.
    """
    project = connection.execute(select(tables.run.c.project).where(tables.run.c.run_id == run_id)).scalar()
    if project is None:
        raise NotFoundError(f"there is no run {run_id!r}", field="run_id")
    return str(project)


def forgettable(connection: Connection, now: datetime, keep: timedelta) -> str | None:
    """A deleted run that can no longer be restored. One that still sends is left until it has ended."""
    run = tables.run.c
    is_over = and_(run.deleted_at < now - keep, status_column(now) != "running")
    return connection.execute(select(run.run_id).where(is_over).order_by(run.deleted_at).limit(1)).scalar()


def forget_some(connection: Connection, now: datetime, run_id: str, keep: timedelta) -> bool:
    """Remove part of what is recorded of a run from :func:`forgettable`. Returns whether nothing is left of it."""
    run = tables.run.c
    is_over = and_(run.run_id == run_id, run.deleted_at < now - keep)
    # The process that locks the run does the work; where another has it, this one goes on to other runs.
    if not lock_run_at_once(connection, run_id):
        return False
    if connection.execute(select(run.run_id).where(is_over).with_for_update(skip_locked=True)).first() is None:
        return False
    # Also in case the clock is set back: a run that has lost a part cannot be restored.
    connection.execute(update(tables.run).where(run.run_id == run_id).values(deleted_at=tables.UNIX_EPOCH))
    if any(_forget_rows(connection, table, run_id) for table in HEAVY):
        return False
    keep_history(connection, run_id)
    for table in tables.RUN_TABLES:
        connection.execute(delete(table).where(table.c.run_id == run_id))
    return True


def _forget_rows(connection: Connection, table: Table, run_id: str) -> bool:
    """Whether the transaction was full, so that there may be more."""
    key = tuple_(*table.primary_key.columns)
    some = select(*table.primary_key.columns).where(table.c.run_id == run_id).limit(ROWS_AT_ONCE)
    statement = delete(table).where(table.c.run_id == run_id, key.in_(some))
    return connection.execute(statement).rowcount >= ROWS_AT_ONCE
