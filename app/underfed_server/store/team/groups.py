"""What runs have in common by name: their projects, and the people they belong to."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, RowMapping, func, select

from underfed_server.model import ProjectInfo, UserInfo
from underfed_server.store.databases import tables


def read_projects(connection: Connection, within: str | None = None) -> list[ProjectInfo]:
    """By name; ``within``: only this project."""
    return [ProjectInfo(**row) for row in _grouped(connection, tables.run.c.project, within)]


def read_users(connection: Connection, within: str | None = None) -> list[UserInfo]:
    """By name; ``within``: only users with runs in this project."""
    return [UserInfo(**row) for row in _grouped(connection, tables.run.c.user, within)]


def _grouped(connection: Connection, column: Column[Any], within: str | None) -> list[RowMapping]:
    run = tables.run.c
    figures: tuple[ColumnElement[Any], ...] = (
        func.count().label("runs"),
        func.count(run.archived_at).label("archived_runs"),
        func.max(run.last_seen_at).label("last_seen_at"),
        func.coalesce(func.sum(run.hours_lost), 0.0).label("hours_lost"),
        func.coalesce(func.sum(run.hours_used), 0.0).label("hours_used"),
    )
    statement = select(column, *figures).where(run.deleted_at.is_(None), tables.of_project(within)).group_by(column)
    return sorted(connection.execute(statement).mappings().all(), key=lambda row: str(row[column.name]))
