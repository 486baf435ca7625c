"""Keeps service processes that share a database from writing the windows of one run at the same time.

The locks are PostgreSQL's advisory ones, of a transaction: they can be taken before there is a row, all in one
statement and in one order, so that two processes never wait for each other; and Citus, which cannot lock rows of
several runs at once, has them too. SQLite has one writer, which needs none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from sqlalchemy import ARRAY, BigInteger, Connection, bindparam, func, select


def lock_runs(connection: Connection, run_ids: Iterable[str]) -> None:
    """Have these runs to oneself until the transaction ends."""
    if connection.dialect.name != "postgresql":
        return
    numbers = bindparam("numbers", sorted(number_of(run_id) for run_id in set(run_ids)), ARRAY(BigInteger))
    # In the order of the array, the same for everybody.
    connection.execute(select(func.pg_advisory_xact_lock(func.unnest(numbers).column_valued("number")))).all()


def lock_run_at_once(connection: Connection, run_id: str) -> bool:
    """As :func:`lock_runs`, unless somebody else has it."""
    if connection.dialect.name != "postgresql":
        return True
    return bool(connection.execute(select(func.pg_try_advisory_xact_lock(number_of(run_id)))).scalar())


def number_of(run_id: str) -> int:
    """64 bits with a sign, as PostgreSQL numbers its locks. Two runs of one number wait for each other: harmless."""
    return int.from_bytes(hashlib.blake2b(run_id.encode(), digest_size=8).digest(), "big", signed=True)
