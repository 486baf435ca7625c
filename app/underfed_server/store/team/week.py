"""The last two weeks in hours: how many were used, how many of them were lost waiting for input, and to what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, time, timedelta, timezone
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import BigInteger, ColumnElement, Connection, func, select, type_coerce

from underfed_server.model import CauseHours, DayHours, Week
from underfed_server.store.databases import tables

DAYS = 14
DAY = timedelta(days=1)
DAY_US = DAY // tables.MICROSECOND

Hours = NDArray[np.float64]


def read_week(
    connection: Connection, now: datetime, conditions: Sequence[ColumnElement[bool]], gone: ColumnElement[bool]
) -> Week:
    """Seven UTC days, today included, and the seven before, of the judged runs for which all conditions hold, and of
    removed ones for which ``gone`` does: what a run lost stays lost.

    A run's hours are spread evenly over the time from its start to its end: exact for runs within one day.
    """
    first = first_of_days(DAYS, now)
    started_us, ended_us, hours_lost, hours_used, causes, on_gpu = _judged(connection, first, conditions, gone)
    shares = _shares(started_us, ended_us, tables.unix_us(first))
    lost, used = (shares * np.array(hours).reshape(-1, 1) for hours in (hours_lost, hours_used))
    half = DAYS // 2
    lost_a_day, used_a_day = lost.sum(axis=0), used.sum(axis=0)
    return Week(
        hours_lost=float(lost_a_day[half:].sum()),
        hours_used=float(used_a_day[half:].sum()),
        previous_hours_lost=float(lost_a_day[:half].sum()),
        previous_hours_used=float(used_a_day[:half].sum()),
        on_gpu=bool(on_gpu) and all(on_gpu),
        gpu_hours_lost=float(lost[np.array(on_gpu, dtype=bool), half:].sum()),
        by_cause=_by_cause(causes, lost[:, half:].sum(axis=1)),
        days=[
            DayHours(day=str((first + day * DAY).date()), hours_lost=lost_a_day[day], hours_used=used_a_day[day])
            for day in range(DAYS)
        ],
    )


def first_of_days(days: int, now: datetime) -> datetime:
    """When the first of so many UTC days began, the last of which is today."""
    return datetime.combine(now.astimezone(timezone.utc).date(), time(), timezone.utc) - (days - 1) * DAY


def _judged(
    connection: Connection, since: datetime, conditions: Sequence[ColumnElement[bool]], gone: ColumnElement[bool]
) -> Sequence[Sequence[Any]]:
    """Column by column: start and end in Unix microseconds, hours lost and used, cause, whether on GPUs."""
    run, removed = tables.run.c, tables.removed_run.c
    ended = func.coalesce(run.ended_at, run.last_seen_at)
    judged = (run.hours_lost.is_not(None), run.hours_used.is_not(None), *conditions)
    rows: list[Sequence[Any]] = []
    for table, ended_at, wanted in ((run, ended, judged), (removed, removed.ended_at, (gone,))):
        columns = (
            type_coerce(table.started_at, BigInteger), type_coerce(ended_at, BigInteger), table.hours_lost,
            table.hours_used, table.cause, table.gpu_hours_lost.is_not(None),
        )  # fmt: skip
        rows += connection.execute(select(*columns).where(ended_at >= since, *wanted))
    # Thousands of rows become arrays at once: row by row that takes as long as all the rest.
    return list(zip(*rows, strict=True)) or [()] * 6


def _shares(started_us: Sequence[int], ended_us: Sequence[int], first_us: int) -> Hours:
    """By run and day: the share of the run's life that fell on the day. A run of no length counts on its day."""
    started, ended = (np.array(instants, dtype=np.int64).reshape(-1, 1) for instants in (started_us, ended_us))
    begin = first_us + DAY_US * np.arange(DAYS)
    overlap = np.clip(np.minimum(ended, begin + DAY_US) - np.maximum(started, begin), 0, None)
    at_once = (ended <= started) & (started >= begin) & (started < begin + DAY_US)
    return np.asarray(np.where(at_once, 1.0, overlap / np.maximum(ended - started, 1)), dtype=np.float64)


def _by_cause(causes: Sequence[Any], lost: Iterable[float]) -> list[CauseHours]:
    """Most hours first."""
    hours: dict[Any, float] = dict.fromkeys(causes, 0.0)
    for cause, amount in zip(causes, lost, strict=True):
        hours[cause] += float(amount)
    found = [CauseHours(cause=cause, hours_lost=amount) for cause, amount in hours.items() if amount > 0]
    return sorted(found, key=lambda each: -each.hours_lost)
