"""Access tokens and the sessions that browsers open with them; only their SHA-256 is kept.

Both are 256 random bits, which nobody guesses: a slow hash would protect nothing more.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, insert, select

from underfed_server.store import tables


def token_digests(connection: Connection) -> list[bytes]:
    return list(connection.execute(select(tables.token.c.digest)).scalars())


def add_token(connection: Connection, digest: bytes, now: datetime) -> None:
    row = {"digest": digest, "token_id": digest.hex()[:8], "name": "first start", "made_at": now}
    connection.execute(insert(tables.token), row | {"scopes": ["ingest", "view", "admin"]})


def sessions(connection: Connection, now: datetime) -> dict[bytes, datetime]:
    """Digest and end of those that are not over."""
    session = tables.session.c
    statement = select(session.digest, session.expires_at).where(session.expires_at > now)
    return {row.digest: row.expires_at for row in connection.execute(statement)}


def add_session(connection: Connection, digest: bytes, token_id: str, expires_at: datetime, now: datetime) -> None:
    """Those that are over are dropped meanwhile."""
    connection.execute(delete(tables.session).where(tables.session.c.expires_at <= now))
    connection.execute(insert(tables.session), {"digest": digest, "token_id": token_id, "expires_at": expires_at})


def drop_session(connection: Connection, digest: bytes) -> None:
    connection.execute(delete(tables.session).where(tables.session.c.digest == digest))
