"""Who may do what: whoever is on this machine, holders of a token or a session, or users signed in by a proxy.

Several service processes may share the tables, which are authoritative; this copy is at most a second old.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from starlette.requests import cookie_parser

from underfed_server.api.admission import owner_token
from underfed_server.api.admission.proxy import Person
from underfed_server.errors import ForbiddenError, TryLaterError, UnauthorisedError
from underfed_server.ingest.asgi import Headers
from underfed_server.ingest.permission import ALL, NOT_KNOWN, OPEN, Permission
from underfed_server.model import Scope
from underfed_server.proxy_groups import ALL_PROJECTS, in_words
from underfed_server.settings import Settings
from underfed_server.store.runs.audit_log import AuditOf, Author, add_entry, last_content
from underfed_server.store.store import Store
from underfed_server.store.team import access_tokens
from underfed_server.store.upkeep.periodic import PeriodicThread

T = TypeVar("T")

COOKIE = "underfed_session"
SESSION_LENGTH = timedelta(days=30)
POLL_S = 0.5
"""A token that is revoked anywhere is refused everywhere within a second."""

PROXY_SAYS = timedelta(seconds=60)
"""So long a proxy's word on who is signed in counts. It is given with each request, and never that somebody signed out:
an event stream ends then, and the page asks for another through the proxy.
"""

START = Author("underfed serve")
"""In the audit log: what the service does as it starts, by its settings."""

CLOSING_S = 5.0
NOTED_APART_S = 60.0
LOOKED_UP_APART_S = 0.1
"""Unknown secrets are looked up in the tables at most this often: anybody can send them."""


class Credentials(NamedTuple):
    """Digests of the secrets that a request carries. By digest: the time of a look-up reveals nothing of the secret."""

    bearer: bytes | None
    cookie: bytes | None


class Access:
    """Starts with :meth:`start`, ends with :meth:`close`. Any thread may ask."""

    def __init__(self, store: Store, settings: Settings, owner: str | None = None) -> None:
        """``owner``: the token of an open service's owner."""
        self._store = store
        self.is_open = is_open(settings)
        """Nobody is asked for a token, unless to change something."""
        self._proxy_scopes = frozenset(settings.proxy_scopes)
        self._proxy_groups = settings.proxy_groups
        self._own = {}
        for token in filter(None, (settings.token, owner)):
            digest = access_tokens.digest_of(token)
            self._own[digest] = Permission(ALL, token_id=access_tokens.id_of(digest))
        self._chosen = None if settings.token is None else access_tokens.digest_of(settings.token)
        self._link: bytes | None = None
        self._owner_id = None if owner is None else access_tokens.id_of(access_tokens.digest_of(owner))
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

    def of_secret(self, credentials: Credentials) -> Permission | None:
        """What the bearer of these may do; ``None``: unknown. A token is never passed over for the cookie beside it."""
        known = self._known
        if credentials.bearer is not None:
            permission = known.tokens.get(credentials.bearer)
        else:
            permission = None if credentials.cookie is None else known.sessions.get(credentials.cookie)
        return None if permission is None or self._is_over(permission) else permission

    def knows(self, digest: bytes) -> bool:
        """Whether it is that of a token or a session."""
        return digest in self._known.tokens or digest in self._known.sessions

    def knows_random(self, digest: bytes) -> bool:
        """Whether it is that of a secret created here, of 256 random bits: not of a token that somebody chose."""
        return digest == self._link or (self.knows(digest) and digest != self._chosen)

    def permission(self, found: Permission | None, person: Person | None) -> Permission | None:
        """What a request may do whose secret permits ``found``; ``None``: nothing. ``person``: as the proxy says."""
        if self.is_open:
            return found if found is not None and found.has_anywhere("admin") else OPEN
        if found is not None or person is None:
            return found
        in_projects: dict[str, frozenset[Scope]] = {}
        for group in person.groups:
            for project, scope in self._proxy_groups[group].items():
                in_projects[project] = in_projects.get(project, frozenset()) | {scope}
        in_all = self._proxy_scopes | in_projects.pop(ALL_PROJECTS, frozenset())
        expires_at = self._store.now() + PROXY_SAYS
        return Permission(in_all, in_projects, user=person.name, expires_at=expires_at)

    def look_up(self, credentials: Credentials) -> Permission | None:
        """As :meth:`of_secret`, but from the tables as they are now: another process may have created it.

        Raises:
            TryLaterError: the tables cannot be read.
        """
        try:
            self.refresh(after_s=LOOKED_UP_APART_S)
        except DBAPIError as error:
            raise TryLaterError("the database cannot be asked for this token") from error
        return self.of_secret(credentials)

    def is_live(self, permission: Permission) -> bool:
        """Whether it was not revoked, signed out or expired since."""
        if permission.token_id is None:
            return not self._is_over(permission)
        has_session = permission.session is None or permission.session in self._known.sessions
        return has_session and permission.token_id in self._token_ids and not self._is_over(permission)

    def note_use(self, permission: Permission) -> None:
        if permission.token_id is not None:
            self._used[permission.token_id] = self._store.now()

    def _is_over(self, permission: Permission) -> bool:
        return permission.expires_at is not None and permission.expires_at <= self._store.now()

    def name_of(self, permission: Permission) -> str:
        """Who that is, for people: the user that a proxy names, else the name of the token."""
        if permission.user is not None or permission.token_id is None:
            return permission.user or ""
        if permission.token_id == self._owner_id:
            return "owner"
        if self._chosen is not None and permission.token_id == access_tokens.id_of(self._chosen):
            return "UNDERFED_TOKEN"
        with self._store.reading() as reader:
            return access_tokens.name_of(reader.connection, permission.token_id)

    # --- sessions ---------------------------------------------------------------------------------

    def sign_in(self, token: str) -> str:
        """A new session for the holder of a token that may read.

        Raises:
            UnauthorisedError: the token is not known.
            ForbiddenError: the token may not read.
        """
        bearer = Credentials(access_tokens.digest_of(token), None)
        permission = self._of_link(bearer) or self.of_secret(bearer) or self.look_up(bearer)
        if permission is None or permission.token_id is None:
            raise UnauthorisedError(NOT_KNOWN, field="token")
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
        digest = credentials_of(headers).cookie
        if digest is not None:
            self.write(lambda connection: access_tokens.drop_session(connection, digest))

    def new_link(self) -> str | None:
        """A secret with which a browser signs in as the owner of an open service, once; ``None``: there is no owner.

        Where it is printed others may read it later; the token itself is in no log and in no list of processes.
        """
        if self._owner_id is None:
            return None
        secret = secrets.token_urlsafe(32)
        self._link = access_tokens.digest_of(secret)
        return secret

    def _of_link(self, credentials: Credentials) -> Permission | None:
        if self._link is None or credentials.bearer != self._link:
            return None
        self._link = None
        return Permission(ALL, token_id=self._owner_id)

    # --- the tables -------------------------------------------------------------------------------

    def write(self, work: Callable[[Connection], T]) -> T:
        """Change tokens or sessions: effective here on return, and in other processes within a second."""
        done = self._store.write(work)
        self.refresh()
        return done

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
            for listener in self._listeners:
                listener()

    def listen(self, listener: Callable[[], None]) -> None:
        """``listener`` is called, on any thread, when a token or a session has ended. It must not block."""
        self._listeners.append(listener)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Call it before the store is closed: it writes when tokens were last used."""
        self._thread.close()
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
    """Only on a loopback address and not behind a proxy that the settings name: others are refused by their headers."""
    return settings.token is None and settings.is_loopback and not settings.proxy_addresses


def open_access(store: Store, settings: Settings) -> tuple[Access, str | None]:
    """The service's access, and a token if one was just created: it is shown once and cannot be read again."""

    def make_first(connection: Connection) -> str | None:
        if access_tokens.can_administer(connection, store.now()):
            return None
        return access_tokens.make_token(connection, name="first start", now=store.now(), by=START).token

    owner = made = None
    if is_open(settings):
        owner = None if settings.owner_token_path is None else owner_token.read_or_make(settings.owner_token_path)
    elif settings.token is None:
        made = store.write(make_first)
    _note_groups(store, in_words(settings.proxy_groups))
    return Access(store, settings, owner), made


def _note_groups(store: Store, after: dict[str, str]) -> None:
    """In the audit log, where groups may do something else than at the last start. Where nothing changed nothing is
    written: a service starts with a full disk too.
    """
    with store.reading() as reader:
        before = last_content(reader.connection, "groups_changed")
    if before != (after or None):
        changed = AuditOf("groups_changed", "groups", before=before, after=after)
        store.write(lambda connection: add_entry(connection, store.now(), START, changed))


NO_CREDENTIALS = Credentials(None, None)


def credentials_of(headers: Headers) -> Credentials:
    if b"authorization" not in headers and b"cookie" not in headers:
        return NO_CREDENTIALS
    scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    bearer = token.strip() if scheme.lower() == "bearer" else ""
    cookie = cookie_parser(headers.get(b"cookie", b"").decode("latin-1")).get(COOKIE, "")
    return Credentials(_digest(bearer), _digest(cookie))


def _digest(secret: str) -> bytes | None:
    return access_tokens.digest_of(secret) if secret else None
