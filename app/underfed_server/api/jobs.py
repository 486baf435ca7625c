"""``/jobs``, ``/config`` and a run's history: what runs have in common, and what changed from try to try."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from underfed_server.api.dependencies import CursorQuery, ExpressionQuery, PartsDep, PermissionDep, StoreDep, TagQuery
from underfed_server.api.required_scope import needs
from underfed_server.comparison.history import read_run_history
from underfed_server.model import Bound, ConfigKey, JobsPage, RunHistory, Status
from underfed_server.store.runs.listing import Archived, RunFilter
from underfed_server.team.pages import jobs_page

router = APIRouter(tags=["runs"])

MOST_JOBS = 1_000
MOST_TRIES = 100


@router.get("/jobs", response_model=JobsPage, **needs("view"))
def jobs(
    parts: PartsDep,
    permission: PermissionDep,
    project: str | None = None,
    status: Status | None = None,
    bound: Bound | None = None,
    tag: TagQuery = None,
    q: ExpressionQuery = None,
    archived: Annotated[Archived | None, Query(description="Default: `false`, unless `q` speaks of it")] = None,
    sort: Annotated[str, Query(description="As of `/runs`, by the newest run, or `hours_lost` or `runs` of all")] = (
        "-started_at"
    ),
    limit: Annotated[int, Query(ge=1, le=MOST_JOBS)] = 100,
    cursor: CursorQuery = None,
) -> Response:
    """The runs that match the filter, grouped by job: how many tries, what they lost together, and the newest."""
    asked = RunFilter(
        project=project, status=status, bound=bound, tag=tag, q=q, archived=archived, sort=sort, limit=limit,
        cursor=cursor, within=permission.projects(),
    )  # fmt: skip
    return Response(parts.pages(parts.store, jobs_page(asked)), media_type="application/json")


@router.get("/config", **needs("view"))
def config(store: StoreDep, permission: PermissionDep) -> list[ConfigKey]:
    """Keys of `config` that runs were given, the most used first: `config` of `/runs` asks for their values."""
    return store.config_keys(permission.projects())


@router.get("/runs/{run_id}/history", **needs("view"))
def history(
    run_id: str,
    store: StoreDep,
    limit: Annotated[int, Query(ge=1, le=MOST_TRIES, description="Runs; of more those around this one")] = 30,
) -> RunHistory:
    """The runs of the same job over time: how much each waited and how fast it was, and what was changed in between."""
    return read_run_history(store, run_id, limit)
