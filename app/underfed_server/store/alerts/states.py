"""What a rule knows of a run: since when its condition has held, and what its alerts were about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime

from sqlalchemy import Connection, RowMapping, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from underfed_server.model import AlertMessage, Bound, Condition
from underfed_server.store.alerts.outbox import Outgoing, post
from underfed_server.store.databases import tables
from underfed_server.store.runs.status import LOST_AFTER


@dataclass(frozen=True, slots=True)
class RuleState:
    """``version`` 0: nothing is known yet."""

    version: int = 0
    since_at: datetime | None = None
    """The condition has held since then."""
    clear_at: datetime | None = None
    """After an alert: it no longer has since then."""
    is_raised: bool = False
    """An alert was sent, and nothing since."""
    told: Mapping[str, datetime] = field(default_factory=dict)
    """By cause, rank or host: the last alert about it."""
    bound: Bound | None = None
    """The verdict that was last known, for changes of it."""
    held: Mapping[str, datetime] = field(default_factory=dict)
    """By cause, rank or host that the condition holds by and that had no alert: since when. Known while another had
    one lately."""


@dataclass(frozen=True, slots=True)
class StateChange:
    """What a rule knows from now on, and the message that is due with it."""

    rule_id: str
    before: RuleState
    after: RuleState
    channel_id: str
    project: str | None
    message: AlertMessage | None


def read_states(connection: Connection, run_id: str) -> dict[str, RuleState]:
    """By rule."""
    state = tables.alert_state
    rows = connection.execute(select(state).where(state.c.run_id == run_id)).mappings()
    return {row["rule_id"]: _state(row) for row in rows}


def waiting_states(connection: Connection, condition: Condition) -> list[str]:
    """Runs for which a rule of this condition waits until it has held for long enough, of another host too."""
    state, rule = tables.alert_state.c, tables.alert_rule.c
    statement = select(state.run_id).join(tables.alert_rule, rule.rule_id == state.rule_id)
    waits = or_(state.is_raised.is_(False), state.held.is_not(None))
    of_rule = (rule.condition == condition, state.since_at.is_not(None), waits)
    return list(connection.execute(statement.where(*of_rule).distinct()).scalars())


def save_states(connection: Connection, now: datetime, run_id: str, changes: Sequence[StateChange]) -> int:
    """Save what rules know of the run, and queue the messages that are due, together. Returns how many were queued.

    Of two processes that change the same state, the second changes and sends nothing.
    """
    outgoing = [
        Outgoing(change.channel_id, change.rule_id, run_id, change.project, change.message)
        for change in changes
        if _is_saved(connection, run_id, change) and change.message is not None
    ]
    post(connection, now, outgoing)
    return len(outgoing)


def _is_saved(connection: Connection, run_id: str, change: StateChange) -> bool:
    state, before, row = tables.alert_state, change.before, _row(change.after, change.before.version + 1)
    if before.version:
        is_known = (state.c.run_id == run_id, state.c.rule_id == change.rule_id, state.c.version == before.version)
        return bool(connection.execute(update(state).where(*is_known).values(row)).rowcount)
    try:
        with connection.begin_nested():
            connection.execute(insert(state), {"run_id": run_id, "rule_id": change.rule_id, **row})
    except IntegrityError:
        return False
    return True


def _state(row: RowMapping) -> RuleState:
    same = {each.name: row[each.name] for each in fields(RuleState)}
    return RuleState(**same | {"told": _instants(row["told"]), "held": _instants(row["held"] or {})})


def _row(state: RuleState, version: int) -> dict[str, object]:
    return asdict(state) | {"version": version, "told": _unix(state.told), "held": _unix(state.held) or None}


def _instants(by_subject: Mapping[str, int]) -> dict[str, datetime]:
    return {subject: tables.UNIX_EPOCH + us * tables.MICROSECOND for subject, us in by_subject.items()}


def _unix(by_subject: Mapping[str, datetime]) -> dict[str, int]:
    return {subject: tables.unix_us(at) for subject, at in by_subject.items()}


@dataclass(frozen=True, slots=True)
class HostSigns:
    """What one host of a run last gave."""

    hostname: str
    end_us: int
    """The end of its last window, by the clock of the run there."""
    is_open: bool
    """A rank of it has not reported its end."""


def read_host_signs(connection: Connection, run_id: str) -> list[HostSigns]:
    """By host name; ranks that name no host are not among them."""
    rank, stream = tables.rank.c, tables.stream.c
    statement = (
        select(rank.hostname, func.max(stream.end_us), func.count().filter(stream.end_status.is_(None)))
        .join(
            tables.stream,
            (stream.run_id == rank.run_id) & (stream.rank == rank.rank) & (stream.incarnation == rank.incarnation),
        )
        .where(rank.run_id == run_id, rank.hostname.is_not(None))
        .group_by(rank.hostname)
        .order_by(rank.hostname)
    )
    return [HostSigns(name, int(end_us), bool(open_)) for name, end_us, open_ in connection.execute(statement)]


def hosts_seen_in_others(connection: Connection, now: datetime, run_id: str, hostnames: Sequence[str]) -> set[str]:
    """Those on which another run has ranks that was seen just now."""
    rank, run = tables.rank.c, tables.run.c
    statement = (
        select(rank.hostname)
        .join(tables.run, run.run_id == rank.run_id)
        .where(rank.hostname.in_(hostnames), rank.run_id != run_id, run.last_seen_at >= now - LOST_AFTER)
    )
    return set(connection.execute(statement).scalars())
