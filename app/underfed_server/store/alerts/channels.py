"""Where alerts go. What must be kept secret of it is sealed before it comes here."""

from __future__ import annotations

import secrets
from datetime import datetime

from sqlalchemy import Connection, RowMapping, delete, func, insert, select, update

from underfed_server.errors import ConflictError, NotFoundError
from underfed_server.model import Channel, ChannelKind
from underfed_server.names import Projects
from underfed_server.store.databases import tables
from underfed_server.store.runs.audit_log import AuditOf, Author, add_entry

MOST_CHANNELS = 100
"""Of one project, and of those for all projects."""

_SHOWN = tuple(tables.channel.c[name] for name in Channel.model_fields)


def read_channels(connection: Connection, within: Projects) -> list[Channel]:
    """By name."""
    channel = tables.channel.c
    statement = select(*_SHOWN).where(tables.is_of(channel.project, within))
    rows = connection.execute(statement.order_by(func.lower(channel.name), channel.channel_id))
    return [Channel(**row) for row in rows.mappings()]


def make_channel(
    connection: Connection,
    now: datetime,
    *,
    name: str,
    kind: ChannelKind,
    target: str,
    sealed: str,
    project: str | None,
    by: Author,
) -> Channel:
    """Raises:
    ConflictError: there is one of this name, or there are too many.
    """
    channel = tables.channel.c
    of_same = channel.project.is_(None) if project is None else channel.project == project
    if connection.execute(select(channel.channel_id).where(of_same, channel.name == name)).first() is not None:
        raise ConflictError(f"there is a channel {name!r} already", field="name")
    if (
        connection.execute(select(func.count()).select_from(tables.channel).where(of_same)).scalar_one()
        >= MOST_CHANNELS
    ):
        raise ConflictError(f"there are {MOST_CHANNELS} channels already, which is the most: remove one first")
    made = Channel(
        channel_id=f"c{secrets.token_hex(4)}",
        project=project,
        name=name,
        kind=kind,
        target=target,
        made_by=by.name,
        made_at=now,
    )
    connection.execute(insert(tables.channel), made.model_dump() | {"sealed": sealed})
    add_entry(connection, now, by, AuditOf("channel_created", name, project, after=f"{kind}: {target}"))
    return made


def delete_channel(connection: Connection, now: datetime, channel_id: str, within: Projects, by: Author) -> None:
    """Its rules go with it; what waits is not sent.

    Raises:
        NotFoundError: there is no such channel.
    """
    row = channel_row(connection, channel_id, within)
    connection.execute(delete(tables.alert_rule).where(tables.alert_rule.c.channel_id == channel_id))
    waiting = (tables.alert.c.channel_id == channel_id, tables.alert.c.due_at.is_not(None))
    connection.execute(update(tables.alert).where(*waiting).values(due_at=None, error="the channel was removed"))
    connection.execute(delete(tables.channel).where(tables.channel.c.channel_id == channel_id))
    before = f"{row['kind']}: {row['target']}"
    add_entry(connection, now, by, AuditOf("channel_deleted", row["name"], row["project"], before=before))


def channel_row(connection: Connection, channel_id: str, within: Projects) -> RowMapping:
    """Raises:
    NotFoundError: there is no such channel, or it is another project's.
    """
    channel = tables.channel.c
    wanted = select(tables.channel).where(channel.channel_id == channel_id, tables.is_of(channel.project, within))
    row = connection.execute(wanted).mappings().first()
    if row is None:
        raise NotFoundError(f"there is no channel {channel_id!r}", field="channel_id")
    return row
