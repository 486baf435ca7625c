"""Messages that wait to be sent, claimed by one sender at a time, and the log of what became of them.

A message is sent at least once: it is noted as sent after it was. Who claims one has it for :data:`LEASE`, longer than
an attempt can take, so that two senders do not send the same one; only a process that ends between sending and noting
leaves one that is sent again, under the same id.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    and_,
    delete,
    false,
    func,
    insert,
    not_,
    or_,
    select,
    update,
)

from underfed_server.errors import ConflictError, InvalidError, NotFoundError
from underfed_server.model import Alert, AlertMessage, AlertsPage, ChannelKind
from underfed_server.names import Projects
from underfed_server.store.alerts.channels import channel_row
from underfed_server.store.databases import tables
from underfed_server.store.databases.dialects import bytewise

LEASE = timedelta(seconds=60)
"""Clocks of hosts may differ by less than half of it."""

BACKOFF = tuple(timedelta(seconds=each) for each in (5, 30, 300, 1_800, 7_200, 18_000))
"""Before each further attempt; after the last the message has failed: within some seven and a half hours."""

LONGEST_WAIT = max(BACKOFF)

MOST_AGE = timedelta(hours=12)
"""Of a message that is tried again: of many to one channel most wait for their first attempt meanwhile."""

MOST_AN_HOUR = 100
"""Messages to one channel: whoever may send windows can send those of any number of runs."""

HOUR = timedelta(hours=1)
TOO_MANY = f"there were {MOST_AN_HOUR} messages to this channel within an hour"

MOST_ERROR = 300
"""Characters of why an attempt failed."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    channel_id: str
    rule_id: str | None
    run_id: str | None
    project: str | None
    message: AlertMessage


@dataclass(frozen=True, slots=True)
class Claimed:
    """A message that this process sends now, and what is needed for it."""

    alert_id: str
    message: AlertMessage
    made_at: datetime
    attempts: int
    """Before this one."""
    channel_id: str
    kind: ChannelKind
    sealed: str


def post(connection: Connection, now: datetime, outgoing: Sequence[Outgoing]) -> list[str]:
    """Queue messages, and log those that are too many for their channel. Returns their ids."""
    left = {each.channel_id: MOST_AN_HOUR - _of_last_hour(connection, now, each.channel_id) for each in outgoing}
    rows = []
    for each in outgoing:
        left[each.channel_id] -= 1
        is_sent = left[each.channel_id] >= 0
        row = {
            # Sorted as text, since all have the same length; random beyond what anybody guesses.
            "alert_id": f"{tables.unix_us(now):016x}{secrets.token_hex(8)}",
            "made_at": now,
            "channel_id": each.channel_id,
            "rule_id": each.rule_id,
            "run_id": each.run_id,
            "project": each.project,
            "message": each.message.model_dump(mode="json"),
            "attempts": 0,
            "due_at": now if is_sent else None,
            "error": None if is_sent else TOO_MANY,
        }
        rows.append(row)
    if rows:
        connection.execute(insert(tables.alert), rows)
    return [str(row["alert_id"]) for row in rows]


def _of_last_hour(connection: Connection, now: datetime, channel_id: str) -> int:
    alert = tables.alert.c
    sent = (
        alert.channel_id == channel_id,
        alert.made_at.between(now - HOUR, now),
        alert.error.is_distinct_from(TOO_MANY),
    )
    return int(connection.execute(select(func.count()).select_from(tables.alert).where(*sent)).scalar_one())


def post_test(connection: Connection, now: datetime, channel_id: str, message: AlertMessage, within: Projects) -> Alert:
    """Queue a test of a channel.

    Raises:
        NotFoundError: there is no such channel.
        ConflictError: a test of it waits already.
    """
    channel, alert = channel_row(connection, channel_id, within), tables.alert.c
    waits = (alert.channel_id == channel_id, alert.rule_id.is_(None), alert.due_at.is_not(None))
    if connection.execute(select(alert.alert_id).where(*waits)).first() is not None:
        raise ConflictError("a test of this channel is on its way already", field="channel_id")
    if _of_last_hour(connection, now, channel_id) >= MOST_AN_HOUR:
        raise ConflictError(TOO_MANY, field="channel_id")
    (alert_id,) = post(connection, now, [Outgoing(channel_id, None, None, channel["project"], message)])
    return read_alert(connection, alert_id, within)


def is_due(connection: Connection, now: datetime) -> bool:
    """Whether :func:`claim` may find something."""
    return connection.execute(select(tables.alert.c.alert_id).where(_due(now)).limit(1)).first() is not None


