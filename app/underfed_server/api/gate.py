"""Runs before every route: identifies the caller, and admits well-formed requests within the rate limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from underfed_server.api.access import Access
from underfed_server.api.headers import WRITES, require_json, require_local_name, require_same_site, require_text
from underfed_server.api.proxy import Proxy
from underfed_server.api.rate_limits import RateLimits, key_of
from underfed_server.ingest.asgi import PERMISSION, Message, Receive, Scope, length_of, read_body, require_size
from underfed_server.ingest.endpoint import MOST_BYTES
from underfed_server.ingest.permission import Permission


class Gate:
    def __init__(self, access: Access, limits: RateLimits, proxy: Proxy) -> None:
        self._access = access
        self._limits = limits
        self._proxy = proxy

    async def admit(self, scope: Scope, receive: Receive, *, is_ingest: bool) -> Receive:
        """Put the caller's permission into ``scope``, and return the ``receive`` through which the body is read.

        Raises:
            RequestError: the request is not admitted.
            ConnectionResetError: the client went away before its body was complete.
        """
        headers = dict(scope["headers"])
        user = self._proxy.seen(scope, headers)
        if self._access.is_open:
            require_local_name(headers)
        require_text(scope)
        if not is_ingest:
            require_json(scope["method"], headers)
            require_same_site(scope["method"], headers)
        permission = await self._known(headers, user)
        scope[PERMISSION] = permission
        key = _key(scope, permission)
        self._limits.take(key, length_of(headers))
        if b"transfer-encoding" in headers:
            receive = _counted(receive, lambda size: self._limits.take_bytes(key, size))
        if is_ingest or scope["method"] not in WRITES:
            return receive
        require_size(length_of(headers), MOST_BYTES)
        return _held(await read_body(receive, MOST_BYTES), receive)

    async def _known(self, headers: dict[bytes, bytes], user: str | None) -> Permission | None:
        permission = self._access.known(headers, user)
        if permission is None and (b"authorization" in headers or b"cookie" in headers):
            # In a thread: it reads the database, and no other request must wait for that.
            permission = await asyncio.to_thread(self._access.look_up, headers, user)
        if permission is not None:
            self._access.note_use(permission)
        return permission


def address_of(scope: Scope) -> str:
    """The client's address, by which requests without a token are counted."""
    client = scope.get("client")
    return key_of(client[0] if client else "")


def _key(scope: Scope, permission: Permission | None) -> str:
    if permission is None or (permission.token_id is None and permission.user is None):
        return address_of(scope)
    return f"user {permission.user}" if permission.token_id is None else permission.token_id


def _counted(receive: Receive, count: Callable[[int], None]) -> Receive:
    """``receive`` of a body whose size is in no header."""

    async def receiving() -> Message:
        message = await receive()
        count(len(message.get("body", b"")))
        return message

    return receiving


def _held(body: bytes, receive: Receive) -> Receive:
    """``receive`` that returns a body already read, then whatever follows."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receiving() -> Message:
        return waiting.pop() if waiting else await receive()

    return receiving
