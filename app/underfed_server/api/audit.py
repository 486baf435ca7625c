"""``/audit``: who changed what."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from underfed_server.api.dependencies import CursorQuery, PermissionDep, StoreDep
from underfed_server.api.required_scope import needs
from underfed_server.model import AuditAction, AuditPage
from underfed_server.store.runs.audit_log import AuditFilter

router = APIRouter(tags=["team"])

MOST_ENTRIES = 1_000


@router.get("/audit", **needs("view"))
def audit(
    store: StoreDep,
    permission: PermissionDep,
    run_id: Annotated[str | None, Query(description="Only changes of this run, also of one that was removed")] = None,
    project: str | None = None,
    by: Annotated[str | None, Query(description="As an entry names who made the change")] = None,
    action: AuditAction | None = None,
    limit: Annotated[int, Query(ge=1, le=MOST_ENTRIES)] = 100,
    cursor: CursorQuery = None,
) -> AuditPage:
    """Changes that people made, newest first: who, when, and what it was before and after.

    Who was given access is for administrators alone.
    """
    may = (permission.projects("view"), permission.projects("admin"))
    return store.audit(AuditFilter(run_id, project, by, action, limit, cursor, *may))
