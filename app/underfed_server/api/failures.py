"""Every failure in the one JSON shape, whoever raised it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DBAPIError
from starlette.exceptions import HTTPException

from underfed_server.errors import RequestError, internal_error, written
from underfed_server.logs import request_id
from underfed_server.model import ErrorBody, ErrorDetail
from underfed_server.store.databases.trouble import refusal_of

RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorBody, "description": HTTPStatus(status).phrase}
    for status in (400, 401, 403, 404, 413, 415, 422, 429, 503)
}
"""Failures that every route may answer; for the description of the API."""


def install(app: FastAPI) -> None:
    app.add_exception_handler(RequestError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _framework)
    app.add_exception_handler(DBAPIError, _unreadable)
    app.add_exception_handler(Exception, _unexpected)


def answer(status: int, detail: ErrorDetail, headers: Mapping[str, str] | None = None) -> Response:
    return Response(written(detail), status_code=status, media_type="application/json", headers=headers)


def _ours(request: Request, error: Exception) -> Response:  # noqa: ARG001
    assert isinstance(error, RequestError)
    return answer(error.status, error.detail(), error.headers)


def _invalid(request: Request, error: Exception) -> Response:  # noqa: ARG001
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    # ("query", "buckets") → buckets, ("body", "tags", "a") → tags.a.
    field, said = ".".join(map(str, first["loc"][1:])), first["msg"]
    return answer(422, ErrorDetail(code="invalid", message=f"{field}: {said}" if field else said, field=field or None))


def _framework(request: Request, error: Exception) -> Response:
    """No such path, or no such method on it."""
    assert isinstance(error, HTTPException)
    status, headers = HTTPStatus(error.status_code), error.headers
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED):
        # The framework names the methods of one route, an address may have several.
        methods = _methods_of(request.app, request.url.path)
        if methods:
            status, headers = HTTPStatus.METHOD_NOT_ALLOWED, {"Allow": ", ".join(methods)}
    message = _said(request, status) or str(error.detail)
    detail = ErrorDetail(code=status.name.lower(), message=message)
    return answer(status, detail, headers)


def _said(request: Request, status: HTTPStatus) -> str | None:
    if status == HTTPStatus.NOT_FOUND:
        return f"there is nothing at {request.url.path}"
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        return f"{request.url.path} does not take {request.method}"
    return None


def _unreadable(request: Request, error: Exception) -> Response:
    """The database is in trouble that an operator can end; an error in our own statement is raised again."""
    refusal = refusal_of(error)
    if refusal is None:
        raise error
    return _ours(request, refusal)


def _unexpected(request: Request, error: Exception) -> Response:  # noqa: ARG001
    """The framework raises it again after this answer, and ``Traffic`` logs it."""
    return answer(500, internal_error(request_id.get() or "this moment"))


def _methods_of(app: FastAPI, path: str) -> list[str]:
    """Methods that an address takes by the description of the API; none where no route matches."""
    known = getattr(app.state, "methods", None)
    if known is None:
        known = app.state.methods = [(_pattern(each), methods) for each, methods in app.openapi()["paths"].items()]
    return sorted({method.upper() for pattern, methods in known if pattern.fullmatch(path) for method in methods})


def _pattern(template: str) -> re.Pattern[str]:
    """``/runs/{run_id}`` as an expression that its addresses match."""
    return re.compile("[^/]+".join(re.escape(part) for part in re.split(r"\{\w+\}", template)))
