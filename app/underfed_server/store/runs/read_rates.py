"""What runs read from a place together, and how many of their loads at once: what a run shows of storage to others."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, select

from underfed_server.model import ReadRate
from underfed_server.store.databases import tables
from underfed_server.store.databases.dialects import upsert

NEWEST = 20
"""Runs of one place: storage changes, and twenty show what it gives."""

_run, _rate = tables.run.c, tables.read_rate.c
# Built once: each judgement asks, and building a statement costs more than running it.
_PROJECT = select(_run.project).where(_run.run_id == bindparam("run_id")).scalar_subquery()
_OF_OTHERS = (
    select(tables.read_rate)
    .join(tables.run, _run.run_id == _rate.run_id)
    .where(_rate.place == bindparam("place"), _rate.run_id != bindparam("run_id"))
    .where(_run.project == _PROJECT, _run.deleted_at.is_(None))
    .order_by(_rate.measured_at.desc())
    .limit(NEWEST)
)


def save_read_rate(connection: Connection, now: datetime, run_id: str, rate: ReadRate | None) -> None:
    """Replace what is known of the run."""
    if rate is None:
        connection.execute(delete(tables.read_rate).where(tables.read_rate.c.run_id == run_id))
        return
    row = {"run_id": run_id, "measured_at": now, **rate.model_dump(include=set(tables.read_rate.c.keys()))}
    connection.execute(upsert(connection, tables.read_rate), row)


def read_rates(connection: Connection, run_id: str, place: str) -> list[ReadRate]:
    """Of other runs of the run's project that read from the place, the newest first."""
    rows = connection.execute(_OF_OTHERS, {"run_id": run_id, "place": place})
    return [ReadRate(**{name: row[name] for name in ReadRate.model_fields}) for row in rows.mappings()]
