"""What each route requires of its caller: one declaration, which is enforced and stands in the API's description."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.routing import APIRoute

from underfed_server.api.admission.access import COOKIE, credentials_of
from underfed_server.api.admission.gate import unknown_caller
from underfed_server.api.dependencies import permission_of, require_once, store_of
from underfed_server.errors import ForbiddenError, NotFoundError
from underfed_server.ingest.asgi import PERMISSION
from underfed_server.ingest.permission import NOT_KNOWN, ONLY_OWNER, OPEN, Permission
from underfed_server.model import Scope
from underfed_server.store.store import Store

SCHEMES: dict[str, Any] = {
    "token": {"type": "http", "scheme": "bearer", "description": "An access token: `underfed token create`"},
    "session": {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": "Of a browser that signed in"},
    "proxy": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Forwarded-User",
        "description": "Whom the proxy in front names, by the header that is configured, and by its groups",
    },
}
"""How a caller says who it is; each route names the scope that it takes with any of them."""


class RequiredScope:
    """Of one route. ``None``: it is open to everybody."""

    def __init__(self, scope: Scope | None) -> None:
        self.scope = scope

    def __call__(self, request: Request) -> None:
        """Raises:
        UnauthorisedError: no token or session, or one that is not known.
        ForbiddenError: it lacks the scope, or has it in other projects than that of a named run, or the named one.
        NotFoundError: it does not see the named project, or that of a named run.
        """
        if self.scope is None:
            return
        if request.scope[PERMISSION] is None:
            raise unknown_caller(dict(request.scope["headers"]))
        permission = permission_of(request)
        if not permission.has_anywhere(self.scope):
            self._refuse(request, permission, self.scope)
        if permission.projects(self.scope) is not None:
            for project in _named(request, store_of(request), permission):
                permission.require_in(self.scope, project)

    @staticmethod
    def _refuse(request: Request, permission: Permission, scope: Scope) -> None:
        """Raises:
        ForbiddenError: with the project that the request is about, where the caller sees it.
        """
        if permission is OPEN and credentials_of(dict(request.scope["headers"])).bearer is not None:
            raise ForbiddenError(f"{NOT_KNOWN}; {ONLY_OWNER}", field=scope)
        project = None
        # Who may not change a thing gets this answer, whether it is there or not.
        with suppress(NotFoundError):
            project = next(iter(_named(request, store_of(request), permission)), None)
        permission.require(scope, project)


def needs(scope: Scope | None) -> dict[str, Any]:
    """What a route's declaration is given: ``@router.get("/runs", **needs("view"))``. ``None``: open to everybody."""
    security = [] if scope is None else [{scheme: [scope]} for scheme in SCHEMES]
    return {
        "dependencies": [Depends(RequiredScope(scope)), Depends(require_once)],
        "openapi_extra": {"security": security},
    }


def require_declared(routers: Iterable[APIRouter]) -> None:
    """A route that says nothing would be open to everybody: there is none.

    Raises:
        TypeError: a route declares no scope.
    """
    for router in routers:
        for route in router.routes:
            if isinstance(route, APIRoute) and not any(
                isinstance(each.dependency, RequiredScope) for each in route.dependencies
            ):
                raise TypeError(f"the route {route.path} declares no scope: add **needs(…)")


def _named(request: Request, store: Store, permission: Permission) -> Iterable[str]:
    """The projects that the request is about, all of which the caller sees."""
    run_ids = [request.path_params.get("run_id"), *request.query_params.getlist("run_id")]
    for run_id in run_ids:
        if run_id is not None:
            project = store.project_of(run_id)
            if not permission.opens(project):
                raise NotFoundError(f"there is no run {run_id!r}", field="run_id")
            yield project
    if "project" in request.path_params:
        if not permission.opens(request.path_params["project"]):
            raise NotFoundError("there is no such project", field="project")
        yield request.path_params["project"]
