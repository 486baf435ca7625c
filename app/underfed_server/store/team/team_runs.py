"""What runs are grouped by across a team: projects, users, losses, causes, places, times; and what advice gained."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Column, ColumnElement, Connection, Row, RowMapping, Select, and_, case, func, select

from underfed_server.model import BestAdvice, LedgerEntry, ProjectInfo, StorageKind, UserInfo
from underfed_server.names import CauseName, Projects
from underfed_server.store.databases import tables
from underfed_server.store.runs.removed_runs import are_gone
from underfed_server.store.runs.summaries import run_row

Columns = tuple[Column[Any], ...]

MOST_AT_ONCE = 5_000
"""Runs in one database query: a statement has no more than some ten thousand values."""


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
    """A mount with data of a run's judged loader. ``device`` of a network mount names it on every host alike.
    ``files_seen``: by all ranks of the host.
    """

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
    """Of its name and its last loader's settings nothing is left, nor of what its hosts are."""
    places = row["places"]
    missing = {"name": "", "edited_name": None, "last_seen_at": row["ended_at"], "archived_at": None}
    hostnames = {rank["rank"]: rank["hostname"] for rank in places["ranks"]}
    counts = Counter(hostname for hostname in hostnames.values() if hostname)
    files: Counter[MountUse] = Counter()
    for each in places["mounts"]:
        of_host = MountUse(hostnames.get(each["rank"]), each["mount"], each["device"], each["kind"])
        files[of_host] += each["files_seen"]
    mounts = [replace(mount, files_seen=count) for mount, count in files.items()]
    info = places["loaders"][0]["info"] if places["loaders"] else {}
    hosts = [_host(hostname, ranks, {}) for hostname, ranks in counts.items()]
    return _team_run({**row, **missing, "deleted_at": row["ended_at"]}, hosts, mounts, info)


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
    ranks, mounts, loaders = (_by_run(connection, statement, run_ids) for statement in (_RANKS, _MOUNTS, _LOADERS))
    last = sorted({each.last for of_run in ranks.values() for each in of_run if each.last is not None})
    facts = _by_run(connection, _FACTS.where(_rank.rank.in_(last)), run_ids)
    found = []
    for row in rows:
        run_id = row["run_id"]
        said = {each.rank: each.host for each in facts[run_id]}
        hosts = [_host(each.hostname, each.ranks, said.get(each.last) or {}) for each in ranks[run_id]]
        info = loaders[run_id][0].info if loaders[run_id] else {}
        seen = [MountUse(of.hostname, of.mount, of.device, of.kind, of.files_seen) for of in mounts[run_id]]
        found.append(_team_run(row, hosts, seen, info))
    return found


# Not whole rows, nor one of each rank: reading the others would take most of the time.
_run, _rank, _place, _loader = tables.run.c, tables.rank.c, tables.storage.c, tables.loader.c
_RUN: Columns = (
    _run.run_id, _run.name, _run.edited_name, _run.project, _run.user, _run.cause, _run.hours_lost, _run.hours_used,
    _run.gpu_hours_lost, _run.started_at, _run.ended_at, _run.last_seen_at, _run.best_advice, _run.archived_at,
    _run.deleted_at,
)  # fmt: skip
_HOST = _rank.run_id, _rank.hostname
_LAST = func.max(case((_rank.host.is_not(None), _rank.rank))).label("last")
"""All ranks of a host say the same of it; the last is read."""
_RANKS = (
    select(*_HOST, func.count().label("ranks"), _LAST).where(_rank.hostname != "").group_by(*_HOST).order_by(*_HOST)
)
_FACTS = select(_rank.run_id, _rank.rank, _rank.host)
_MOUNT = _place.run_id, _rank.hostname, _place.mount, _place.device, _place.kind
_MOUNTS = (
    select(*_MOUNT, func.sum(_place.files_seen).cast(BigInteger).label("files_seen"))
    .join(tables.run, and_(_run.run_id == _place.run_id, _run.loader == _place.loader))
    .outerjoin(tables.rank, and_(_rank.run_id == _place.run_id, _rank.rank == _place.rank))
    .group_by(*_MOUNT)
    .order_by(*_MOUNT)
)
_LOADERS = select(_loader.run_id, _loader.info).join(
    tables.run, and_(_run.run_id == _loader.run_id, _run.loader == _loader.loader)
)


def _by_run(connection: Connection, statement: Select[Any], run_ids: Sequence[str]) -> Mapping[str, list[Row[Any]]]:
    found: dict[str, list[Row[Any]]] = defaultdict(list)
    for first in range(0, len(run_ids), MOST_AT_ONCE):
        part = run_ids[first : first + MOST_AT_ONCE]
        for row in connection.execute(statement.where(statement.selected_columns.run_id.in_(part))):
            found[row.run_id].append(row)
    return found


def _team_run(
    row: Mapping[str, Any] | RowMapping, hosts: Iterable[HostUse], mounts: Iterable[MountUse], info: Mapping[str, Any]
) -> TeamRun:
    """``info``: of its judged loader."""
    return TeamRun(
        **{name: row[name] for name in ("run_id", "project", "user", "cause", "started_at")},
        name=row["name"] if row["edited_name"] is None else row["edited_name"],
        hours_lost=row["hours_lost"] or 0.0,
        hours_used=row["hours_used"] or 0.0,
        ended_at=row["ended_at"] or row["last_seen_at"],
        hosts=tuple(hosts),
        mounts=tuple(mounts),
        dataset_type=info.get("dataset_type"),
        best_advice=None if row["best_advice"] is None else BestAdvice.model_validate(row["best_advice"]),
        on_gpu=row["gpu_hours_lost"] is not None,
        is_listed=row["archived_at"] is None and row["deleted_at"] is None,
    )


def _host(hostname: str, ranks: int, facts: Mapping[str, Any]) -> HostUse:
    cores, limit, memory = facts.get("cpu_count"), facts.get("memory_limit_bytes"), facts.get("memory_total_bytes")
    return HostUse(
        hostname=hostname,
        ranks=ranks,
        shares_cores=bool(cores) and facts.get("quota_cores") is None and facts.get("allowed_cpus") in (None, cores),
        shares_memory=bool(memory) and (limit is None or limit >= memory),
    )
