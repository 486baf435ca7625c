"""The last two weeks in hours: how many were used, how many of them were lost waiting for input, and to what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, time, timedelta, timezone

from sqlalchemy import Connection, RowMapping, func, select

from underfed_server.model import Cause, CauseHours, DayHours, Week
from underfed_server.store import tables

DAYS = 14
DAY = timedelta(days=1)


def read_week(connection: Connection, now: datetime) -> Week:
    """Seven UTC days, today among them, against the seven before, of runs that were judged.

    A run's hours are spread evenly over the time from its start to its end: exact for runs within one day.
    """
    first = datetime.combine(now.astimezone(timezone.utc).date(), time(), timezone.utc) - (DAYS - 1) * DAY
    lost, used = [0.0] * DAYS, [0.0] * DAYS
    by_cause: dict[Cause | None, float] = defaultdict(float)
    rows = _judged(connection, first)
    for row in rows:
        for day, share in _shares(row["started_at"], row["ended_at"] or row["last_seen_at"], first):
            lost[day] += share * row["hours_lost"]
            used[day] += share * row["hours_used"]
            if day >= DAYS // 2:
                by_cause[row["cause"]] += share * row["hours_lost"]
    half = DAYS // 2
    return Week(
        hours_lost=sum(lost[half:]),
        hours_used=sum(used[half:]),
        previous_hours_lost=sum(lost[:half]),
        previous_hours_used=sum(used[:half]),
        on_gpu=bool(rows) and all(row["gpu_hours_lost"] is not None for row in rows),
        by_cause=_largest_first(by_cause),
        days=[
            DayHours(day=str((first + day * DAY).date()), hours_lost=lost[day], hours_used=used[day])
            for day in range(DAYS)
        ],
    )


def _judged(connection: Connection, since: datetime) -> Sequence[RowMapping]:
    run = tables.run.c
    columns = (
        run.started_at, run.ended_at, run.last_seen_at, run.hours_lost, run.hours_used, run.gpu_hours_lost, run.cause,
    )  # fmt: skip
    is_recent = func.coalesce(run.ended_at, run.last_seen_at) >= since
    statement = select(*columns).where(is_recent, run.hours_lost.is_not(None), run.hours_used.is_not(None))
    return connection.execute(statement).mappings().all()


def _shares(started_at: datetime, ended_at: datetime, first: datetime) -> Iterator[tuple[int, float]]:
    """Days since ``first`` that a run was active on, with the share of it that fell on each."""
    span = ended_at - started_at
    for day in range(max(0, (started_at - first) // DAY), min(DAYS, (ended_at - first) // DAY + 1)):
        begin = first + day * DAY
        overlap = min(ended_at, begin + DAY) - max(started_at, begin)
        yield day, overlap / span if span > timedelta() else 1.0


def _largest_first(hours: dict[Cause | None, float]) -> list[CauseHours]:
    lost = [CauseHours(cause=cause, hours_lost=amount) for cause, amount in hours.items() if amount > 0]
    return sorted(lost, key=lambda each: -each.hours_lost)
