"""Keeps service processes that share a database from writing, or judging, one run at the same time.

The locks are PostgreSQL's advisory ones, of a transaction: they can be taken before there is a row, all in one
statement and in one order, so that two processes never wait for each other; and where a database spreads runs over
servers, whose rows cannot be locked together, too. SQLite has one writer, which needs none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta

from sqlalchemy import ARRAY, BigInteger, Connection, and_, bindparam, func, or_, select, update

from underfed_server.store.databases import tables

LEASE = timedelta(seconds=20)
"""A process that died keeps its runs for this long. Clocks of the hosts may differ by less than half of it. A lease
that ends later than any can was taken before the clock was set back, and is void.
"""


def lock_runs(connection: Connection, run_ids: Iterable[str]) -> None:
    """Lock these runs until the transaction ends."""
    if connection.dialect.name != "postgresql":
        return
    numbers = bindparam("numbers", sorted(number_of(run_id) for run_id in set(run_ids)), ARRAY(BigInteger))
    # In the order of the array, the same for everybody.
    connection.execute(select(func.pg_advisory_xact_lock(func.unnest(numbers).column_valued("number")))).all()


def lock_run_at_once(connection: Connection, run_id: str) -> bool:
    """As :func:`lock_runs` for one run, without waiting: ``False`` where another transaction has locked it."""
    if connection.dialect.name != "postgresql":
        return True
    return bool(connection.execute(select(func.pg_try_advisory_xact_lock(number_of(run_id)))).scalar())


def number_of(run_id: str) -> int:
    """64 bits with a sign, as PostgreSQL numbers its locks. Two runs with one number wait for each other, which is
    harmless."""
    return int.from_bytes(hashlib.blake2b(run_id.encode(), digest_size=8).digest(), "big", signed=True)


def claim_run(connection: Connection, now: datetime, run_id: str, judge: str) -> bool:
    """Lease the run for judging, for :data:`LEASE`, unless another process holds it or there is no such run."""
    run = tables.run.c
    latest = now + 1.5 * LEASE
    is_ours = and_(run.judge == judge, run.judge_until.between(now + LEASE / 2, latest))
    # Most often this process holds it and will for a while: then nothing is written.
    if connection.execute(select(run.run_id).where(run.run_id == run_id, is_ours)).first():
        return True
    is_free = or_(run.judge.is_(None), run.judge == judge, run.judge_until <= now, run.judge_until > latest)
    taken = update(tables.run).where(run.run_id == run_id, is_free).values(judge=judge, judge_until=now + LEASE)
    return connection.execute(taken).rowcount == 1


def release_runs(connection: Connection, judge: str) -> None:
    """Release all leases, so that other processes can judge the runs at once."""
    run = tables.run.c
    connection.execute(update(tables.run).where(run.judge == judge).values(judge=None, judge_until=None))
