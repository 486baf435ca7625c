"""``/tokens``: who has access to what, and until when. Secrets are told once, where they are made."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from sqlalchemy import Connection

from underfed_server.api.given import ALLOWED, GivenGrant, GivenParts, Instant, require_admin
from underfed_server.errors import ForbiddenError, InvalidError
from underfed_server.ingest.grant import Grant
from underfed_server.model import Scope, TokenList, TokenMade
from underfed_server.store.team import secrets as kept

# To know of tokens is as much as to make one: also reading them asks for `admin`.
router = APIRouter(tags=["tokens"], dependencies=[*ALLOWED, Depends(require_admin)])

Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")
]


class NewToken(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Name
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=3)]
    project: Name | None = None
    """The only one it opens."""
    expires_at: Instant | None = None


@router.get("/tokens")
def tokens(parts: GivenParts, grant: GivenGrant) -> TokenList:
    """All that were made, the newest first; a project's administrator sees that project's."""
    with parts.store.reading() as reader:
        found = kept.list_tokens(reader.connection)
    return TokenList(tokens=[each for each in found if _manages(grant, each.project)])


@router.post("/tokens", status_code=201)
def make(asked: NewToken, parts: GivenParts, grant: GivenGrant) -> TokenMade:
    """Make a token. This answer has its secret, which is kept nowhere."""
    now = parts.store.now()
    _require(asked, grant, now)
    made: list[TokenMade] = []

    def add(connection: Connection) -> None:
        made.append(
            kept.make_token(
                connection, name=asked.name, now=now, scopes=set(asked.scopes), project=asked.project,
                expires_at=asked.expires_at,
            )
        )  # fmt: skip

    parts.access.write(add)
    return made[-1]


@router.delete("/tokens/{token_id}", status_code=204)
def revoke(token_id: str, parts: GivenParts, grant: GivenGrant) -> None:
    """End a token and the sessions it opened: every process refuses them within a second."""
    now = parts.store.now()
    parts.access.write(lambda connection: kept.revoke_token(connection, token_id, now, grant.project))


def _require(asked: NewToken, grant: Grant, now: datetime) -> None:
    if not _manages(grant, asked.project):
        raise ForbiddenError(f"this token makes tokens for the project {grant.project!r} only", field="project")
    if asked.expires_at is not None and asked.expires_at <= now:
        raise InvalidError(f"expires_at: {asked.expires_at.isoformat()} is over", field="expires_at")


def _manages(grant: Grant, project: str | None) -> bool:
    """A token of all projects is not one project's to see or to end."""
    return grant.project is None or grant.project == project
