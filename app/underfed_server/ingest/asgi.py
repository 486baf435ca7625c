"""ASGI in a few names, for what stands in front of the framework."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any

from underfed_server.errors import RequestError, written

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

Headers = Mapping[bytes, bytes]
"""By name in lower case, as the server hands them over; of repeated ones the last."""


async def answer(send: Send, status: int, body: bytes, extra: Iterable[tuple[str, str]] = ()) -> None:
    """A whole answer in JSON."""
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    headers += [(name.lower().encode(), value.encode()) for name, value in extra]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def refuse(send: Send, error: RequestError) -> None:
    await answer(send, error.status, written(error.detail()), error.headers.items())
