"""What runs used and lost and how many ended, counted so that no figure ever falls: not when a run is judged anew, is
deleted or removed for good, nor when the service starts again. Prometheus takes a smaller value for a new beginning and
would count all of it again.

Amounts are integers, as sums of floats depend on their order. What a run lost is at least what was counted of it
before, and what it loses more is counted for the cause that leads then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, RowMapping, bindparam, func, select, true

from underfed_server.model import Diagnosis
from underfed_server.names import Projects
from underfed_server.store.databases import tables
from underfed_server.store.databases.dialects import put

US_PER_HOUR = 3_600_000_000

_run, _loss = tables.counted_run.c, tables.counted_loss.c

Amounts = Mapping[tuple[str, ...], int]


@dataclass(frozen=True, slots=True)
class Counted:
    """All runs that there have ever been, the greatest amounts first."""

    gpu_lost_us: Amounts
    """By project, user and cause; an empty cause: none was found."""
    gpu_us: Amounts
    """By project and user: time of GPUs in training loops."""
    runs: Amounts
    """By project and verdict: runs that ended, counted once, by the first verdict from then on."""
    left_out: int
    """Amounts beyond the limit."""


class ToCount(NamedTuple):
    """What is counted of a run by its verdict."""

    bound: str | None
    """``None``: the run has not ended."""
    cause: str
    gpu_lost_us: int | None
    gpu_us: int | None


def to_count(diagnosis: Diagnosis) -> ToCount:
    lost_us, used_us = (_us(hours) for hours in (diagnosis.gpu_hours_lost, diagnosis.hours_used))
    cause = diagnosis.causes[0].cause if diagnosis.causes else ""
    return ToCount(None if diagnosis.status == "running" else diagnosis.bound, cause, lost_us, used_us)


# Built once: building a statement costs more than running it.
_OF_RUN = select(tables.counted_run).where(_run.run_id == bindparam("run_id"))
_LOST = select(_loss.cause, _loss.gpu_lost_us).where(_loss.run_id == bindparam("run_id"))


def count_run(connection: Connection, run_id: str, row: RowMapping, new: ToCount) -> None:
    """Add what was not counted yet of ``new``. ``row``: the run's."""
    if new.gpu_lost_us is None and new.bound is None:
        return
    # Project and user stay those that it was first counted for, as the amounts do.
    found = connection.execute(_OF_RUN, {"run_id": run_id}).mappings().first()
    known = dict(found or {"project": row["project"], "user": row["user"], "bound": None, "gpu_us": 0})
    gpu_us = known["gpu_us"] if new.gpu_lost_us is None else max(known["gpu_us"], new.gpu_us or 0)
    of_run = {"run_id": run_id, "project": known["project"], "user": known["user"]}
    put(connection, tables.counted_run, of_run | {"bound": known["bound"] or new.bound, "gpu_us": gpu_us})
    if new.gpu_lost_us:
        _count_loss(connection, of_run | {"cause": new.cause}, new.gpu_lost_us)


def _count_loss(connection: Connection, key: Mapping[str, str], lost_us: int) -> None:
    rows = connection.execute(_LOST, {"run_id": key["run_id"]})
    counted = {cause: int(amount) for cause, amount in rows}
    more_us = lost_us - sum(counted.values())
    if more_us > 0:
        put(connection, tables.counted_loss, {**key, "gpu_lost_us": counted.get(key["cause"], 0) + more_us})


def read_counted(connection: Connection, projects: Projects, limit: int) -> Counted:
    """At most ``limit`` amounts of each kind; of these projects."""
    asked: Sequence[tuple[ColumnElement[int], ColumnElement[bool], tuple[ColumnElement[str], ...]]] = (
        (func.sum(_loss.gpu_lost_us), true(), (_loss.project, _loss.user, _loss.cause)),
        (func.sum(_run.gpu_us), _run.gpu_us > 0, (_run.project, _run.user)),
        (func.count(), _run.bound.is_not(None), (_run.project, _run.bound)),
    )
    found: list[Amounts] = []
    left_out = 0
    for total, counts, by in asked:
        sums = select(*by, total).where(counts, tables.is_of(by[0], projects)).group_by(*by)
        rows = connection.execute(sums.order_by(total.desc(), *by)).all()
        found.append({tuple(row[:-1]): int(row[-1]) for row in rows[:limit]})
        left_out += max(0, len(rows) - limit)
    lost, used, ended = found
    return Counted(lost, used, ended, left_out)


def _us(hours: float | None) -> int | None:
    return None if hours is None else round(hours * US_PER_HOUR)
