"""Access tokens and the sessions that browsers open with them; only their SHA-256 is kept.

Both are 256 random bits, which nobody guesses: a slow hash would protect nothing more.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection, RowMapping, delete, insert, select, update

from underfed_server.errors import NotFoundError
from underfed_server.ingest.permission import ALL, Permission, of_token
from underfed_server.model import Scope, TokenInfo, TokenMade
from underfed_server.names import Projects
from underfed_server.store.databases import tables
from underfed_server.store.runs.audit_log import UNKNOWN, AuditOf, Author, add_entry

MOST_SESSIONS = 1_000
"""Sessions of one token: every process reads all of them twice a second."""


@dataclass(frozen=True, slots=True)
class Known:
    """Tokens and sessions that are valid at one moment, by the digest of their secret."""

    tokens: dict[bytes, Permission]
    sessions: dict[bytes, Permission]


def digest_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()


def id_of(digest: bytes) -> str:
    """The id of a token. It reveals nothing about the secret, which is random."""
    return digest.hex()[:8]


def read_known(connection: Connection, now: datetime, own: Mapping[bytes, Permission]) -> Known:
    """Tokens that are neither revoked nor expired, those that the service was started with (``own``), and the sessions
    of both.
    """
    tokens = dict(own)
    for row in _live(connection, now):
        tokens[row["digest"]] = of_token(row["scopes"], row["project"], row["token_id"], row["expires_at"])
    by_id = {permission.token_id: permission for permission in tokens.values()}
    session = tables.session.c
    rows = connection.execute(
        select(session.digest, session.token_id, session.expires_at).where(session.expires_at > now)
    )
    sessions = {
        row.digest: session_of(by_id[row.token_id], row.digest, row.expires_at) for row in rows if row.token_id in by_id
    }
    return Known(tokens, sessions)


def session_of(permission: Permission, digest: bytes, expires_at: datetime) -> Permission:
    """The permission of a browser that signed in with a token; it ends with the token, if not before."""
    ends_at = expires_at if permission.expires_at is None else min(expires_at, permission.expires_at)
    return replace(permission, session=digest, expires_at=ends_at)


def can_administer(connection: Connection, now: datetime) -> bool:
    """Whether a token exists that may create tokens for every project."""
    return any("admin" in row["scopes"] and row["project"] is None for row in _live(connection, now))


def list_tokens(connection: Connection) -> list[TokenInfo]:
    """The newest first, expired ones too."""
    columns = (tables.token.c[name] for name in TokenInfo.model_fields)
    statement = select(*columns).order_by(tables.token.c.made_at.desc(), tables.token.c.token_id)
    return [TokenInfo(**row) for row in connection.execute(statement).mappings()]


def name_of(connection: Connection, token_id: str) -> str:
    """As it was created; empty: there is no such token."""
    token = tables.token.c
    return str(connection.execute(select(token.name).where(token.token_id == token_id)).scalar() or "")


def make_token(
    connection: Connection,
    *,
    name: str,
    now: datetime,
    scopes: Collection[Scope] = ALL,
    project: str | None = None,
    expires_at: datetime | None = None,
    by: Author = UNKNOWN,
) -> TokenMade:
    """A new token with its secret, which is returned only here."""
    secret = secrets.token_urlsafe(32)
    digest = digest_of(secret)
    made = TokenMade(
        token_id=id_of(digest),
        name=name,
        scopes=sorted(scopes),
        project=project,
        made_at=now,
        expires_at=expires_at,
        last_used_at=None,
        revoked_at=None,
        token=secret,
    )
    connection.execute(insert(tables.token), made.model_dump(exclude={"token"}) | {"digest": digest})
    add_entry(connection, now, by, AuditOf("token_created", name, project, after=in_words(made)))
    return made


def revoke_token(
    connection: Connection, token_id: str, now: datetime, within: Projects = None, by: Author = UNKNOWN
) -> None:
    """End a token and its sessions; revoking it again does nothing.

    Raises:
        NotFoundError: there is no such token, or it is not bound to one of these projects.
    """
    token = tables.token.c
    found = next((each for each in list_tokens(connection) if each.token_id == token_id), None)
    if found is None or (within is not None and found.project not in within):
        raise NotFoundError(f"there is no token {token_id!r}", field="token_id")
    if found.revoked_at is None:
        connection.execute(update(tables.token).where(token.token_id == token_id).values(revoked_at=now))
        add_entry(connection, now, by, AuditOf("token_revoked", found.name, found.project, before=in_words(found)))
    connection.execute(delete(tables.session).where(tables.session.c.token_id == token_id))


def in_words(token: TokenInfo) -> str:
    """``1f0c4e2a: edit, view, until 2026-12-01``, as the audit log has it."""
    until = "" if token.expires_at is None else f", until {token.expires_at:%Y-%m-%d}"
    return f"{token.token_id}: {', '.join(token.scopes)}{until}"


def note_uses(connection: Connection, used: Mapping[str, datetime]) -> None:
    """When each token was last used."""
    for token_id, used_at in used.items():
        at = update(tables.token).where(tables.token.c.token_id == token_id)
        connection.execute(at.values(last_used_at=used_at))


def add_session(connection: Connection, digest: bytes, token_id: str, expires_at: datetime, now: datetime) -> None:
    """Also deletes expired sessions, and the oldest ones of a token that has too many."""
    session = tables.session.c
    connection.execute(delete(tables.session).where(session.expires_at <= now))
    connection.execute(insert(tables.session), {"digest": digest, "token_id": token_id, "expires_at": expires_at})
    ends = select(session.expires_at).where(session.token_id == token_id).order_by(session.expires_at.desc())
    last = connection.execute(ends.offset(MOST_SESSIONS - 1).limit(1)).scalar()
    if last is not None:
        connection.execute(delete(tables.session).where(session.token_id == token_id, session.expires_at < last))


def drop_session(connection: Connection, digest: bytes) -> None:
    connection.execute(delete(tables.session).where(tables.session.c.digest == digest))


def _live(connection: Connection, now: datetime) -> list[RowMapping]:
    token = tables.token.c
    statement = select(tables.token).where(token.revoked_at.is_(None))
    rows = connection.execute(statement).mappings().all()
    return [row for row in rows if row["expires_at"] is None or row["expires_at"] > now]
