"""Who may do what: everybody on this machine, or whoever has a token, a session, or was signed in by a proxy.

The tables are the truth, since several service processes may share them; what stands here is at most a second old.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from starlette.requests import cookie_parser

from underfed_server.errors import ForbiddenError, TryLaterError, UnauthorisedError
from underfed_server.ingest.asgi import Headers
from underfed_server.ingest.permission import ALL, EVERYTHING, Permission
from underfed_server.model import TokenMade
from underfed_server.settings import Settings
from underfed_server.store.store import Store
from underfed_server.store.team import access_tokens
from underfed_server.store.upkeep.periodic import PeriodicThread

COOKIE = "underfed_session"
SESSION_LENGTH = timedelta(days=30)
POLL_S = 0.5
"""A token that is revoked anywhere is refused everywhere within a second."""

CLOSING_S = 5.0
NOTED_APART_S = 60.0
LOOKED_UP_APART_S = 0.1
"""Unknown secrets are looked for in the tables no more often: anybody can send them."""


class Access:
    """Starts with :meth:`start`, ends with :meth:`close`. Any thread may ask."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self.is_open = is_open(settings)
        """Nobody is asked for anything."""
        self._proxy_scopes = frozenset(settings.proxy_scopes)
        self._own = {}
        if settings.token is not None:
            digest = access_tokens.digest_of(settings.token)
            self._own[digest] = Permission(ALL, token_id=access_tokens.id_of(digest))
        self._lock = threading.Lock()
        self._used: dict[str, datetime] = {}
        self._listeners: list[Callable[[], None]] = []
        # What it would read at once was just read.
        failed = "tokens could not be read"
        self._thread = PeriodicThread(
            "access", self._follow, failed=failed, failed_s=POLL_S, first_s=POLL_S, closing_s=CLOSING_S
        )
        self._noted_at = time.monotonic()
        self._read_at = 0.0
        self._known = access_tokens.Known({}, {})
        self._token_ids: frozenset[str | None] = frozenset()
        self.refresh()

    @property
    def token_required(self) -> bool:
        return not self.is_open

    # --- who asks ---------------------------------------------------------------------------------

    def known(self, headers: Headers, user: str | None = None) -> Permission | None:
        """What whoever sent these headers may do; ``None``: nobody that is known. Costs a hash and a look-up.

        ``user``: as the proxy says; a token that was sent besides counts instead.
        """
        if self.is_open:
            return EVERYTHING
        # By digest: how long a look-up takes tells nothing of the secret.
        for secret, among in ((_bearer(headers), self._known.tokens), (_cookie(headers), self._known.sessions)):
            permission = among.get(access_tokens.digest_of(secret)) if secret else None
            if permission is not None and not self._is_over(permission):
                return permission
        return None if user is None else Permission(self._proxy_scopes, user=user)

    def look_up(self, headers: Headers, user: str | None = None) -> Permission | None:
        """As :meth:`known`, of the tables as they are now: another process may have made the token or the session.

        Raises:
            TryLaterError: they cannot be read.
        """
        try:
            self.refresh(after_s=LOOKED_UP_APART_S)
        except DBAPIError as error:
            raise TryLaterError("the database cannot be asked for this token") from error
        return self.known(headers, user)

    def is_live(self, permission: Permission) -> bool:
        """It was not revoked since, signed out, or expired."""
        if permission.token_id is None:
            return True
        has_session = permission.session is None or permission.session in self._known.sessions
        return has_session and permission.token_id in self._token_ids and not self._is_over(permission)

    def note_use(self, permission: Permission) -> None:
        if permission.token_id is not None:
            self._used[permission.token_id] = self._store.now()

    def _is_over(self, permission: Permission) -> bool:
        return permission.expires_at is not None and permission.expires_at <= self._store.now()

    # --- sessions ---------------------------------------------------------------------------------

    def sign_in(self, token: str) -> str:
        """A new session for whoever knows a token that may read.

        Raises:
            UnauthorisedError: it is none.
            ForbiddenError: it may not read.
        """
        bearer = {b"authorization": b"Bearer " + token.encode("utf-8", "replace")}
        permission = self.known(bearer) or self.look_up(bearer)
        if permission is None or permission.token_id is None:
            raise UnauthorisedError("this token is not known here", field="token")
        try:
            permission.require("view")
        except ForbiddenError as error:
            raise ForbiddenError(f"{error.message}; the page needs one with 'view'", field="token") from error
        session, token_id = secrets.token_urlsafe(32), permission.token_id
        digest, now = access_tokens.digest_of(session), self._store.now()
        self.write(
            lambda connection: access_tokens.add_session(connection, digest, token_id, now + SESSION_LENGTH, now)
        )
        return session

    def sign_out(self, headers: Headers) -> None:
        secret = _cookie(headers)
        if secret:
            self.write(lambda connection: access_tokens.drop_session(connection, access_tokens.digest_of(secret)))

    # --- the tables -------------------------------------------------------------------------------

    def write(self, work: Callable[[Connection], None]) -> None:
        """Change tokens or sessions: it holds here on return, and in other processes within a second."""
        self._store.write(work)
        self.refresh()

    def refresh(self, *, after_s: float = 0.0) -> None:
        """Read the tables anew, unless that was done less than ``after_s`` ago."""
        asked_at = time.monotonic()
        with self._lock:
            if after_s and asked_at - self._read_at < after_s:
                return
            self._read_at = asked_at
            with self._store.reading() as reader:
                known = access_tokens.read_known(reader.connection, self._store.now(), self._own)
            before, self._known = self._known, known
            self._token_ids = frozenset(permission.token_id for permission in known.tokens.values())
        if before.tokens.keys() - known.tokens.keys() or before.sessions.keys() - known.sessions.keys():
            for heard in self._listeners:
                heard()

    def listen(self, heard: Callable[[], None]) -> None:
        """``heard`` is told, on any thread, when a token or a session ended. It must not block."""
        self._listeners.append(heard)

    def start(self) -> None:
        if not self.is_open:
            self._thread.start()

    def close(self) -> None:
        """Before the store: what is known of uses is written."""
        self._thread.close()
        if not self.is_open:
            self._note_uses()

    def _follow(self) -> float:
        """Where it fails nobody is let in or shut out: what was known holds until the tables can be read again."""
        self.refresh()
        if time.monotonic() - self._noted_at >= NOTED_APART_S:
            self._noted_at = time.monotonic()
            self._note_uses()
        return POLL_S

    def _note_uses(self) -> None:
        used, self._used = self._used, {}
        if used:
            self._store.write(lambda connection: access_tokens.note_uses(connection, used))


def is_open(settings: Settings) -> bool:
    """Only on a loopback address, and not behind a proxy: then everybody who asks is on this machine."""
    return settings.token is None and settings.is_loopback and not settings.proxy_addresses


def open_access(store: Store, settings: Settings) -> tuple[Access, str | None]:
    """The service's access, and a token that was made just now: it is shown once and cannot be read again."""
    made: list[TokenMade] = []

    def make_first(connection: Connection) -> None:
        if not access_tokens.can_administer(connection, store.now()):
            made.append(access_tokens.make_token(connection, name="first start", now=store.now()))

    if settings.token is None and not is_open(settings):
        store.write(make_first)
    return Access(store, settings), made[-1].token if made else None


def _bearer(headers: Headers) -> str:
    scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _cookie(headers: Headers) -> str:
    return cookie_parser(headers.get(b"cookie", b"").decode("latin-1")).get(COOKIE, "")
