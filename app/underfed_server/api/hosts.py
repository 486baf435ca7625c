"""``/hosts``: each machine with what its runs use of it, and one of them over time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Query

from underfed_server.api.dependencies import ALLOWED, Instant, PermissionDep, StoreDep
from underfed_server.errors import InvalidError, NotFoundError
from underfed_server.model import HostsPage
from underfed_server.team.current_hosts import read_hosts
from underfed_server.team.host_history import read_history

router = APIRouter(tags=["team"], dependencies=ALLOWED)

MOST_BUCKETS = 1_000
SHOWN = timedelta(hours=1)
"""Length of a host's history, unless requested otherwise."""

LONGEST = timedelta(days=31)


@router.get("/hosts")
def hosts(
    store: StoreDep,
    permission: PermissionDep,
    hostname: Annotated[str | None, Query(description="Only this host, with its history")] = None,
    from_at: Annotated[Instant | None, Query(description="Default: an hour before `to_at`")] = None,
    to_at: Annotated[Instant | None, Query(description="Default: when the host was last heard of")] = None,
    buckets: Annotated[int, Query(ge=1, le=MOST_BUCKETS, description="Intervals of the history")] = 240,
) -> HostsPage:
    """Hosts on which a run was seen in seven days: cores, memory, disks, networks and GPUs as they are used now."""
    page = read_hosts(store, permission.project, hostname)
    if hostname is None:
        return page
    heard_at = [host.last_seen_at for host in page.hosts]
    end = to_at or max(heard_at, default=store.now())
    start = from_at or end - SHOWN
    _require_span(start, end)
    history = read_history(store, hostname, start, end, buckets, permission.project)
    if not page.hosts and not history.runs:
        raise NotFoundError(f"no run was on {hostname!r} in this time", field="hostname")
    return page.model_copy(update={"history": history})


def _require_span(start: datetime, end: datetime) -> None:
    if not timedelta() < end - start <= LONGEST:
        raise InvalidError(
            f"from_at: it lies at most {LONGEST.days} days before to_at, and not after it", field="from_at"
        )
