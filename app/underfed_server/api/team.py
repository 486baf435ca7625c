"""``/compare``, ``/team`` and ``/hosts``: what several runs show together, and what each machine is used for."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Response

from underfed_server.api.dependencies import Instant, PartsDep, PermissionDep, StoreDep
from underfed_server.api.required_scope import needs
from underfed_server.comparison.side_by_side import read_comparison
from underfed_server.errors import InvalidError, NotFoundError
from underfed_server.model import MOST_COMPARED, Comparison, HostsPage, Team
from underfed_server.team.current_hosts import read_hosts
from underfed_server.team.host_history import read_history
from underfed_server.team.pages import team_page

router = APIRouter()

MOST_BUCKETS = 1_000
SHOWN = timedelta(hours=1)
"""Length of a host's history, unless requested otherwise."""

LONGEST = timedelta(days=31)


@router.get("/compare", tags=["runs"], **needs("view"))
def compare(
    store: StoreDep,
    run_id: Annotated[
        list[str],
        Query(min_length=2, max_length=MOST_COMPARED, description="The first is the baseline of all others"),
    ],
) -> Comparison:
    """How fast each run is compared with the first, why, which settings differ, and what makes them hard to compare."""
    if len(set(run_id)) < len(run_id):
        raise InvalidError("run_id: a run was given twice", field="run_id")
    return read_comparison(store, run_id)


@router.get("/team", response_model=Team, tags=["team"], **needs("view"))
def team(parts: PartsDep, permission: PermissionDep) -> Response:
    """Causes that runs share, who lost how much in seven days, and how often predictions came true."""
    return Response(parts.pages(parts.store, team_page(permission.projects())), media_type="application/json")


@router.get("/hosts", tags=["team"], **needs("view"))
def hosts(
    store: StoreDep,
    permission: PermissionDep,
    hostname: Annotated[str | None, Query(description="Only this host, with its history")] = None,
    from_at: Annotated[Instant | None, Query(description="Default: an hour before `to_at`")] = None,
    to_at: Annotated[Instant | None, Query(description="Default: when the host was last seen")] = None,
    buckets: Annotated[int, Query(ge=1, le=MOST_BUCKETS, description="Intervals of the history")] = 240,
) -> HostsPage:
    """Hosts on which a run was seen in seven days: cores, memory, disks, networks and GPUs as they are used now."""
    page = read_hosts(store, permission.projects(), hostname)
    if hostname is None:
        return page
    seen_at = [host.last_seen_at for host in page.hosts]
    end = to_at or max(seen_at, default=store.now())
    start = from_at or end - SHOWN
    _require_span(start, end)
    history = read_history(store, hostname, start, end, buckets, permission.projects())
    if not page.hosts and not history.runs:
        raise NotFoundError(f"no run was on {hostname!r} in this time", field="hostname")
    return page.model_copy(update={"history": history})


def _require_span(start: datetime, end: datetime) -> None:
    if not timedelta() < end - start <= LONGEST:
        raise InvalidError(
            f"from_at: it lies at most {LONGEST.days} days before to_at, and not after it", field="from_at"
        )
