"""``/tokens``: who has access to what, and until when. A secret is shown once, when its token is created."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field, StringConstraints

from underfed_server.api.dependencies import AuthorDep, Instant, PartsDep, PermissionDep
from underfed_server.api.required_scope import needs
from underfed_server.errors import ForbiddenError, InvalidError
from underfed_server.ingest.permission import Permission
from underfed_server.model import Model, Scope, TokenList, TokenMade
from underfed_server.store.team import access_tokens

router = APIRouter(tags=["tokens"])

Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")
]


class NewToken(Model):
    name: Name
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=4)]
    project: Name | None = None
    """The only project that the token opens."""
    expires_at: Instant | None = None


@router.get("/tokens", **needs("admin"))
def tokens(parts: PartsDep, permission: PermissionDep) -> TokenList:
    """All tokens, the newest first; a project's administrator sees that project's."""
    with parts.store.reading() as reader:
        found = access_tokens.list_tokens(reader.connection)
    return TokenList(tokens=[each for each in found if _manages(permission, each.project)])


@router.post("/tokens", status_code=201, **needs("admin"))
def make(asked: NewToken, parts: PartsDep, permission: PermissionDep, by: AuthorDep) -> TokenMade:
    """Create a token. This answer holds its secret, which is not stored."""
    now = parts.store.now()
    _require(asked, permission, now)
    said = {**dict(asked), "scopes": set(asked.scopes)}
    return parts.access.write(lambda connection: access_tokens.make_token(connection, now=now, by=by, **said))


@router.delete("/tokens/{token_id}", status_code=204, **needs("admin"))
def revoke(token_id: str, parts: PartsDep, permission: PermissionDep, by: AuthorDep) -> None:
    """End a token and the sessions it opened: every process refuses them within a second."""
    now = parts.store.now()
    within = permission.projects("admin")
    parts.access.write(lambda connection: access_tokens.revoke_token(connection, token_id, now, within, by))


def _require(asked: NewToken, permission: Permission, now: datetime) -> None:
    projects = permission.projects("admin")
    if asked.project is None and projects:
        raise ForbiddenError(
            "a token without a project opens all of them, which takes the scope 'admin' in every project. Name the one "
            f"it is for, on the command line with --project: {', '.join(sorted(projects))}",
            field="project",
        )
    permission.require_in("admin", asked.project)
    if asked.expires_at is not None and asked.expires_at <= now:
        raise InvalidError(f"expires_at: {asked.expires_at.isoformat()} is over", field="expires_at")


def _manages(permission: Permission, project: str | None) -> bool:
    """A project's administrator neither sees nor ends a token of all projects."""
    projects = permission.projects("admin")
    return projects is None or project in projects
