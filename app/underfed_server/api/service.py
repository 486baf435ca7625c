"""``/service``, ``/session`` and the health checks: what the page needs to begin with, and to sign in."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from underfed_server.api.admission.access import COOKIE, SESSION_LENGTH
from underfed_server.api.admission.gate import address_of
from underfed_server.api.admission.guesses import WHAT
from underfed_server.api.dependencies import Parts, PartsDep, PermissionDep
from underfed_server.api.required_scope import needs
from underfed_server.errors import UnauthorisedError
from underfed_server.ingest.permission import NOTHING
from underfed_server.model import Model, ServiceInfo
from underfed_server.store.databases.tables import MICROSECOND
from underfed_server.store.team.access_tokens import digest_of

router = APIRouter(tags=["service"])
health = APIRouter(tags=["service"])

HEALTH = "/healthz"
"""Answered without a turn or a thread: it shows that the process lives, however much it has to do."""


class Session(Model):
    token: str = Field(min_length=1, max_length=1_000)


class Health(BaseModel):
    status: Literal["ok"] = "ok"
    judging_lag_s: float
    """How long the run has waited that has waited longest to be judged."""


@router.get("/service", **needs(None))
def service(request: Request, parts: PartsDep, permission: PermissionDep) -> ServiceInfo:
    """Open to everybody: the page calls it before it knows whether a token is needed."""
    seen = permission.projects()
    return ServiceInfo(
        version=request.app.version,
        url=str(request.base_url).rstrip("/"),
        started_at=parts.started_at,
        token_required=parts.access.token_required,
        signed_in=permission is not NOTHING,
        user=permission.user,
        scopes=sorted(permission.scopes.union(*permission.in_projects.values())),
        scopes_in_all=sorted(permission.scopes),
        scopes_in={project: sorted(scopes) for project, scopes in sorted(permission.in_projects.items())},
        project=next(iter(seen)) if seen is not None and len(seen) == 1 else None,
        keep_deleted_us=parts.store.keep_deleted // MICROSECOND,
    )


@router.post("/session", status_code=204, **needs(None))
def sign_in(session: Session, request: Request, parts: PartsDep) -> Response:
    """Exchange an access token for a cookie that scripts cannot read and other sites cannot use.

    A service that asks for no token to read takes that of its owner, and the secret of the link that it printed.
    """
    response = Response(status_code=204)
    wrong, address = parts.limits.sign_ins, address_of(request.scope)
    if not parts.access.knows_random(digest_of(session.token)):
        wrong.require(address, WHAT)
    try:
        secret = parts.access.sign_in(session.token)
    except UnauthorisedError:
        wrong.take(address)
        raise
    response.set_cookie(
        COOKIE,
        secret,
        max_age=int(SESSION_LENGTH.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


@router.delete("/session", status_code=204, **needs(None))
def sign_out(request: Request, parts: PartsDep) -> Response:
    """End the session of this browser."""
    parts.access.sign_out(dict(request.scope["headers"]))
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response


@health.get(HEALTH, **needs(None))
async def healthz(request: Request) -> Health:
    """The process answers."""
    parts: Parts = request.app.state.parts
    return Health(judging_lag_s=round(parts.scheduler.lag_s, 1))


@health.get("/readyz", **needs(None))
def readyz(parts: PartsDep) -> Health:
    """The database can be read and written too."""
    parts.store.check()
    return Health(judging_lag_s=round(parts.scheduler.lag_s, 1))
