"""``/projects`` and ``/users``: what runs can be chosen by."""

from __future__ import annotations

from fastapi import APIRouter

from underfed_server.api.given import ALLOWED, GivenGrant, GivenStore
from underfed_server.model import ProjectInfo, UserInfo

router = APIRouter(tags=["runs"], dependencies=ALLOWED)


@router.get("/projects")
def projects(store: GivenStore, grant: GivenGrant) -> list[ProjectInfo]:
    """Every project with a run, by name; a token's own, where it is bound to one."""
    return store.projects(grant.project)


@router.get("/users")
def users(store: GivenStore, grant: GivenGrant) -> list[UserInfo]:
    """Everybody with a run, by name; in a token's own project, where it is bound to one."""
    return store.users(grant.project)
