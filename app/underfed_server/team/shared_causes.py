"""A cause that runs share: at the same time they wait for one mount, or for the cores or the memory of one host."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Literal

from underfed_server.diagnosis.causes import all_causes
from underfed_server.ingest.permission import is_among
from underfed_server.model import Diagnosis, SharedCause, SharedRun
from underfed_server.names import CauseName, Projects
from underfed_server.store.store import Store
from underfed_server.store.team.team_runs import MountUse, TeamRun

TOGETHER_FRACTION = 0.10
"""Share of the shorter run's duration: with less overlap one run just ends as the other begins."""

SharedPlace = tuple[Literal["mount", "host"], str]


def that_are_shared() -> list[CauseName]:
    """Causes that several runs can have together."""
    return [name for name, cause in all_causes().items() if cause.shared is not None]


def read_shared(store: Store, found: Diagnosis, projects: Projects = None) -> list[SharedCause]:
    """Causes that the run of ``found``, which need not be saved yet, shares with others of these projects.

    Raises:
        NotFoundError: there is no such run.
    """
    cause = found.causes[0].cause if found.causes else None
    if cause not in that_are_shared():
        return []
    one = replace(store.team_run(found.run_id), cause=cause, hours_lost=found.hours_lost or 0.0)
    others = store.team_runs(one.started_at, [cause])
    return shared_with(one, (other for other in others if is_among(other.project, projects)))


def shared_causes(team_runs: Iterable[TeamRun]) -> list[SharedCause]:
    """Over all runs, most hours lost first: groups in which each run overlaps another one in time."""
    by_place: dict[tuple[CauseName, SharedPlace], list[TeamRun]] = defaultdict(list)
    for one in team_runs:
        if one.cause is not None:
            for place in places(one):
                by_place[one.cause, place].append(one)
    groups = ((place, group) for place, runs in by_place.items() for group in _groups(runs) if len(group) > 1)
    found = [_shared(cause, place, group) for (cause, place), group in groups]
    return sorted(found, key=lambda each: -each.hours_lost)


def shared_with(one: TeamRun, others: Iterable[TeamRun]) -> list[SharedCause]:
    """Causes of one run that others shared while it ran."""
    beside = (other for other in others if other.run_id != one.run_id and is_together(one, other))
    found = shared_causes([one, *beside])
    return [each for each in found if any(run.run_id == one.run_id for run in each.runs)]


def places(one: TeamRun) -> Iterator[SharedPlace]:
    """Places that runs with this cause may share; none for causes that cannot be shared."""
    shared = all_causes()[one.cause].shared if one.cause else None
    if shared is None:
        return
    if shared.resource == "mount":
        yield from dict.fromkeys(("mount", name) for mount in one.mounts if (name := mount_name(mount)))
        return
    for host in one.hosts:
        if host.shares_cores if shared.resource == "cores" else host.shares_memory:
            yield "host", host.hostname


def is_together(one: TeamRun, other: TeamRun) -> bool:
    """Whether they ran at the same time. Judged steps are a run's newest: both have those of the first to end."""
    both = min(one.ended_at, other.ended_at) - max(one.started_at, other.started_at)
    shorter = min(one.ended_at - one.started_at, other.ended_at - other.started_at)
    return both > timedelta() and both >= TOGETHER_FRACTION * shorter


def mount_name(mount: MountUse) -> str | None:
    """``None``: in memory, or on a host that is not known."""
    if mount.kind == "network":
        return mount.device or mount.mount
    if mount.kind == "memory" or mount.hostname is None:
        return None
    return f"{mount.mount} on {mount.hostname}"


def _groups(runs: Sequence[TeamRun]) -> list[list[TeamRun]]:
    """Oldest first. A run that overlaps two groups makes them one."""
    groups: list[list[TeamRun]] = []
    for run in sorted(runs, key=lambda each: each.started_at):
        near = [group for group in groups if any(is_together(run, other) for other in group)]
        groups = [group for group in groups if group not in near]
        groups.append([other for group in near for other in group] + [run])
    return groups


def _shared(cause: CauseName, place: SharedPlace, group: Sequence[TeamRun]) -> SharedCause:
    kind, name = place
    runs = sorted(group, key=lambda run: -run.hours_lost)
    shared = all_causes()[cause].shared
    assert shared is not None  # else it has no place
    return SharedCause(
        cause=cause,
        kind=kind,
        place=name,
        runs=[SharedRun(run_id=run.run_id, name=run.name, hours_lost=run.hours_lost) for run in runs],
        hours_lost=sum(run.hours_lost for run in runs),
        sentence=f"{len(runs)} runs {shared.sentence} {name} at the same time.",
        started_at=min(run.started_at for run in runs),
        ended_at=max(run.ended_at for run in runs),
    )
