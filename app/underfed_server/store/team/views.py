"""Saved views: lists of runs that were given a name, shared by all who see the same runs."""

from __future__ import annotations

import secrets
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, RowMapping, delete, func, insert, select, update

from underfed_server.errors import ConflictError, NotFoundError
from underfed_server.model import View
from underfed_server.names import Projects
from underfed_server.store.databases import tables
from underfed_server.store.runs.audit_log import AuditOf, Author, add_entry

MOST_VIEWS = 500
"""A menu of more helps nobody."""


def read_views(connection: Connection, within: Projects) -> list[View]:
    """By name; who sees all projects sees also those that belong to none."""
    view = tables.view.c
    seen = select(tables.view).where(tables.is_of(view.project, within))
    rows = connection.execute(seen.order_by(func.lower(view.name), view.view_id))
    return [View(**row) for row in rows.mappings()]


def make_view(connection: Connection, now: datetime, name: str, query: str, project: str | None, by: Author) -> View:
    """Raises:
    ConflictError: there is one of this name, or there are too many.
    """
    _require_free(connection, name, project)
    count = select(func.count()).select_from(tables.view).where(_of(project))
    if connection.execute(count).scalar_one() >= MOST_VIEWS:
        raise ConflictError(f"there are {MOST_VIEWS} views already, which is the most: delete one first", field="name")
    made = View(view_id=secrets.token_hex(8), project=project, name=name, query=query, made_by=by.name, changed_at=now)
    connection.execute(insert(tables.view), made.model_dump())
    add_entry(connection, now, by, AuditOf("view_created", name, project, after=query))
    return made


def change_view(
    connection: Connection,
    now: datetime,
    view_id: str,
    changes: dict[str, str],
    project: str | None,
    by: Author,
) -> View:
    """Set ``name``, ``query`` or both.

    Raises:
        NotFoundError: there is no such view.
        ConflictError: there is another one of this name.
    """
    before = _row(connection, view_id, project)
    if changes.get("name", before["name"]) != before["name"]:
        _require_free(connection, changes["name"], project)
    connection.execute(update(tables.view).where(tables.view.c.view_id == view_id).values(changed_at=now, **changes))
    after = View(**_row(connection, view_id, project))
    contents = [{"name": each["name"], "query": each["query"]} for each in (dict(before), after.model_dump())]
    if contents[0] != contents[1]:
        add_entry(connection, now, by, AuditOf("view_changed", before["name"], project, None, *contents))
    return after


def delete_view(connection: Connection, now: datetime, view_id: str, project: str | None, by: Author) -> None:
    """Raises:
    NotFoundError: there is no such view.
    """
    before = _row(connection, view_id, project)
    connection.execute(delete(tables.view).where(tables.view.c.view_id == view_id))
    add_entry(connection, now, by, AuditOf("view_deleted", before["name"], project, before=before["query"]))


def _of(project: str | None) -> ColumnElement[bool]:
    column = tables.view.c.project
    return column.is_(None) if project is None else column == project


def _row(connection: Connection, view_id: str, project: str | None) -> RowMapping:
    wanted = select(tables.view).where(tables.view.c.view_id == view_id, _of(project))
    row = connection.execute(wanted).mappings().first()
    if row is None:
        raise NotFoundError(f"there is no view {view_id!r}", field="view_id")
    return row


def _require_free(connection: Connection, name: str, project: str | None) -> None:
    taken = select(tables.view.c.view_id).where(tables.view.c.name == name, _of(project))
    if connection.execute(taken).first() is not None:
        raise ConflictError(f"there is a view {name!r} already", field="name")
