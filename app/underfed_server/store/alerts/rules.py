"""When an alert is due: which condition, of whose runs, and to which channel."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, delete, func, insert, select

from underfed_server.errors import ConflictError, NotFoundError
from underfed_server.model import AlertRule, Condition
from underfed_server.names import Projects
from underfed_server.store.alerts.channels import channel_row
from underfed_server.store.databases import tables
from underfed_server.store.runs.audit_log import AuditOf, Author, add_entry

MOST_RULES = 1_000
"""Of one project, and of those for all projects: all that match a run are looked at with each judgement of it."""

_SHOWN = tuple(tables.alert_rule.c[name] for name in AlertRule.model_fields if name != "condition_label")


@dataclass(frozen=True, slots=True)
class NewRule:
    """What a person asks for."""

    condition: Condition
    threshold: float | None
    for_us: int
    cool_down_us: int
    tells_recovery: bool
    channel_id: str
    project: str | None
    user: str | None
    page_url: str


@dataclass(frozen=True, slots=True)
class RuleInForce:
    """A rule with what only the service needs of it."""

    rule: AlertRule
    page_url: str


def read_rules(connection: Connection, within: Projects) -> list[AlertRule]:
    """The newest first."""
    rule = tables.alert_rule.c
    statement = select(*_SHOWN).where(tables.is_of(rule.project, within)).order_by(rule.made_at.desc(), rule.rule_id)
    return [_rule(row) for row in connection.execute(statement).mappings()]


def rules_in_force(connection: Connection) -> list[RuleInForce]:
    rows = connection.execute(select(*_SHOWN, tables.alert_rule.c.page_url)).mappings()
    return [RuleInForce(_rule(row), row["page_url"]) for row in rows]


def _rule(row: RowMapping | Mapping[str, Any]) -> AlertRule:
    return AlertRule(**{column.name: row[column.name] for column in _SHOWN})


def make_rule(connection: Connection, now: datetime, new: NewRule, within: Projects, by: Author) -> AlertRule:
    """``within``: the projects of whose channels one may be used.

    Raises:
        NotFoundError: there is no such channel.
        ConflictError: the channel is of another project, or there are too many rules.
    """
    channel = channel_row(connection, new.channel_id, within)
    if channel["project"] not in (None, new.project):
        message = f"this channel is for project {channel['project']!r} only"
        raise ConflictError(message, field="channel_id")
    rule = tables.alert_rule.c
    of_same = rule.project.is_(None) if new.project is None else rule.project == new.project
    if (
        connection.execute(select(func.count()).select_from(tables.alert_rule).where(of_same)).scalar_one()
        >= MOST_RULES
    ):
        raise ConflictError(f"there are {MOST_RULES} rules already, which is the most: remove one first")
    row = {"rule_id": f"r{secrets.token_hex(4)}", **asdict(new), "made_by": by.name, "made_at": now}
    connection.execute(insert(tables.alert_rule), row)
    made = _rule(row)
    add_entry(connection, now, by, AuditOf("alert_rule_created", channel["name"], new.project, after=in_words(made)))
    return made


def delete_rule(connection: Connection, now: datetime, rule_id: str, within: Projects, by: Author) -> None:
    """Messages that it has queued are sent. What it knows of runs goes with them.

    Raises:
        NotFoundError: there is no such rule.
    """
    found = next((each for each in read_rules(connection, within) if each.rule_id == rule_id), None)
    if found is None:
        raise NotFoundError(f"there is no rule {rule_id!r}", field="rule_id")
    connection.execute(delete(tables.alert_rule).where(tables.alert_rule.c.rule_id == rule_id))
    channel = channel_row(connection, found.channel_id, None)
    before = in_words(found)
    add_entry(connection, now, by, AuditOf("alert_rule_deleted", channel["name"], found.project, before=before))


def in_words(rule: AlertRule) -> str:
    """``data_bound from 0.2 for 600 s, of ada's runs``, as the audit log has it."""
    parts: Sequence[str] = (
        rule.condition,
        "" if rule.threshold is None else f" from {rule.threshold:g}",
        f" for {rule.for_us / 1e6:g} s" if rule.for_us else "",
        f", of {rule.user}'s runs" if rule.user is not None else "",
    )
    return "".join(parts)
