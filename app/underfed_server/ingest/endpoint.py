"""``POST /api/v1/ingest`` as a bare ASGI callable: a framework would cost more than storing the window does.

Own study: 157 µs of CPU a post like this, 364 µs through FastAPI.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

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


class Ingest:
    """Answers with the shapes of docs/wire.md, once the window is on disk."""

    def __init__(self, submit: Callable[[PostedWindow], Future[Outcome]], answers: Answers, budget: Budget) -> None:
        """The sender's permission is in the request's scope. ``answers`` is woken when what was submitted is done."""
        self._submit = submit
        self._answers = answers
        self._budget = budget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            ack = await self._take(scope, receive)
        except RequestError as error:
            await refuse(send, error)
        except ConnectionResetError:
            return
        else:
            await answer(send, 200, _encode(_told(ack)))

    async def _take(self, scope: Scope, receive: Receive) -> Ack:
        if scope["method"] != "POST":
            raise MethodNotAllowedError(f"{PATH} does not take {scope['method']}; POST windows to it", allow="POST")
        headers: Headers = dict(scope["headers"])
        project = _permitted(scope[PERMISSION], headers).home("ingest", None)
        encoding = _checked(headers)
        body = await read_body(receive, MOST_BYTES, self._budget)
        inflated = inflate(body, encoding)
        window = _window(inflated)
        if project is not None:
            window = within(window, project)
        posted = PostedWindow(window, encoding, body, project, decoded_bytes=most_decoded_bytes(inflated))
        outcome = await self._answers.of(self._submit(posted))
        if isinstance(outcome, RequestError):
            raise outcome
        return outcome


def _told(ack: Ack) -> dict[str, object]:
    told: dict[str, object] = {"next_window_index": ack.next_window_index, "wants_run": ack.wants_run}
    if ack.candidates:
        told["tuning"] = list(ack.candidates)
    if ack.verdict is not None:
        told["verdict"] = ack.verdict
        if ack.verdict_age_us is not None:
            told["verdict_age_us"] = ack.verdict_age_us
    if ack.switch is not None:
        told["switch"] = ack.switch
    return told


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