def claim(connection: Connection, now: datetime, sender: str) -> Claimed | None:
    """Lease the message that has been due longest, of a channel that no other message is being sent to.

    ``None``: there is none.
    """
    alert, channel = tables.alert.c, tables.channel.c
    busy = tables.alert.alias("busy").c
    is_busy = select(busy.alert_id).where(
        busy.channel_id == alert.channel_id, busy.due_at.is_not(None), _is_leased(busy.sender_until, now)
    )
    first = (
        select(alert.alert_id, alert.message, alert.made_at, alert.attempts, alert.channel_id)
        .where(_due(now), ~is_busy.exists())
        .order_by(alert.due_at, alert.alert_id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    row = connection.execute(first).mappings().first()
    if row is None:
        return None
    of_channel = select(channel.kind, channel.sealed).where(channel.channel_id == row["channel_id"])
    where = connection.execute(of_channel).mappings().one()
    leased = update(tables.alert).where(alert.alert_id == row["alert_id"])
    connection.execute(leased.values(sender=sender, sender_until=now + LEASE))
    return Claimed(**{**row, "message": AlertMessage.model_validate(row["message"])}, **where)


def note_sent(connection: Connection, now: datetime, claimed: Claimed, but: str | None = None) -> None:
    """``but``: who did not get it."""
    done = {"attempts": claimed.attempts + 1, "due_at": None, "sent_at": now, "error": but}
    _note(connection, claimed, done)


def note_failed(
    connection: Connection,
    now: datetime,
    claimed: Claimed,
    why: str,
    *,
    is_final: bool = False,
    wait: timedelta | None = None,
) -> bool:
    """Plan the next attempt, of other messages to this channel too: what fails for one fails for all. ``False``: there
    is none. ``why``: in words without secrets. ``is_final``: it would fail again. ``wait``: asked for by the receiver.
    """
    is_late = claimed.attempts >= len(BACKOFF) or now - claimed.made_at >= MOST_AGE
    is_over = is_final or claimed.message.kind == "test" or is_late
    due_at = None if is_over else now + min(max(BACKOFF[claimed.attempts], wait or timedelta()), LONGEST_WAIT)
    _note(connection, claimed, {
        "attempts": claimed.attempts + 1, "due_at": due_at, "error": why[:MOST_ERROR],
    })  # fmt: skip
    if due_at is not None:
        alert = tables.alert.c
        others = (alert.channel_id == claimed.channel_id, alert.due_at < due_at, alert.rule_id.is_not(None))
        connection.execute(update(tables.alert).where(*others).values(due_at=due_at))
    return due_at is not None


def _note(connection: Connection, claimed: Claimed, values: Mapping[str, object]) -> None:
    """Of one whose channel was removed meanwhile nothing is tried again."""
    alert = tables.alert.c
    known = update(tables.alert).where(alert.alert_id == claimed.alert_id, alert.due_at.is_not(None))
    connection.execute(known.values(sender=None, sender_until=None, **values))


def _due(now: datetime) -> ColumnElement[bool]:
    """Or due later than any can be: planned before the clock was set back."""
    alert = tables.alert.c
    is_now = or_(alert.due_at <= now, alert.due_at > now + 1.5 * LONGEST_WAIT)
    return and_(alert.due_at.is_not(None), is_now, not_(_is_leased(alert.sender_until, now)))


def _is_leased(until: ColumnElement[Any], now: datetime) -> ColumnElement[bool]:
    """One that ends later than any can was taken before the clock was set back, and is void."""
    return func.coalesce(until.between(now, now + 1.5 * LEASE), false())


def _shown() -> Select[Any]:
    names = [name for name in Alert.model_fields if name not in ("channel", "state")]
    columns = [tables.alert.c[name] for name in names]
    its_channel = tables.channel.c.channel_id == tables.alert.c.channel_id
    return select(*columns, tables.channel.c.name.label("channel")).outerjoin(tables.channel, its_channel)


def _alert(row: RowMapping) -> Alert:
    is_over = row["due_at"] is None
    return Alert(**row, state="sent" if row["sent_at"] is not None else "failed" if is_over else "waiting")


def read_alerts(connection: Connection, within: Projects, limit: int, cursor: str | None) -> AlertsPage:
    """The newest first.

    Raises:
        InvalidError: no such cursor.
    """
    alert = tables.alert.c
    statement = _shown().where(tables.is_of(alert.project, within))
    if cursor is not None:
        if len(cursor) != 32 or not set(cursor) <= set("0123456789abcdef"):
            raise InvalidError("cursor: this service did not issue it", field="cursor")
        statement = statement.where(bytewise(alert.alert_id) < cursor)
    rows = connection.execute(statement.order_by(bytewise(alert.alert_id).desc()).limit(limit + 1)).mappings()
    found = [_alert(row) for row in rows]
    return AlertsPage(alerts=found[:limit], next_cursor=found[limit - 1].alert_id if len(found) > limit else None)


def read_alert(connection: Connection, alert_id: str, within: Projects) -> Alert:
    """Raises:
    NotFoundError: there is no such message.
    """
    alert = tables.alert.c
    statement = _shown().where(alert.alert_id == alert_id, tables.is_of(alert.project, within))
    row = connection.execute(statement).mappings().first()
    if row is None:
        raise NotFoundError(f"there is no alert {alert_id!r}", field="alert_id")
    return _alert(row)


def trim_alerts(connection: Connection, now: datetime, keep: timedelta) -> int:
    """Delete messages that are older and wait for nothing. Returns how many they were."""
    alert = tables.alert.c
    return connection.execute(delete(tables.alert).where(alert.made_at < now - keep, alert.due_at.is_(None))).rowcount
