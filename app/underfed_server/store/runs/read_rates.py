"""What runs read from a place together, and how many of their loads at once: what a run shows of storage to others."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, delete, select

from underfed_server.model import ReadRate
from underfed_server.store.databases import tables
from underfed_server.store.databases.dialects import upsert

NEWEST = 20
"""Runs of one place: storage changes, and twenty show what it gives."""


def save_read_rate(connection: Connection, now: datetime, run_id: str, rate: ReadRate | None) -> None:
    """Replace what is known of the run."""
    if rate is None:
        connection.execute(delete(tables.read_rate).where(tables.read_rate.c.run_id == run_id))
        return
    row = {"run_id": run_id, "measured_at": now, **rate.model_dump(include=set(tables.read_rate.c.keys()))}
    connection.execute(upsert(connection, tables.read_rate), row)


def read_rates(connection: Connection, run_id: str, place: str) -> list[ReadRate]:
    """Of other runs of the run's project that read from the place, the newest first."""
    run, rate = tables.run.c, tables.read_rate.c
    project = select(run.project).where(run.run_id == run_id).scalar_subquery()
    statement = select(tables.read_rate).join(tables.run, run.run_id == rate.run_id)
    statement = statement.where(rate.place == place, rate.run_id != run_id, run.project == project)
    rows = connection.execute(statement.where(run.deleted_at.is_(None)).order_by(rate.measured_at.desc()).limit(NEWEST))
    return [ReadRate(**{name: row[name] for name in ReadRate.model_fields}) for row in rows.mappings()]
