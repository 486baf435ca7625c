"""The team at a glance: what runs lose together, who loses most, and how advice has come true."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, time, timedelta, timezone

from underfed_server.model import GroupHours, Team
from underfed_server.store.sightings import Sighting
from underfed_server.store.store import Store
from underfed_server.team.hits import hit_rates
from underfed_server.team.shared import shared_causes

DAYS = 7
Shares = Iterator[tuple[str, float]]
"""Names, with the share of a run that is theirs."""


def read_team(store: Store, project: str | None = None) -> Team:
    """Hours are of seven UTC days, today among them, as on the list of runs; hit rates of all time.

    ``project``: what runs of others show is left out.
    """
    since = week_start(store.now())
    sightings = [run for run in store.sightings(since) if project is None or run.project == project]
    return Team(
        since=since,
        hit_rates=hit_rates(store.proven(project)),
        shared_causes=shared_causes(sightings),
        projects=group_hours(sightings, since, lambda run: iter([(run.project, 1.0)])),
        users=group_hours(sightings, since, lambda run: iter([(run.user, 1.0)])),
        hosts=group_hours(sightings, since, _host_shares),
    )


def week_start(now: datetime) -> datetime:
    return datetime.combine(now.astimezone(timezone.utc).date(), time(), timezone.utc) - timedelta(days=DAYS - 1)


def group_hours(
    sightings: Sequence[Sighting], since: datetime, shares: Callable[[Sighting], Shares]
) -> list[GroupHours]:
    """Most hours lost first. A run's hours are spread evenly over its life; what was before ``since`` is left out."""
    lost: dict[str, float] = defaultdict(float)
    used: dict[str, float] = defaultdict(float)
    for run in sightings:
        recent = _share_since(run, since)
        for name, share in shares(run):
            lost[name] += share * recent * run.hours_lost
            used[name] += share * recent * run.hours_used
    groups = [GroupHours(name=name, hours_lost=lost[name], hours_used=used[name]) for name in used]
    return sorted(groups, key=lambda group: -group.hours_lost)


def _host_shares(run: Sighting) -> Shares:
    ranks = sum(host.ranks for host in run.hosts)
    return ((host.hostname, host.ranks / ranks) for host in run.hosts)


def _share_since(run: Sighting, since: datetime) -> float:
    life = run.ended_at - run.started_at
    return (run.ended_at - max(run.started_at, since)) / life if life > timedelta() else 1.0
