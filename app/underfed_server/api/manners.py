"""What holds for every request and answer: only local names on a local address, JSON in writes, strict headers out."""

from __future__ import annotations

import re

from underfed_server.errors import ForbiddenError, UnsupportedMediaTypeError
from underfed_server.ingest.asgi import Headers, Message, Send

POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
WRITES = ("POST", "PUT", "PATCH", "DELETE")

_LOCAL = re.compile(rb"(127(\.\d{1,3}){3}|\[::1\]|([a-z0-9-]+\.)*localhost)(:\d{1,5})?", re.IGNORECASE)


def require_local_name(headers: Headers) -> None:
    """A page of another site can make its own name resolve to 127.0.0.1, and would then be let in by the browser.

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


def require_json(method: str, headers: Headers) -> None:
    """A form of another site can be sent without asking, JSON cannot.

    Raises:
        UnsupportedMediaTypeError: a body that is not JSON.
    """
    has_body = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
    kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
    if method in WRITES and has_body and kind != b"application/json":
        raise UnsupportedMediaTypeError("writes are JSON: send Content-Type: application/json", field="Content-Type")


def with_headers(send: Send) -> Send:
    """``send`` that adds the headers of every answer."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *HEADERS]
        await send(message)

    return sending
