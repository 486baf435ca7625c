"""``POST /api/v1/ingest`` as a bare ASGI callable: a framework would cost more than storing the window does.

Own study: 157 µs of CPU a post like this, 364 µs through FastAPI.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple

import msgspec

from underfed_server.budget import Budget
from underfed_server.errors import (
    InvalidError,
    MethodNotAllowedError,
    RequestError,
    UnauthorisedError,
    UnsupportedMediaTypeError,
)
from underfed_server.ingest.answers import Answers
from underfed_server.ingest.asgi import (
    PERMISSION,
    Headers,
    Receive,
    Scope,
    Send,
    answer,
    length_of,
    read_body,
    refuse,
    require_size,
)
from underfed_server.ingest.decode import decode
from underfed_server.ingest.inflate import inflate, most_decoded_bytes, require_known
from underfed_server.ingest.permission import NOT_KNOWN, Permission
from underfed_server.ingest.posted import Ack, Outcome, PostedWindow
from underfed_server.ingest.token_project import within
from underfed_server.ingest.wire import Window

PATH = "/api/v1/ingest"
MOST_BYTES = 4 * 2**20
"""The wire's limit on a body as posted."""

_encode = msgspec.json.Encoder().encode


class Head(NamedTuple):
    """What the headers of a post say of its body."""

    encoding: str
    project: str | None
    """The only one that the window's run may belong to; ``None``: any."""


def head_of(permission: Permission | None, headers: Headers) -> Head:
    """Raises:
    RequestError: the sender may not post windows, or the headers already show that this one cannot be read.
    """
    project = _permitted(permission, headers).home("ingest", None)
    return Head(_checked(headers), project)


class Ingest:
    """Answers with the shapes of docs/wire.md, once the window is on disk."""

    def __init__(self, submit: Callable[[PostedWindow], Future[Outcome]], answers: Answers, budget: Budget) -> None:
        """The sender's permission is in the request's scope. ``answers`` is woken when what was submitted is done."""
        self._submit = submit
        self._answers = answers
        self._budget = budget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = written_outcome(await self._take(scope, receive))
        except RequestError as error:
            await refuse(send, error)
        except ConnectionResetError:
            return
        else:
            await answer(send, 200, body)

    async def _take(self, scope: Scope, receive: Receive) -> Outcome:
        if scope["method"] != "POST":
            raise MethodNotAllowedError(f"{PATH} does not take {scope['method']}; POST windows to it", allow="POST")
        head = head_of(scope[PERMISSION], dict(scope["headers"]))
        body = await read_body(receive, MOST_BYTES, self._budget)
        return await self._answers.of(self.submit(head, body))

    def submit(self, head: Head, body: bytes) -> Future[Outcome]:
        """The future is done once the window is on disk, or was refused.

        Raises:
            RequestError: ``body`` is no window, or too much waits already.
        """
        inflated = inflate(body, head.encoding)
        window = _window(inflated)
        if head.project is not None:
            window = within(window, head.project)
        decoded_bytes = most_decoded_bytes(inflated)
        return self._submit(PostedWindow(window, head.encoding, body, head.project, decoded_bytes=decoded_bytes))


def written_outcome(outcome: Outcome) -> bytes:
    """The body of the answer to a window that is on disk.

    Raises:
        RequestError: it was refused.
    """
    if isinstance(outcome, RequestError):
        raise outcome
    return _encode(_answer(outcome))


def _answer(ack: Ack) -> dict[str, object]:
    answer: dict[str, object] = {"next_window_index": ack.next_window_index, "wants_run": ack.wants_run}
    if ack.candidates:
        answer["tuning"] = list(ack.candidates)
    if ack.verdict is not None:
        answer["verdict"] = ack.verdict
        if ack.verdict_age_us is not None:
            answer["verdict_age_us"] = ack.verdict_age_us
    if ack.switch is not None:
        answer["switch"] = ack.switch
    return answer


def _permitted(permission: Permission | None, headers: Headers) -> Permission:
    """Raises:
    UnauthorisedError: no token or an unknown one; sessions and a proxy's word do not count. ForbiddenError: it may not
    send windows.
    """
    if permission is None and headers.get(b"authorization", b"").lower().startswith(b"bearer "):
        raise UnauthorisedError(NOT_KNOWN)
    if permission is None or permission.session is not None or permission.user is not None:
        raise UnauthorisedError("this service asks agents for an access token (UNDERFED_TOKEN)")
    permission.require("ingest")
    return permission


def _window(inflated: bytes) -> Window:
    try:
        return decode(inflated)
    except InvalidError as error:
        # The agent knows one status for a window that is refused for good, whatever is wrong with it.
        raise _InvalidWindowError(error.message, field=error.field) from error


class _InvalidWindowError(InvalidError):
    status = 400


def _checked(headers: Headers) -> str:
    """Return the body's encoding.

    Raises:
        UnsupportedMediaTypeError, TooLargeError: the headers already show that it cannot be read.
    """
    kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
    if kind != b"application/json":
        raise UnsupportedMediaTypeError(
            f"Content-Type {kind.decode('latin-1')!r} is not read here; send application/json", field="Content-Type"
        )
    encoding = headers.get(b"content-encoding", b"").decode("latin-1").strip().lower()
    require_known(encoding)
    require_size(length_of(headers), MOST_BYTES)
    return "" if encoding == "identity" else encoding
