"""What was written of runs lately, by whichever service process."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, select

from underfed_server.store.databases import tables


class News(NamedTuple):
    run_id: str
    changed_at: datetime
    """Of anything: a window, a judgement, what a person changed."""
    last_seen_at: datetime
    """Of a window."""
    diagnosed_at: datetime | None
    """Of a diagnosis that says something else than the one before."""


def read_news(connection: Connection, since: datetime) -> list[News]:
    """Runs that changed since then, the oldest change first."""
    run, diagnosis = tables.run.c, tables.diagnosis.c
    columns = (run.run_id, run.changed_at, run.last_seen_at, diagnosis.changed_at)
    joined = select(*columns).join(tables.diagnosis, diagnosis.run_id == run.run_id, isouter=True)
    return [News(*row) for row in connection.execute(joined.where(run.changed_at >= since).order_by(run.changed_at))]
