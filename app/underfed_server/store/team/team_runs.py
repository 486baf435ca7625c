"""What runs are grouped by across a team: projects, users, losses, causes, places, times; and what advice gained."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, RowMapping, Select, case, func, select

from underfed_server.model import BestAdvice, LedgerEntry, ProjectInfo, StorageKind, UserInfo
from underfed_server.names import CauseName, Projects
from underfed_server.store.databases import tables
from underfed_server.store.runs.removed_runs import are_gone
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
    is_listed: bool = True
    """Neither archived nor deleted."""


def read_team_runs(connection: Connection, since: datetime, causes: Collection[CauseName]) -> list[TeamRun]:
    """Judged runs that lived since then, are in the list and have one of these leading causes, oldest first."""
    run = tables.run.c
    statement = _judged(since).where(run.deleted_at.is_(None), run.archived_at.is_(None), run.cause.in_(causes))
    return _team_runs(connection, connection.execute(statement).mappings().all())


def read_history(connection: Connection, since: datetime) -> list[TeamRun]:
    """All judged runs that lived since then, archived, deleted and removed ones too, oldest first."""
    removed = tables.removed_run
    gone = select(removed).where(removed.c.ended_at >= since, are_gone(None))
    found = _team_runs(connection, connection.execute(_judged(since)).mappings().all())
    found += [_removed(row) for row in connection.execute(gone).mappings()]
    return sorted(found, key=lambda each: (each.started_at, each.run_id))


def _judged(since: datetime) -> Select[Any]:
    run = tables.run.c
    is_recent = func.coalesce(run.ended_at, run.last_seen_at) >= since
    statement = select(*_RUN).where(is_recent, run.hours_lost.is_not(None), run.hours_used.is_not(None))
    return statement.order_by(run.started_at, run.run_id)


def _removed(row: RowMapping) -> TeamRun:
    """Of its name and its last loader's settings nothing is left."""
    places = row["places"]
    missing = {"name": "", "edited_name": None, "last_seen_at": row["ended_at"], "archived_at": None}
    judged = next((each["loader"] for each in (*places["loaders"], *places["mounts"])), None)
    of_run = {**row, **missing, "deleted_at": row["ended_at"], "loader": judged}
    return _team_run(of_run, [{"host": None, **each} for each in places["ranks"]], places["mounts"], places["loaders"])


def read_team_run(connection: Connection, run_id: str) -> TeamRun:
    """One run, judged or not.

    Raises:
        NotFoundError: there is no such run.
    """
    return _team_runs(connection, [run_row(connection, run_id)])[0]


def read_proven(connection: Connection, projects: Projects = None) -> list[LedgerEntry]:
    """What each run gained by the advice that it carried, or kept as it tuned itself, oldest first: of all runs,
    deleted and removed ones too, or of these projects.
    """
    run, judged = tables.run.c, tables.diagnosis.c
    statement = select(run.run_id, judged.body).join(tables.diagnosis, judged.run_id == run.run_id)
    statement = statement.where(tables.of_projects(projects), run.observed_speedup.is_not(None))
    found = _removed_proofs(connection, projects)
    for run_id, body in connection.execute(statement.order_by(run.started_at)):
        entries = (LedgerEntry.model_validate(entry) for entry in json.loads(body)["ledger"])
        found += [entry for entry in entries if entry.run_id == run_id and entry.observed_speedup is not None]
    return found


def _removed_proofs(connection: Connection, projects: Projects) -> list[LedgerEntry]:
    removed = tables.removed_run.c
    rows = connection.execute(select(removed.ledger).where(are_gone(projects)).order_by(removed.started_at)).scalars()
    return [LedgerEntry.model_validate(entry) for ledger in rows for entry in ledger]


def read_projects(connection: Connection, within: Projects = None) -> list[ProjectInfo]:
    """By name; ``within``: only these projects."""
    return [ProjectInfo(**row) for row in _grouped(connection, tables.run.c.project, within)]


def read_users(connection: Connection, within: Projects = None) -> list[UserInfo]:
    """By name; ``within``: only users with runs in these projects."""
    return [UserInfo(**row) for row in _grouped(connection, tables.run.c.user, within)]


def _grouped(connection: Connection, column: Column[Any], within: Projects) -> list[dict[str, Any]]:
    """With at least one run that was not deleted. Hours are of deleted and removed runs too: they were lost."""
    run, removed = tables.run.c, tables.removed_run.c
    is_there = run.deleted_at.is_(None)
    present = func.count(case((is_there, 1)))
    figures: tuple[ColumnElement[Any], ...] = (
        present.label("runs"),
        func.count(case((is_there, run.archived_at))).label("archived_runs"),
        func.max(case((is_there, run.last_seen_at))).label("last_seen_at"),
        *_hours(run.hours_lost, run.hours_used),
    )
    statement = select(column, *figures).where(tables.of_projects(within)).group_by(column).having(present > 0)
    past = select(removed[column.name], *_hours(removed.hours_lost, removed.hours_used)).where(are_gone(within))
    gone = {row[0]: row for row in connection.execute(past.group_by(removed[column.name]))}
    found = [dict(row) for row in connection.execute(statement).mappings()]
    for each in found:
        if (lost := gone.get(each[column.name])) is not None:
            each["hours_lost"] += lost.hours_lost
            each["hours_used"] += lost.hours_used
    return sorted(found, key=lambda each: str(each[column.name]))


def _hours(lost: Column[Any], used: Column[Any]) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    return func.coalesce(func.sum(lost), 0.0).label("hours_lost"), func.coalesce(func.sum(used), 0.0).label(
        "hours_used"
    )


def _team_runs(connection: Connection, rows: Sequence[RowMapping]) -> list[TeamRun]:
    run_ids = [row["run_id"] for row in rows]
    ranks, places, loaders = (_by_run(connection, columns, run_ids) for columns in (_RANK, _PLACE, _LOADER))
    return [_team_run(row, *(beside.get(row["run_id"], []) for beside in (ranks, places, loaders))) for row in rows]


# Not whole rows: reading the other columns would take most of the time.
_run, _rank, _place, _loader = tables.run.c, tables.rank.c, tables.storage.c, tables.loader.c
_RUN: Columns = (
    _run.run_id, _run.name, _run.edited_name, _run.project, _run.user, _run.cause, _run.hours_lost, _run.hours_used,
    _run.gpu_hours_lost, _run.started_at, _run.ended_at, _run.last_seen_at, _run.loader, _run.best_advice,
    _run.archived_at, _run.deleted_at,
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


Row = RowMapping | Mapping[str, Any]


def _team_run(row: Row, ranks: Sequence[Row], places: Sequence[Row], loaders: Sequence[Row]) -> TeamRun:
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
        is_listed=row["archived_at"] is None and row["deleted_at"] is None,
    )


def _hosts(ranks: Sequence[Row]) -> tuple[HostUse, ...]:
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
