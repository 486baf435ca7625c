"""``POST /api/v1/ingest`` as a bare ASGI callable: a framework would cost more than storing the window does.

Own study: 157 µs of CPU a post like this, 364 µs through FastAPI.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future

import msgspec

from underfed_server.errors import (
    InvalidError,
    MethodNotAllowedError,
    OutOfOrderError,
    RequestError,
    TooLargeError,
    UnsupportedMediaTypeError,
)
from underfed_server.ingest.arrival import Ack, Arrival, Outcome
from underfed_server.ingest.asgi import Headers, Receive, Scope, Send, answer, refuse
from underfed_server.ingest.decode import decode
from underfed_server.ingest.inflate import inflate, require_known
from underfed_server.ingest.wire import Window

PATH = "/api/v1/ingest"
MOST_BYTES = 4 * 2**20
"""The wire's limit on a body as posted."""

_encode = msgspec.json.Encoder().encode


class Ingest:
    """Answers with the shapes of docs/wire.md, once the window is on disk."""

    def __init__(self, submit: Callable[[Arrival], Future[Outcome]], require_access: Callable[[Headers], None]) -> None:
        """``require_access`` raises for a request that may not write."""
        self._submit = submit
        self._require_access = require_access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            ack = await self._take(scope, receive)
        except RequestError as error:
            await refuse(send, error)
        except ConnectionResetError:
            return
        else:
            told = {"next_window_index": ack.next_window_index, "wants_run": ack.wants_run}
            await answer(send, 200, _encode(told))

    async def _take(self, scope: Scope, receive: Receive) -> Ack:
        if scope["method"] != "POST":
            raise MethodNotAllowedError(f"{scope['method']} is not for {PATH}; POST windows to it", allow="POST")
        headers: Headers = dict(scope["headers"])
        self._require_access(headers)
        encoding = _checked(headers)
        body = await _read(receive)
        arrival = Arrival(_window(body, encoding), encoding, body)
        outcome = await asyncio.wrap_future(self._submit(arrival))
        if isinstance(outcome, OutOfOrderError):
            raise outcome
        return outcome


def _window(body: bytes, encoding: str) -> Window:
    try:
        return decode(inflate(body, encoding))
    except InvalidError as error:
        # A window is refused for good, by whatever is wrong with it: the agent knows one status for that.
        raise _InvalidWindowError(error.message, field=error.field) from error


class _InvalidWindowError(InvalidError):
    status = 400


def _checked(headers: Headers) -> str:
    """The body's encoding.

    Raises:
        UnsupportedMediaTypeError, TooLargeError: by its headers alone it cannot be read.
    """
    kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
    if kind != b"application/json":
        raise UnsupportedMediaTypeError(
            f"Content-Type {kind.decode('latin-1')!r} is not read here; send application/json", field="Content-Type"
        )
    encoding = headers.get(b"content-encoding", b"").decode("latin-1").strip().lower()
    require_known(encoding)
    if int(headers.get(b"content-length", b"0")) > MOST_BYTES:
        raise _too_large()
    return "" if encoding == "identity" else encoding


async def _read(receive: Receive) -> bytes:
    """Raises:
    TooLargeError: more than the limit arrived; no more than that is kept.
    ConnectionResetError: the client went away before the body was complete.
    """
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError
        part = message.get("body", b"")
        size += len(part)
        if size > MOST_BYTES:
            raise _too_large()
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _too_large() -> TooLargeError:
    return TooLargeError(f"the body is larger than {MOST_BYTES:,} bytes")
