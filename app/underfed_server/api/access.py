"""Who may read and write: everybody on this machine, or whoever has the token."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from http.cookies import CookieError, SimpleCookie

from sqlalchemy import Connection

from underfed_server.errors import UnauthorisedError
from underfed_server.ingest.asgi import Headers
from underfed_server.settings import Settings
from underfed_server.store import secrets as kept
from underfed_server.store.store import Store

COOKIE = "underfed_session"
SESSION_LENGTH = timedelta(days=30)


class Access:
    """Open on a loopback address unless a token is set; anywhere else a token is asked for."""

    def __init__(self, store: Store, token_digests: Iterable[bytes]) -> None:
        """No digest: nobody is asked for a token."""
        self._store = store
        self._tokens = tuple(token_digests)
        with store.reading() as reader:
            self._sessions = kept.sessions(reader.connection, store.now())

    @property
    def token_required(self) -> bool:
        return bool(self._tokens)

    def allows(self, headers: Headers) -> bool:
        """By token, or by the session that a browser opened with it."""
        return not self._tokens or self._has_token(headers) or self._session(headers) is not None

    def require(self, headers: Headers) -> None:
        """Raises:
        UnauthorisedError: no token or session, or one that is not known.
        """
        if not self.allows(headers):
            raise UnauthorisedError("this service asks for its access token (UNDERFED_TOKEN)")

    def require_token(self, headers: Headers) -> None:
        """As :meth:`require`, for agents: a browser's session does not count."""
        if self._tokens and not self._has_token(headers):
            raise UnauthorisedError("this service asks agents for its access token (UNDERFED_TOKEN)")

    def sign_in(self, token: str) -> str:
        """A new session for whoever knows the token, where one is asked for.

        Raises:
            UnauthorisedError: it is not the token.
        """
        if not self._is_token(token):
            raise UnauthorisedError("this token is not known here", field="token")
        session = secrets.token_urlsafe(32)
        digest, now = digest_of(session), self._store.now()
        expires_at = now + SESSION_LENGTH

        def add(connection: Connection) -> None:
            kept.add_session(connection, digest, digest_of(token).hex()[:8], expires_at, now)

        self._store.write(add)
        self._sessions[digest] = expires_at
        return session

    def sign_out(self, headers: Headers) -> None:
        digest = self._session(headers)
        if digest is not None:
            self._sessions.pop(digest, None)
            self._store.write(lambda connection: kept.drop_session(connection, digest))

    def _has_token(self, headers: Headers) -> bool:
        scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        return scheme.lower() == "bearer" and self._is_token(token.strip())

    def _is_token(self, token: str) -> bool:
        digest = digest_of(token)
        # Every one is compared, each in constant time: the answer's time tells nothing.
        matches = [hmac.compare_digest(digest, known) for known in self._tokens]
        return True in matches

    def _session(self, headers: Headers) -> bytes | None:
        digest = digest_of(_cookie(headers))
        expires_at: datetime | None = self._sessions.get(digest)
        return digest if expires_at is not None and expires_at > self._store.now() else None


def open_access(store: Store, settings: Settings) -> tuple[Access, str | None]:
    """The service's access, and a token that was made just now: it is shown once and cannot be read again."""
    if settings.token is not None:
        return Access(store, [digest_of(settings.token)]), None
    if settings.is_loopback:
        return Access(store, []), None
    with store.reading() as reader:
        known = kept.token_digests(reader.connection)
    if known:
        return Access(store, known), None
    token = secrets.token_urlsafe(32)
    store.write(lambda connection: kept.add_token(connection, digest_of(token), store.now()))
    return Access(store, [digest_of(token)]), token


def digest_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()


def _cookie(headers: Headers) -> str:
    try:
        morsel = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1")).get(COOKIE)
    except CookieError:
        return ""
    return morsel.value if morsel else ""
