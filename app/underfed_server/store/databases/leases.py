"""Which of several service processes judges a run: the one that has it on lease, so that no work is done twice."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import Connection, and_, or_, select, update

from underfed_server.store.databases import tables

LEASE = timedelta(seconds=20)
"""A process that died keeps its runs so long. Clocks of the hosts may differ by less than half of it.

A lease that ends later than any can was taken before the clock was set back, and is none.
"""


def claim(connection: Connection, run_id: str, judge: str, now: datetime) -> bool:
    """Have the run to judge for :data:`LEASE`, unless another process has it, or there is none."""
    run = tables.run.c
    latest = now + 1.5 * LEASE
    is_ours = and_(run.judge == judge, run.judge_until.between(now + LEASE / 2, latest))
    # Most often it is ours, and stays so for a while: nothing is written then.
    if connection.execute(select(run.run_id).where(run.run_id == run_id, is_ours)).first():
        return True
    is_free = or_(run.judge.is_(None), run.judge == judge, run.judge_until <= now, run.judge_until > latest)
    taken = update(tables.run).where(run.run_id == run_id, is_free).values(judge=judge, judge_until=now + LEASE)
    return connection.execute(taken).rowcount == 1


def release(connection: Connection, judge: str) -> None:
    """Leave all runs to the other processes at once."""
    run = tables.run.c
    connection.execute(update(tables.run).where(run.judge == judge).values(judge=None, judge_until=None))
