"""``/tokens``: who has access to what, and until when. A secret is shown once, when its token is created."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from sqlalchemy import Connection

from underfed_server.api.dependencies import ALLOWED, Instant, PartsDep, PermissionDep, require_admin
from underfed_server.errors import ForbiddenError, InvalidError
from underfed_server.ingest.permission import Permission
from underfed_server.model import Scope, TokenList, TokenMade
from underfed_server.store.team import access_tokens

# Listing tokens requires `admin`, as creating one does.
router = APIRouter(tags=["tokens"], dependencies=[*ALLOWED, Depends(require_admin)])

Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")
]


class NewToken(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Name
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=3)]
    project: Name | None = None
    """The only project that the token opens."""
    expires_at: Instant | None = None


@router.get("/tokens")
def tokens(parts: PartsDep, permission: PermissionDep) -> TokenList:
    """All tokens, the newest first; a project's administrator sees that project's."""
    with parts.store.reading() as reader:
        found = access_tokens.list_tokens(reader.connection)
    return TokenList(tokens=[each for each in found if _manages(permission, each.project)])


@router.post("/tokens", status_code=201)
def make(asked: NewToken, parts: PartsDep, permission: PermissionDep) -> TokenMade:
    """Create a token. This answer holds its secret, which is not stored."""
    now = parts.store.now()
    _require(asked, permission, now)
    made: list[TokenMade] = []

    def add(connection: Connection) -> None:
        made.append(
            access_tokens.make_token(
                connection, name=asked.name, now=now, scopes=set(asked.scopes), project=asked.project,
                expires_at=asked.expires_at,
            )
        )  # fmt: skip

    parts.access.write(add)
    return made[-1]


@router.delete("/tokens/{token_id}", status_code=204)
def revoke(token_id: str, parts: PartsDep, permission: PermissionDep) -> None:
    """End a token and the sessions it opened: every process refuses them within a second."""
    now = parts.store.now()
    parts.access.write(lambda connection: access_tokens.revoke_token(connection, token_id, now, permission.project))


def _require(asked: NewToken, permission: Permission, now: datetime) -> None:
    if not _manages(permission, asked.project):
        raise ForbiddenError(f"this token creates tokens for the project {permission.project!r} only", field="project")
    if asked.expires_at is not None and asked.expires_at <= now:
        raise InvalidError(f"expires_at: {asked.expires_at.isoformat()} is over", field="expires_at")


def _manages(permission: Permission, project: str | None) -> bool:
    """A project's administrator neither sees nor ends a token of all projects."""
    return permission.project is None or permission.project == project
