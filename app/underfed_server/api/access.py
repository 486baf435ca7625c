"""Who may do what: everybody on this machine, or holders of a token or a session, or users signed in by a proxy.

Several service processes may share the tables, which are authoritative; this copy is at most a second old.
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
"""Unknown secrets are looked up in the tables at most this often: anybody can send them."""


class Access:
    """Starts with :meth:`start`, ends with :meth:`close`. Any thread may ask."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self.is_open = is_open(settings)
        """Nobody is asked for a token."""
        self._proxy_scopes = frozenset(settings.proxy_scopes)
        self._own = {}
        if settings.token is not None:
            digest = access_tokens.digest_of(settings.token)
            self._own[digest] = Permission(ALL, token_id=access_tokens.id_of(digest))
        self._lock = threading.Lock()
        self._used: dict[str, datetime] = {}
        self._listeners: list[Callable[[], None]] = []
        # The first round waits: its tables were just read.
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
        """What the sender of these headers may do; ``None``: the sender is not known. Costs a hash and a look-up.

        ``user``: as the proxy says; a token in the headers takes precedence.
        """
        if self.is_open:
            return EVERYTHING
        # By digest: the time of a look-up reveals nothing about the secret.
        for secret, among in ((_bearer(headers), self._known.tokens), (_cookie(headers), self._known.sessions)):
            permission = among.get(access_tokens.digest_of(secret)) if secret else None
            if permission is not None and not self._is_over(permission):
                return permission
        return None if user is None else Permission(self._proxy_scopes, user=user)

    def look_up(self, headers: Headers, user: str | None = None) -> Permission | None:
        """As :meth:`known`, but from the tables as they are now: another process may have created the token or session.

        Raises:
            TryLaterError: the tables cannot be read.
        """
        try:
            self.refresh(after_s=LOOKED_UP_APART_S)
        except DBAPIError as error:
            raise TryLaterError("the database cannot be asked for this token") from error
        return self.known(headers, user)

    def is_live(self, permission: Permission) -> bool:
        """Whether it was not revoked, signed out or expired since."""
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
        """A new session for the holder of a token that may read.

        Raises:
            UnauthorisedError: the token is not known.
            ForbiddenError: the token may not read.
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
        """Change tokens or sessions: effective here on return, and in other processes within a second."""
        self._store.write(work)
        self.refresh()

    def refresh(self, *, after_s: float = 0.0) -> None:
        """Read the tables again, unless that was done less than ``after_s`` ago."""
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
        """``heard`` is called, on any thread, when a token or a session has ended. It must not block."""
        self._listeners.append(heard)

    def start(self) -> None:
        if not self.is_open:
            self._thread.start()

    def close(self) -> None:
        """Call it before the store is closed: it writes when tokens were last used."""
        self._thread.close()
        if not self.is_open:
            self._note_uses()

    def _follow(self) -> float:
        """When reading fails, the last known tokens and sessions hold until the tables can be read again."""
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
    """Only on a loopback address and not behind a proxy: then every client is on this machine."""
    return settings.token is None and settings.is_loopback and not settings.proxy_addresses


def open_access(store: Store, settings: Settings) -> tuple[Access, str | None]:
    """The service's access, and a token if one was just created: it is shown once and cannot be read again."""
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
