"""Whether the database takes writes: by writing, for only that tells."""

from __future__ import annotations

import os

from sqlalchemy import Connection, delete, insert

from underfed_server.store.databases import tables


def prove_writable(connection: Connection) -> None:
    """Write a row and take it back in the same transaction, which nobody sees.

    An empty transaction would not touch the disk, and a full one would pass for healthy.
    """
    session, digest = tables.session, os.urandom(32)
    row = {"digest": digest, "token_id": "", "expires_at": tables.UNIX_EPOCH}
    connection.execute(insert(session).values(row))
    connection.execute(delete(session).where(session.c.digest == digest))
