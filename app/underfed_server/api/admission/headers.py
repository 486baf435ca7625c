"""What holds for all requests and answers: local names on a local address, JSON in writes from here, strict headers."""

from __future__ import annotations

import re

from underfed_server.errors import ForbiddenError, InvalidError, UnsupportedMediaTypeError
from underfed_server.ingest.asgi import Headers, Message, Scope, Send

POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
OVER_TLS = (b"strict-transport-security", b"max-age=31536000")
"""A year, in which a browser that has seen it refuses to go without TLS."""

NOT_KEPT = (b"cache-control", b"no-store")
"""Answers of the API are for their caller only, and out of date a second later."""

WRITES = ("POST", "PUT", "PATCH", "DELETE")

_LOCAL = re.compile(rb"(127(\.\d{1,3}){3}|\[::1\]|([a-z0-9-]+\.)*localhost)(:\d{1,5})?", re.IGNORECASE)


def require_local_name(headers: Headers) -> None:
    """Against DNS rebinding: another site's name can resolve to 127.0.0.1, and its page would then have access.

    Raises:
        ForbiddenError: the request was not sent to a name of this machine.
    """
    host = headers.get(b"host", b"")
    if not _LOCAL.fullmatch(host):
        raise ForbiddenError(
            f"this service answers to localhost only, not to {host.decode('latin-1')!r}; "
            "start it with --host to serve others, who then need its token",
            field="Host",
        )


FORWARDING = re.compile(
    rb"forwarded|x-forwarded-.*|x-real-ip|via|x-client-ip|x-cluster-client-ip|true-client-ip|.*-connecting-ip"
)


def require_not_forwarded(headers: Headers) -> None:
    """An open service is for whoever is on its machine; a proxy would open it to whoever reaches the proxy.

    Raises:
        ForbiddenError: the request came through a proxy.
    """
    for name in headers:
        if name[:1] in b"fvxtc" and FORWARDING.fullmatch(name):
            raise ForbiddenError(
                f"this service is open to its own machine only, and {name.decode('latin-1')} says that a proxy passed "
                "this request on; start it with --proxy-address, and everybody needs a token",
                field=name.decode("latin-1"),
            )


def require_json(method: str, headers: Headers) -> None:
    """A browser sends another site's form without a preflight request, but not its JSON.

    Raises:
        UnsupportedMediaTypeError: a body that is not JSON.
    """
    has_body = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
    kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
    if method in WRITES and has_body and kind != b"application/json":
        raise UnsupportedMediaTypeError("writes are JSON: send Content-Type: application/json", field="Content-Type")


def require_same_site(method: str, headers: Headers) -> None:
    """A browser names the page that a write comes from; a client that names none is no browser.

    Raises:
        ForbiddenError: the write comes from a page of another site.
    """
    if method not in WRITES:
        return
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        is_ours = site in (b"same-origin", b"none")
    else:
        # Browsers before 2023, and whatever imitates them.
        origin = headers.get(b"origin")
        is_ours = origin is None or origin.partition(b"://")[2].lower() == headers.get(b"host", b"").lower()
    if not is_ours:
        raise ForbiddenError("a page of another site may not write here", field="Origin")


def require_text(scope: Scope) -> None:
    """No name or id contains NUL, and PostgreSQL rejects it even in a query.

    Raises:
        InvalidError: the address contains one.
    """
    if "\0" in scope["path"] or b"%00" in scope["query_string"]:
        raise InvalidError("the address contains a NUL character")


def with_headers(scope: Scope, send: Send) -> Send:
    """``send`` that adds the headers of every answer."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [*message.get("headers", ()), *HEADERS]
            if scope["scheme"] == "https":
                headers.append(OVER_TLS)
            if not any(name.lower() == b"cache-control" for name, _ in headers):
                headers.append(NOT_KEPT)
            message["headers"] = headers
        await send(message)

    return sending
