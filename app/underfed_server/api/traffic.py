"""Runs before everything else: gives each request its id, its line in the log and its place in the counts.

Agents' posts pass through here too, so it may take a few microseconds only.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import cache

from starlette.requests import ClientDisconnect

from underfed_server.counters import Counters
from underfed_server.errors import RequestError, internal_error, written
from underfed_server.ingest.asgi import Message, Receive, Scope, Send, answer
from underfed_server.ingest.endpoint import PATH
from underfed_server.logs import request_id, request_id_of
from underfed_server.store.databases.trouble import refusal_of

log = logging.getLogger("underfed.requests")

Inner = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADER = b"x-request-id"
PREFIX = "/api/v1"
PAGE = "/{path:path}"
_CODE = re.compile(rb'\{"error":\{"code":"([a-z_]{1,40})"')
QUIET = frozenset({PATH, "/healthz", "/readyz", "/metrics"})
"""Requested all day by machines: logged at debug level."""

CLIENT_LEFT = 499
"""nginx's number for it; nobody receives it."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Traffic:
    """The ASGI application in front of ``inner``."""

    def __init__(self, inner: Inner, counters: Counters) -> None:
        self._inner = inner
        self._counters = counters
        self._seconds = cache(counters.request_seconds.labels)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = next((value for name, value in scope["headers"] if name == HEADER), None)
        asked, begun, status = request_id_of(given), time.perf_counter(), 0
        request_id.set(asked)
        own_header = (HEADER, asked.encode("ascii"))

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), own_header]
            elif status >= 400:
                self.count_refusal(message.get("body", b""))
            await send(message)

        try:
            await self._inner(scope, receive, sending)
        except ClientDisconnect:
            status = CLIENT_LEFT
        except Exception as error:
            if status:
                log_traceback(error, scope, asked)
                status = 500
            else:
                await answer(sending, *failure_of(error, scope, asked))
        self.note(scope, status or CLIENT_LEFT, time.perf_counter() - begun)

    def count_refusal(self, body: bytes) -> None:
        """``body``: the one JSON shape of every failure, whoever wrote it."""
        if found := _CODE.match(body):
            self._counters.refusals.labels(found[1].decode("ascii")).inc()

    def note(self, scope: Scope, status: int, seconds: float) -> None:
        """A request that was answered."""
        method, route = scope["method"] if scope["method"] in METHODS else "other", route_of(scope)
        # Event streams last as long as they are open.
        self._seconds(method, route, status).observe(seconds)
        level = logging.DEBUG if route in QUIET else logging.WARNING if status >= 500 else logging.INFO
        if log.isEnabledFor(level):
            log.log(level, "request", extra={"fields": _described(scope, status, seconds)})


def failure_of(error: Exception, scope: Scope, asked: str) -> tuple[int, bytes, Iterable[tuple[str, str]]]:
    """Status, body and headers of the answer to the request with the id ``asked``, which ``error`` ended. It
    is logged, unless the client receives it as it is.
    """
    refusal = error if isinstance(error, RequestError) else refusal_of(error)
    if refusal is not None:
        return refusal.status, written(refusal.detail()), refusal.headers.items()
    log_traceback(error, scope, asked)
    return 500, written(internal_error(asked)), ()


def log_traceback(error: Exception, scope: Scope, asked: str) -> None:
    """The only place that logs a traceback, with the id that the client was given."""
    fields = {"method": scope["method"], "path": scope["path"]}
    log.error("request %s failed", asked, exc_info=error, extra={"fields": fields})


def route_of(scope: Scope) -> str:
    """With its parameters' names, since run ids and a scanner's guesses are without end; ``page``: a file of the page;
    ``other``: none of ours, or refused before.
    """
    path: str = scope["path"]
    if path == PATH:
        return PATH
    if "endpoint" not in scope:
        return "other"
    route: str = getattr(scope.get("route"), "path", PAGE)
    if route == PAGE:
        return "page"
    return f"{PREFIX}{route}" if path.startswith(f"{PREFIX}/") and not route.startswith(PREFIX) else route


def _described(scope: Scope, status: int, seconds: float) -> dict[str, object]:
    # Without what follows the `?`, where people put secrets.
    client = scope.get("client")
    return {
        "method": scope["method"],
        "path": scope["path"],
        "status": status,
        "duration_us": round(seconds * 1e6),
        "client": client[0] if client else None,
    }
