"""What runs are grouped by across a team: projects, users, losses, causes, places, times; and what advice gained."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, RowMapping, and_, func, select

from underfed_server.model import BestAdvice, LedgerEntry, ProjectInfo, StorageKind, UserInfo
from underfed_server.names import CauseName
from underfed_server.store.databases import tables
from underfed_server.store.runs.summaries import run_row

Columns = tuple[Column[Any], ...]


@dataclass(frozen=True, slots=True)
class HostUse:
    """A host with ranks of a run on it."""

    hostname: str
    ranks: int
    shares_cores: bool
    """Whether affinity and cgroup quota let it use every core of the machine: others compete for them."""
    shares_memory: bool


@dataclass(frozen=True, slots=True)
class MountUse:
    """A mount with data of a run's judged loader. ``device`` of a network mount names it on every host alike."""

    hostname: str | None
    mount: str
    device: str | None
    kind: StorageKind
    files_seen: int = 0


@dataclass(frozen=True, slots=True)
class TeamRun:
    """One run. Hours are those of its last verdict."""

    run_id: str
    name: str
    project: str
    user: str
    cause: CauseName | None
    hours_lost: float
    hours_used: float
    started_at: datetime
    ended_at: datetime
    """Or last seen."""
    hosts: tuple[HostUse, ...]
    mounts: tuple[MountUse, ...]
    dataset_type: str | None = None
    """Of the judged loader."""
    best_advice: BestAdvice | None = None
    on_gpu: bool = False
    """Whether its ranks compute on GPUs."""


def read_team_runs(connection: Connection, since: datetime, cause: CauseName | None = None) -> list[TeamRun]:
    """Judged runs that lived since then and are in the list, oldest first; of any leading cause, or of this one."""
    run = tables.run.c
    is_recent = func.coalesce(run.ended_at, run.last_seen_at) >= since
    is_listed = and_(run.deleted_at.is_(None), run.archived_at.is_(None))
    statement = select(*_RUN).where(is_recent, is_listed, run.hours_lost.is_not(None), run.hours_used.is_not(None))
    if cause is not None:
        statement = statement.where(run.cause == cause)
    return _team_runs(connection, connection.execute(statement.order_by(run.started_at, run.run_id)).mappings().all())


def read_team_run(connection: Connection, run_id: str) -> TeamRun:
    """One run, judged or not.

    Raises:
        NotFoundError: there is no such run.
    """
    return _team_runs(connection, [run_row(connection, run_id)])[0]


def read_proven(
    connection: Connection,
    project: str | None = None,
    *,
    hostnames: Collection[str] | None = None,
    newest: int | None = None,
) -> list[LedgerEntry]:
    """What each run that carried advice gained by it, oldest first: of all runs, of one project, or of some hosts.

    ``newest``: only so many of them.
    """
    run, judged, rank = tables.run.c, tables.diagnosis.c, tables.rank.c
    statement = select(run.run_id, judged.body).join(tables.diagnosis, judged.run_id == run.run_id)
    statement = statement.where(run.deleted_at.is_(None), tables.of_project(project))
    if hostnames is not None:
        statement = statement.where(run.run_id.in_(select(rank.run_id).where(rank.hostname.in_(hostnames))))
    statement = statement.where(run.observed_speedup.is_not(None)).order_by(run.started_at.desc()).limit(newest)
    found = []
    for run_id, body in reversed(connection.execute(statement).all()):
        entries = (LedgerEntry.model_validate(entry) for entry in json.loads(body)["ledger"])
        found += [entry for entry in entries if entry.run_id == run_id and entry.observed_speedup is not None]
    return found


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


def _team_runs(connection: Connection, rows: Sequence[RowMapping]) -> list[TeamRun]:
    run_ids = [row["run_id"] for row in rows]
    ranks, places, loaders = (_by_run(connection, columns, run_ids) for columns in (_RANK, _PLACE, _LOADER))
    return [_team_run(row, *(beside.get(row["run_id"], []) for beside in (ranks, places, loaders))) for row in rows]


# Not whole rows: reading the other columns would take most of the time.
_run, _rank, _place, _loader = tables.run.c, tables.rank.c, tables.storage.c, tables.loader.c
_RUN: Columns = (
    _run.run_id, _run.name, _run.edited_name, _run.project, _run.user, _run.cause, _run.hours_lost, _run.hours_used,
    _run.gpu_hours_lost, _run.started_at, _run.ended_at, _run.last_seen_at, _run.loader, _run.best_advice,
)  # fmt: skip
_RANK: Columns = (_rank.run_id, _rank.rank, _rank.hostname, _rank.host)
_PLACE: Columns = (
    _place.run_id, _place.rank, _place.loader, _place.mount, _place.device, _place.kind, _place.files_seen,
)  # fmt: skip
_LOADER: Columns = (_loader.run_id, _loader.loader, _loader.info)


def _by_run(connection: Connection, columns: Columns, run_ids: Iterable[str]) -> Mapping[str, list[RowMapping]]:
    found: dict[str, list[RowMapping]] = defaultdict(list)
    for row in connection.execute(select(*columns).where(columns[0].in_(list(run_ids)))).mappings():
        found[row["run_id"]].append(row)
    return found


def _team_run(
    row: RowMapping, ranks: Sequence[RowMapping], places: Sequence[RowMapping], loaders: Sequence[RowMapping]
) -> TeamRun:
    hostnames = {rank["rank"]: rank["hostname"] for rank in ranks}
    mounts = (
        MountUse(hostnames.get(place["rank"]), place["mount"], place["device"], place["kind"], place["files_seen"])
        for place in places
        if place["loader"] == row["loader"]
    )
    judged = (each for each in loaders if each["loader"] == row["loader"])
    return TeamRun(
        **{name: row[name] for name in ("run_id", "project", "user", "cause", "started_at")},
        name=row["name"] if row["edited_name"] is None else row["edited_name"],
        hours_lost=row["hours_lost"] or 0.0,
        hours_used=row["hours_used"] or 0.0,
        ended_at=row["ended_at"] or row["last_seen_at"],
        hosts=_hosts(ranks),
        mounts=tuple(dict.fromkeys(mounts)),
        dataset_type=next((each["info"].get("dataset_type") for each in judged), None),
        best_advice=None if row["best_advice"] is None else BestAdvice.model_validate(row["best_advice"]),
        on_gpu=row["gpu_hours_lost"] is not None,
    )


def _hosts(ranks: Sequence[RowMapping]) -> tuple[HostUse, ...]:
    """One rank of a host reports its facts."""
    facts = {rank["hostname"]: rank["host"] for rank in ranks if rank["host"]}
    counts: dict[str, int] = defaultdict(int)
    for rank in ranks:
        if rank["hostname"]:
            counts[rank["hostname"]] += 1
    return tuple(_host(hostname, count, facts.get(hostname) or {}) for hostname, count in counts.items())


def _host(hostname: str, ranks: int, facts: Mapping[str, Any]) -> HostUse:
    cores, limit, memory = facts.get("cpu_count"), facts.get("memory_limit_bytes"), facts.get("memory_total_bytes")
    return HostUse(
        hostname=hostname,
        ranks=ranks,
        shares_cores=bool(cores) and facts.get("quota_cores") is None and facts.get("allowed_cpus") in (None, cores),
        shares_memory=bool(memory) and (limit is None or limit >= memory),
    )
