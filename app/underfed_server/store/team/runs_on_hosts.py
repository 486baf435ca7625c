"""Which runs were on which host, and what is known of the host: what the page of hosts is made of."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Connection, Text, cast, func, select

from underfed_server.model import Device, HostRun
from underfed_server.names import Projects
from underfed_server.store.databases import tables
from underfed_server.store.runs.searching import NAME
from underfed_server.store.runs.status import status_column


class RunOnHost(HostRun):
    """A run, as far as it is on one host; what it uses there is not looked up yet."""

    hostname: str
    own_cores: float | None = None

    @property
    def is_running(self) -> bool:
        return self.status == "running"


@dataclass(frozen=True, slots=True)
class RankOnHost:
    """One rank, and what it reported of its host."""

    run_id: str
    rank: int
    hostname: str
    facts: Mapping[str, Any]
    devices: Sequence[Device]
    not_measured: Mapping[str, str]


def read_runs_on_hosts(
    connection: Connection,
    since: datetime,
    now: datetime,
    *,
    until: datetime | None = None,
    hostname: str | None = None,
    projects: Projects = None,
) -> list[RunOnHost]:
    """Runs that lived since then on any host, or on this one, the newest first; archived ones included."""
    run, rank = tables.run.c, tables.rank.c
    there = select(rank.run_id, rank.hostname, func.count().label("ranks")).where(rank.hostname.is_not(None))
    if hostname is not None:
        there = there.where(rank.hostname == hostname)
    each = there.group_by(rank.run_id, rank.hostname).subquery()
    judged = (run.bound, run.level, run.is_mostly_paused, run.cause, run.data_stall_fraction)
    same = (run.run_id, run.user, *judged, run.started_at)
    ended_at = func.coalesce(run.ended_at, run.last_seen_at)
    statement = select(
        *same, NAME.label("name"), ended_at.label("ended_at"), status_column(now).label("status"),
        each.c.hostname, each.c.ranks,
    ).join(each, each.c.run_id == run.run_id)  # fmt: skip
    statement = statement.where(run.deleted_at.is_(None), ended_at >= since, tables.of_projects(projects))
    if until is not None:
        statement = statement.where(run.started_at <= until)
    rows = connection.execute(statement.order_by(ended_at.desc(), run.run_id)).mappings()
    return [RunOnHost(**row) for row in rows]


_rank = tables.rank.c
_ALIKE = (
    _rank.run_id, _rank.hostname,
    *(cast(column, Text).label(column.name) for column in (_rank.host, _rank.devices, _rank.not_measured)),
)  # fmt: skip
_RANKS = select(*_ALIKE, func.aggregate_strings(cast(_rank.rank, Text), ",").label("ranks"))


def read_ranks_on_hosts(connection: Connection, run_ids: Iterable[str]) -> list[RankOnHost]:
    """All ranks of these runs whose host is known."""
    # Most of what ranks of a run report of their host is the same, word for word: these are one row, as SQLite's driver
    # lets others have the interpreter at each, and each text is decoded once.
    facts, devices = cache(_decoded), cache(lambda text: tuple(Device(**each) for each in _decoded(text)))
    asked = _RANKS.where(_rank.run_id.in_(list(run_ids)), _rank.hostname.is_not(None)).group_by(*_ALIKE)
    found = [
        RankOnHost(
            row.run_id, int(rank), row.hostname, facts(row.host) or {}, devices(row.devices), facts(row.not_measured)
        )
        for row in connection.execute(asked)
        for rank in row.ranks.split(",")
    ]
    return sorted(found, key=lambda each: (each.run_id, each.rank))


def _decoded(text: str | None) -> Any:
    return None if text is None else json.loads(text)
