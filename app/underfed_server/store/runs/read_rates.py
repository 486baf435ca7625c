"""What runs read from a place together, and how many of their loads at once: what a run shows of storage to others."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select

from underfed_server.model import ReadRate
from underfed_server.store.databases import tables
from underfed_server.store.databases.dialects import put

NEWEST = 20
"""Runs of one place: storage changes, and twenty show what it gives."""

_run, _rate = tables.run.c, tables.read_rate.c
# Built once: each judgement asks, and building a statement costs more than running it.
_PROJECT = select(_run.project).where(_run.run_id == bindparam("run_id")).scalar_subquery()
_FORGOTTEN = delete(tables.read_rate).where(_rate.run_id == bindparam("run_id"))
_OF_OTHERS = (
    select(tables.read_rate)
    .join(tables.run, _run.run_id == _rate.run_id)
    .where(_rate.place == bindparam("place"), _rate.run_id != bindparam("run_id"))
    .where(_run.project == _PROJECT, _run.deleted_at.is_(None))
    .order_by(_rate.measured_at.desc())
    .limit(NEWEST)
)


def save_read_rate(connection: Connection, now: datetime, run_id: str, rate: Mapping[str, Any] | None) -> None:
    """Replace what is known of the run. ``rate``: see :func:`columns_of`."""
    if rate is None:
        connection.execute(_FORGOTTEN, {"run_id": run_id})
    else:
        put(connection, tables.read_rate, {"run_id": run_id, "measured_at": now, **rate})


def columns_of(rate: ReadRate | None) -> Mapping[str, Any] | None:
    """What of it is stored."""
    return None if rate is None else rate.model_dump(include=set(tables.read_rate.c.keys()))


def read_rates(connection: Connection, run_id: str, place: str) -> list[ReadRate]:
    """Of other runs of the run's project that read from the place, the newest first."""
    rows = connection.execute(_OF_OTHERS, {"run_id": run_id, "place": place})
    return [ReadRate(**{name: row[name] for name in ReadRate.model_fields}) for row in rows.mappings()]
