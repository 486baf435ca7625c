"""Runs before every route: identifies the caller, and admits well-formed requests within the rate limits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from underfed_server.api.admission.access import Access, Credentials, credentials_of
from underfed_server.api.admission.guesses import Guesses
from underfed_server.api.admission.headers import (
    WRITES,
    require_json,
    require_local_name,
    require_not_forwarded,
    require_same_site,
    require_text,
)
from underfed_server.api.admission.proxy import Person, Proxy
from underfed_server.api.admission.rate_limits import RateLimits, key_of
from underfed_server.budget import Budget
from underfed_server.errors import UnauthorisedError
from underfed_server.ingest.asgi import (
    PERMISSION,
    Headers,
    Message,
    Receive,
    Scope,
    length_of,
    read_body,
    require_size,
)
from underfed_server.ingest.endpoint import MOST_BYTES
from underfed_server.ingest.permission import NOT_KNOWN, Permission

SIGN_IN = "/api/v1/session"
"""The one address that takes a body from who has no token."""

MOST_SIGN_IN_BYTES = 8_192
ASKS = "this service asks for an access token (UNDERFED_TOKEN)"


def unknown_caller(headers: Headers) -> UnauthorisedError:
    """It does not say whether a token is wrong, revoked or expired, to who has no other."""
    return UnauthorisedError(NOT_KNOWN if credentials_of(headers).bearer is not None else ASKS)


class Gate:
    def __init__(self, access: Access, limits: RateLimits, proxy: Proxy, budget: Budget) -> None:
        self._access = access
        self._limits = limits
        self._proxy = proxy
        self._budget = budget
        self._guesses = Guesses(limits.guesses)

    async def admit(self, scope: Scope, receive: Receive, *, is_ingest: bool) -> Receive:
        """Put the caller's permission into ``scope``, and return the ``receive`` through which the body is read.

        Raises:
            RequestError: the request is not admitted.
            ConnectionResetError: the client went away before its body was complete.
        """
        headers = dict(scope["headers"])
        person = self._required(scope, headers)
        if not is_ingest:
            require_json(scope["method"], headers)
        permission = await self._permission(scope, headers, person)
        scope[PERMISSION] = permission
        key = self.charge(scope, permission, headers)
        if b"transfer-encoding" in headers:
            receive = _counted(receive, lambda size: self._limits.take_bytes(key, size))
        if is_ingest or scope["method"] not in WRITES or not _has_body(headers):
            return receive
        most = MOST_BYTES
        if scope["path"] == SIGN_IN:
            most = MOST_SIGN_IN_BYTES
        elif permission is None:
            raise unknown_caller(headers)
        elif not permission.has_anywhere("edit"):
            # What nobody will look at is not read: the route refuses, with the scope that it takes.
            return _held(b"", receive)
        require_size(length_of(headers), most)
        return _held(await read_body(receive, most, self._budget), receive)

    def known(self, scope: Scope, headers: dict[bytes, bytes]) -> Permission | None:
        """The caller's permission, where that is known without asking the database; ``None``: it is not, or there is
        none. ``headers`` are those of ``scope``.

        Raises:
            RequestError: the request is not admitted.
        """
        person = self._required(scope, headers)
        credentials = credentials_of(headers)
        found = self._access.of_secret(credentials)
        if not self._access.is_open:
            if found is None:
                return None
            address, digests = address_of(scope), self._guessable(credentials)
            self._require_guesses(address, digests)
            self._note_guesses(address, digests)
        return self._noted(found, credentials, person)

    def charge(self, scope: Scope, permission: Permission | None, headers: Headers) -> str:
        """Whom the request is charged to.

        Raises:
            TooManyRequestsError: this caller sent more than it may.
        """
        key = key_of_caller(scope, permission)
        # What is only said to come is not paid for: of a larger body nothing more is read.
        self._limits.take(key, min(length_of(headers), MOST_BYTES))
        return key

    def _required(self, scope: Scope, headers: dict[bytes, bytes]) -> Person | None:
        """What holds for every request; and who asks, as the proxy says.

        Raises:
            RequestError: it does not hold for this one.
        """
        person = self._proxy.seen(scope, headers)
        if self._access.is_open:
            require_not_forwarded(headers)
            require_local_name(headers)
        require_text(scope)
        require_same_site(scope["method"], headers)
        return person

    async def _permission(self, scope: Scope, headers: Headers, person: Person | None) -> Permission | None:
        """On an open service an unknown secret is as good as none: each that it knows is random.

        Raises:
            TooManyRequestsError: this client has tried too many tokens.
        """
        credentials = credentials_of(headers)
        found = self._access.of_secret(credentials)
        if not self._access.is_open:
            address, digests = address_of(scope), self._guessable(credentials)
            self._require_guesses(address, digests)
            if found is None and digests:
                # In a thread: it reads the database, and no other request must wait for that.
                found = await asyncio.to_thread(self._access.look_up, credentials)
            self._note_guesses(address, digests)
        return self._noted(found, credentials, person)

    def _noted(self, found: Permission | None, credentials: Credentials, person: Person | None) -> Permission | None:
        """What the request may do whose secret permits ``found``; ``None``: nothing."""
        # A token that is unknown, or no longer known, is refused, whoever the proxy says is signed in: who revokes it
        # means that. A browser keeps the cookie of a session that has ended, and its user may go on as the proxy says.
        permission = self._access.permission(found, person if credentials.bearer is None else None)
        if permission is not None:
            self._access.note_use(permission)
        return permission

    def _guessable(self, credentials: Credentials) -> list[bytes]:
        return [digest for digest in credentials if digest is not None and not self._access.knows_random(digest)]

    def _require_guesses(self, address: str, digests: Sequence[bytes]) -> None:
        """Raises:
        TooManyRequestsError: as above.
        """
        for digest in digests:
            self._guesses.require(address, digest)

    def _note_guesses(self, address: str, digests: Sequence[bytes]) -> None:
        for digest in digests:
            self._guesses.note(address, digest, is_right=self._access.knows(digest))


def address_of(scope: Scope) -> str:
    """The client's address, by which requests without a token are counted."""
    client = scope.get("client")
    return key_of(client[0] if client else "")


def _has_body(headers: Headers) -> bool:
    return length_of(headers) > 0 or b"transfer-encoding" in headers


def key_of_caller(scope: Scope, permission: Permission | None) -> str:
    """The token, the user that a proxy names, or the address."""
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
