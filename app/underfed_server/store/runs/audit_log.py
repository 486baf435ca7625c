"""The audit log: who changed what, when, and what it was before and after."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, insert, or_, select

from underfed_server.errors import InvalidError
from underfed_server.model import AuditAction, AuditEntry, AuditPage
from underfed_server.names import Projects
from underfed_server.store.databases import tables
from underfed_server.store.databases.dialects import bytewise

MOST_CHARACTERS = 1_000
"""Of a text before or after: notes may be a hundred times as long, and two of them are kept for each edit."""

_DIGITS = frozenset("0123456789abcdef")
_LENGTH = 24

OF_ACCESS: tuple[AuditAction, ...] = ("token_created", "token_revoked", "groups_changed")
"""Who has which access is for administrators."""

Content = str | Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class Author:
    """Who changes something."""

    name: str
    """The user that a proxy names, else the token's name."""
    token_id: str | None = None


UNKNOWN = Author("")


@dataclass(frozen=True, slots=True)
class AuditOf:
    """What is changed: a run, or something of a project or of all."""

    action: AuditAction
    name: str
    project: str | None = None
    run_id: str | None = None
    before: Content = None
    after: Content = None


@dataclass(frozen=True, slots=True)
class AuditFilter:
    run_id: str | None = None
    project: str | None = None
    by: str | None = None
    action: AuditAction | None = None
    limit: int = 100
    cursor: str | None = None
    """The last entry of the page before."""
    within: Projects = None
    """The projects that the caller sees."""
    administered: Projects = None
    """Those that the caller administers: of others it is not shown who has access."""


def add_entry(connection: Connection, now: datetime, by: Author, of: AuditOf) -> None:
    """In the transaction that makes the change: there is no change without its entry."""
    entry = {
        # Sorted as text, since all have the same length.
        "entry_id": f"{tables.unix_us(now):016x}{secrets.token_hex(4)}",
        "at": now,
        "by": by.name,
        "token_id": by.token_id,
        "action": of.action,
        "project": of.project,
        "run_id": of.run_id,
        "name": of.name,
        "before": _short(of.before),
        "after": _short(of.after),
    }
    connection.execute(insert(tables.audit), entry)


def last_content(connection: Connection, action: AuditAction) -> Content:
    """What was there after the last change of this kind; ``None``: nothing, or there was none."""
    last = select(tables.audit.c.after).where(tables.audit.c.action == action)
    found: Content = connection.execute(last.order_by(bytewise(tables.audit.c.entry_id).desc()).limit(1)).scalar()
    return found or None


def _short(content: Content) -> Content:
    if isinstance(content, str) and len(content) > MOST_CHARACTERS:
        return f"{content[: MOST_CHARACTERS - 1]}…"
    return content


def read_audit(connection: Connection, asked: AuditFilter) -> AuditPage:
    """The newest first.

    Raises:
        InvalidError: no such cursor.
    """
    entry = tables.audit.c
    wanted = {entry.run_id: asked.run_id, entry.by: asked.by, entry.action: asked.action}
    statement = select(tables.audit).where(*(column == value for column, value in wanted.items() if value is not None))
    if asked.project is not None:
        statement = statement.where(entry.project == asked.project)
    may_know = or_(entry.action.not_in(OF_ACCESS), tables.is_of(entry.project, asked.administered))
    statement = statement.where(tables.is_of(entry.project, asked.within), may_know)
    if asked.cursor is not None:
        if len(asked.cursor) != _LENGTH or not set(asked.cursor) <= _DIGITS:
            raise InvalidError("cursor: this service did not issue it", field="cursor")
        statement = statement.where(bytewise(entry.entry_id) < asked.cursor)
    rows = connection.execute(statement.order_by(bytewise(entry.entry_id).desc()).limit(asked.limit + 1)).mappings()
    entries = [AuditEntry(**row) for row in rows]
    last = entries[asked.limit - 1] if len(entries) > asked.limit else None
    return AuditPage(entries=entries[: asked.limit], next_cursor=None if last is None else last.entry_id)


def trim_audit(connection: Connection, now: datetime, keep: timedelta) -> int:
    """Delete entries that are older. Returns how many they were."""
    return connection.execute(delete(tables.audit).where(tables.audit.c.at < now - keep)).rowcount
