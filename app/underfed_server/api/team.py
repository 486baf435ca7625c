"""``/team``: what only several runs together show."""

from __future__ import annotations

from fastapi import APIRouter

from underfed_server.api.dependencies import ALLOWED, PermissionDep, StoreDep
from underfed_server.model import Team
from underfed_server.team.lost_hours import read_team

router = APIRouter(tags=["team"], dependencies=ALLOWED)


@router.get("/team")
def team(store: StoreDep, permission: PermissionDep) -> Team:
    """Causes that runs share, who lost how much in seven days, and how often predictions came true."""
    return read_team(store, permission.project)
