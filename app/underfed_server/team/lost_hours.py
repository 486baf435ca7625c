"""Totals of a team: what its runs lose, who loses most, what advice would save, and how often it was right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from underfed_server.ingest.permission import is_among
from underfed_server.model import GroupHours, Team
from underfed_server.names import Projects
from underfed_server.store.store import Store
from underfed_server.store.team.team_runs import MountUse, TeamRun
from underfed_server.store.team.week import first_of_days
from underfed_server.team.outcomes import Recoverable, hit_rates, recoverable, together
from underfed_server.team.shared_causes import mount_name, shared_causes

DAYS = 7


class Group(NamedTuple):
    """What runs have in common: its name, and how a search finds them."""

    name: str
    search: str | None


class CountedRun(NamedTuple):
    """A run with the share of its hours that counts, and what advice would have saved of all of them."""

    run: TeamRun
    share: float
    saved: Recoverable


Shares = Iterator[tuple[Group, float]]
"""Groups, each with its share of a run."""


def read_team(store: Store, projects: Projects = None) -> Team:
    """Hours are of seven UTC days, today among them, as on the list of runs; hit rates of all time. Archived, deleted
    and removed runs count: what they lost is lost.

    ``projects``: only their runs.
    """
    since = first_of_days(DAYS, store.now())
    team_runs = [run for run in store.team_history(since) if is_among(run.project, projects)]
    counted = [CountedRun(run, _share_since(run, since), recoverable(run)) for run in team_runs]

    def grouped(shares: Callable[[TeamRun], Shares]) -> list[GroupHours]:
        return group_hours(counted, shares)

    total = grouped(lambda _: iter([(Group("", ""), 1.0)]))
    return Team(
        since=since,
        on_gpu=bool(team_runs) and all(run.on_gpu for run in team_runs),
        gpu_hours_lost=sum(run.hours_lost * share for run, share, _ in counted if run.on_gpu),
        hours=total[0] if total else _hours(Group("", ""), []),
        hit_rates=hit_rates(store.proven(projects)),
        shared_causes=shared_causes(run for run in team_runs if run.is_listed),
        projects=grouped(lambda run: iter([(_named("project", run.project), 1.0)])),
        users=grouped(lambda run: iter([(_named("user", run.user), 1.0)])),
        datasets=grouped(lambda run: iter([(_dataset(run), 1.0)])),
        mounts=grouped(_mount_shares),
        hosts=grouped(_host_shares),
    )


def group_hours(counted: Sequence[CountedRun], shares: Callable[[TeamRun], Shares]) -> list[GroupHours]:
    """Most hours lost first. A run's hours are spread evenly over its life."""
    members: dict[Group, list[CountedRun]] = defaultdict(list)
    for each in counted:
        for group, share in shares(each.run):
            members[group].append(CountedRun(each.run, share * each.share, each.saved))
    groups = [_hours(group, runs) for group, runs in members.items()]
    return sorted(groups, key=lambda group: -group.hours_lost)


def _hours(group: Group, members: Sequence[CountedRun]) -> GroupHours:
    saved = together((share, saved) for _, share, saved in members)
    return GroupHours(
        name=group.name,
        runs=len({run.run_id for run, _, _ in members}),
        hours_lost=sum(share * run.hours_lost for run, share, _ in members),
        hours_used=sum(share * run.hours_used for run, share, _ in members),
        hours_recoverable=saved.hours,
        hours_recoverable_low=saved.low,
        hours_recoverable_high=saved.high,
        search=group.search,
    )


def _named(key: str, name: str) -> Group:
    return Group(name, written(key, name))


def written(key: str, value: str) -> str | None:
    """As a term of a search expression (docs/search.md). ``None``: a quote cannot be written between quotes."""
    return None if '"' in value else f'{key}="{value}"'


def _dataset(run: TeamRun) -> Group:
    """By class and by the place of most of its files: one class may read many data sets."""
    mount = max(run.mounts, key=lambda mount: mount.files_seen, default=None)
    kind = run.dataset_type
    if kind is None and mount is None:
        return Group("", None)
    place = None if mount is None else _lies_at(mount)
    terms = [written("dataset", kind) if kind else "", written("mount", place) if place else ""]
    search = None if None in terms else " ".join(term for term in terms if term)
    return Group(" at ".join(filter(None, (kind or "data", place))), search)


def _lies_at(mount: MountUse) -> str:
    """The device where its name is the same on every host; else the mount point."""
    return mount.device or mount.mount if mount.kind == "network" else mount.mount


def _mount_shares(run: TeamRun) -> Shares:
    """By the files seen on each mount, without mounts in memory, which runs do not share."""
    named = [(name, mount) for mount in run.mounts if (name := mount_name(mount))]
    files = sum(max(1, mount.files_seen) for _, mount in named)
    for name, mount in named:
        yield Group(name, _found_at(mount)), max(1, mount.files_seen) / files


def _found_at(mount: MountUse) -> str | None:
    terms = [written("mount", _lies_at(mount))]
    if mount.kind != "network" and mount.hostname is not None:
        terms.append(written("host", mount.hostname))
    return None if None in terms else " ".join(term for term in terms if term)


def _host_shares(run: TeamRun) -> Shares:
    ranks = sum(host.ranks for host in run.hosts)
    return ((_named("host", host.hostname), host.ranks / ranks) for host in run.hosts)


def _share_since(run: TeamRun, since: datetime) -> float:
    life = run.ended_at - run.started_at
    return (run.ended_at - max(run.started_at, since)) / life if life > timedelta() else 1.0
