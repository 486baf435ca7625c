"""``/runs``: the list, one run, its diagnosis, and what a person may change in it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field, StrictBool, StringConstraints

from underfed_server.advice.outlook import outlook
from underfed_server.api.dependencies import (
    AuthorDep,
    CursorQuery,
    ExpressionQuery,
    PartsDep,
    PermissionDep,
    StoreDep,
    TagQuery,
)
from underfed_server.api.required_scope import needs
from underfed_server.api.served_diagnosis import unjudged, visible_to
from underfed_server.model import Bound, Diagnosis, ErrorBody, Model, Run, RunsPage, Status
from underfed_server.store.runs.listing import Archived, RunFilter
from underfed_server.team.pages import runs_page

router = APIRouter(tags=["runs"])

MOST_RUNS = 5_000
"""Runs in one page: a team's list usually fits into one."""

MOST_CONFIG = 50
"""Columns of a list that nobody could read."""

WITHOUT_NUL = r"^[^\x00]*$"
"""No text in the database has one, and PostgreSQL refuses even to look for it."""

Text = Annotated[str, StringConstraints(max_length=500, pattern=WITHOUT_NUL)]
Name = Annotated[str, StringConstraints(max_length=500, min_length=1, strip_whitespace=True, pattern=WITHOUT_NUL)]


class RunChanges(Model):
    """Only what is given is changed; ``null`` restores the name or tags that the agent sent."""

    name: Name | None = None
    tags: dict[Name, Text] | None = Field(default=None, max_length=200)
    notes: Annotated[str, StringConstraints(max_length=100_000, pattern=WITHOUT_NUL)] = ""
    archived: StrictBool = False
    """Archived: out of the list and its counts unless requested. Its hours stay in those of the week."""


@router.get("/runs", response_model=RunsPage, **needs("view"))
def runs(
    parts: PartsDep,
    permission: PermissionDep,
    config: Annotated[
        list[Text],
        Query(default_factory=list, max_length=MOST_CONFIG, description="Keys of `config` whose values are wanted"),
    ],
    project: str | None = None,
    status: Status | None = None,
    bound: Bound | None = None,
    tag: TagQuery = None,
    q: ExpressionQuery = None,
    archived: Annotated[Archived | None, Query(description="Default: `false`, unless `q` speaks of it")] = None,
    job: Annotated[str | None, Query(description="Exactly this job")] = None,
    deleted: Annotated[bool, Query(description="Deleted runs that can be restored, and no others")] = False,
    sort: Annotated[str, Query(description="A key, or `config:KEY`; `-` in front: largest first")] = "-started_at",
    limit: Annotated[int, Query(ge=1, le=MOST_RUNS)] = 100,
    cursor: CursorQuery = None,
) -> Response:
    """Runs that match the filter, with counts by status and the week's hours."""
    asked = RunFilter(
        project=project, status=status, bound=bound, tag=tag, q=q, archived=archived, sort=sort, limit=limit,
        cursor=cursor, within=permission.projects(), job=job, config=tuple(config),
        deleted_since=parts.store.now() - parts.store.keep_deleted if deleted else None,
    )  # fmt: skip
    return Response(parts.pages(parts.store, runs_page(asked)), media_type="application/json")


@router.get("/runs/{run_id}", **needs("view"))
def run(run_id: str, store: StoreDep) -> Run:
    """One run with everything that does not change from step to step, and what lies ahead of it while it runs."""
    found = store.run(run_id)
    if found.status != "running":
        return found
    return found.model_copy(update={"outlook": outlook(found, store.diagnosis(run_id))})


@router.patch("/runs/{run_id}", **needs("edit"))
def edit(run_id: str, changes: RunChanges, parts: PartsDep, by: AuthorDep) -> Run:
    """Change the name, the tags or the notes of a run; archive or unarchive it."""
    parts.store.edit_run(run_id, changes.model_dump(exclude_unset=True), by)
    parts.scheduler.touch({run_id})
    return parts.store.run(run_id)


@router.delete(
    "/runs/{run_id}",
    status_code=204,
    responses={409: {"model": ErrorBody, "description": "It is running"}},
    **needs("admin"),
)
def remove(run_id: str, parts: PartsDep, by: AuthorDep) -> None:
    """Delete a run that is not running. For `keep_deleted_us` of `/service` it can be restored; then all that was
    recorded of it is removed for good. What it lost stays in the hours of the week and the team.
    """
    parts.store.delete_run(run_id, by)
    parts.scheduler.publish(parts.store.state(run_id))


@router.post("/runs/{run_id}/restore", **needs("admin"))
def restore(run_id: str, parts: PartsDep, by: AuthorDep) -> Run:
    """Restore a run from the list of deleted ones, with all its data."""
    parts.store.restore_run(run_id, by)
    parts.scheduler.touch({run_id})
    return parts.store.run(run_id)


@router.get("/runs/{run_id}/diagnosis", **needs("view"))
def diagnosis(
    run_id: str,
    parts: PartsDep,
    permission: PermissionDep,
    loader: Annotated[str | None, Query(description="Default: the one that loses most of the run's time")] = None,
) -> Diagnosis:
    """The last verdict, with the status that the run had when it was given; of another loader, one on that alone.

    Of a run that has ended and was not judged since, the last verdict is then given before others.
    """
    store = parts.store
    known = store.diagnosis(run_id)
    if (known is None or not known.is_final) and store.summary(run_id).status != "running":
        parts.scheduler.hurry(run_id)
    if loader is not None and (known is None or known.loader != loader):
        found = parts.loader_diagnoses.read(store, run_id, loader)
    else:
        found = known or unjudged(store.summary(run_id))
    return parts.hotspots.added_to(store, visible_to(permission, store, found))
