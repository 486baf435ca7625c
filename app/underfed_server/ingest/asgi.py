"""ASGI in a few names, for what stands in front of the framework."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any

from underfed_server.budget import Budget
from underfed_server.errors import RequestError, TooLargeError, written

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

Headers = Mapping[bytes, bytes]
"""Headers by name in lower case, as the server passes them; of repeated ones the last."""


MOST_BODIES_BYTES = 64 * 2**20
"""Sixteen of the largest windows, or forty thousand usual ones."""

PERMISSION = "underfed.permission"
"""Key of a request's scope under which its sender's permission is; ``None`` there: the sender is not known."""


def length_of(headers: Headers) -> int:
    """Length of the body by its header; 0: there is no such header."""
    length = headers.get(b"content-length", b"")
    return int(length) if length.isdigit() else 0


def bodies() -> Budget:
    """For the bytes of all bodies together that are being received."""
    return Budget(MOST_BODIES_BYTES, "more is being received than this service holds at once", retry_after_s=2)


async def read_body(receive: Receive, most_bytes: int, budget: Budget) -> bytes:
    """Raises:
    TooLargeError: more than ``most_bytes`` arrived; no more than that is kept.
    TryLaterError: the ``budget`` is used up by bodies of others.
    ConnectionResetError: the client went away before the body was complete.
    """
    parts: list[bytes] = []
    size = 0
    try:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionResetError
            part = message.get("body", b"")
            require_size(size + len(part), most_bytes)
            budget.take(len(part))
            size += len(part)
            parts.append(part)
            if not message.get("more_body", False):
                return b"".join(parts)
    finally:
        budget.give_back(size)


def require_size(size: int, most_bytes: int) -> None:
    """Raises:
    TooLargeError: a body of ``size`` bytes is not read.
    """
    if size > most_bytes:
        raise TooLargeError(f"the body is larger than {most_bytes:,} bytes")


async def answer(send: Send, status: int, body: bytes, extra: Iterable[tuple[str, str]] = ()) -> None:
    """Send a whole answer in JSON."""
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    headers += [(name.lower().encode(), value.encode()) for name, value in extra]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def refuse(send: Send, error: RequestError) -> None:
    await answer(send, error.status, written(error.detail()), error.headers.items())
