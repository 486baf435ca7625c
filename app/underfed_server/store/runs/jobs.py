"""The list of runs grouped by job: one line for each, led by its newest run."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Connection, Subquery, case, func, literal, null, select, type_coerce

from underfed_server.errors import InvalidError
from underfed_server.store.databases import tables
from underfed_server.store.databases.dialects import bytewise
from underfed_server.store.runs.cursor import Cursor, read_cursor, write_cursor
from underfed_server.store.runs.lines import Lines, line_columns
from underfed_server.store.runs.listing import SORTS, RunFilter, after, conditions_of, keys_of, order_of

TREND = 20
"""Runs whose wait a line shows."""

OWN_SORTS = ("runs", "hours_lost")
"""What is of all runs of a job; by all else the newest run decides."""


def read_jobs(connection: Connection, asked: RunFilter, now: datetime, lines: Lines) -> bytes:
    """The JSON of a :class:`~underfed_server.model.JobsPage`: of the runs that pass the filter.

    Raises:
        InvalidError: no such sort or cursor, or an expression that cannot be understood.
    """
    ranked = _ranked(asked, now)
    key, place = ranked.c.sorted_by, (ranked.c.started_us, bytewise(ranked.c.run_id))
    statement = select(ranked).where(ranked.c.nth == 1)
    if asked.cursor is not None:
        statement = statement.where(after(read_cursor(asked.cursor, asked.sort), key, null(), place))
    order = order_of(asked.sort, key, null(), place)
    rows = connection.execute(statement.order_by(*order).limit(asked.limit + 1)).all()
    page, last = rows[: asked.limit], rows[asked.limit - 1] if len(rows) > asked.limit else None
    cursor = None if last is None else Cursor(asked.sort, last.sorted_by, last.started_us, last.run_id)
    pieces = lines.read(connection, page, now)
    newest = [b"".join(pieces[at : at + 2]).removesuffix(b",") for at in range(0, len(pieces), 2)]
    trends = _trends(connection, ranked, page)
    jobs = b",".join(_line(row, trends, line) for row, line in zip(page, newest, strict=True))
    written = json.dumps(None if cursor is None else write_cursor(cursor))
    return b'{"jobs":[' + jobs + b'],"next_cursor":' + written.encode() + b"}"


def _ranked(asked: RunFilter, now: datetime) -> Subquery:
    """Runs that pass the filter, numbered within their job from the newest on, with what is of the whole job."""
    run, sort = tables.run.c, asked.sort.removeprefix("-")
    # Runs without a job have nothing in common.
    group = case((run.job == "", literal("run ") + run.run_id), else_=literal("job ") + run.job)
    started_us = type_coerce(run.started_at, BigInteger)
    together: dict[str, Any] = {"partition_by": (run.project, group)}
    of_all: Mapping[str, ColumnElement[Any]] = {
        "runs": func.count().over(**together),
        "hours_lost": func.sum(run.hours_lost).over(**together),
        "gpu_hours_lost": func.sum(run.gpu_hours_lost).over(**together),
    }
    if sort not in (*OWN_SORTS, *SORTS):
        raise InvalidError(f"sort: {sort!r} is none of {', '.join((*SORTS, 'runs'))}", field="sort")
    key = of_all[sort] if sort in OWN_SORTS else keys_of(asked.sort, now)[0]
    order = (started_us.desc(), bytewise(run.run_id).asc())
    return (
        select(
            *line_columns(now), run.project, run.job, group.label("group"), started_us.label("started_us"),
            run.data_stall_fraction, *(column.label(name) for name, column in of_all.items()),
            key.label("sorted_by"), func.row_number().over(**together, order_by=order).label("nth"),
        )
        .where(*conditions_of(asked, now, asked.status))
        .subquery()
    )  # fmt: skip


def _trends(connection: Connection, ranked: Subquery, page: Sequence[Any]) -> Mapping[tuple[str, str], list[Any]]:
    """By project and group, oldest first."""
    found: dict[tuple[str, str], list[Any]] = defaultdict(list)
    of_page = ranked.c.group.in_([row.group for row in page])
    columns = (ranked.c.project, ranked.c.group, ranked.c.data_stall_fraction)
    newest = select(*columns).where(of_page, ranked.c.nth <= TREND).order_by(ranked.c.nth.desc())
    for project, group, fraction in connection.execute(newest):
        found[project, group].append(fraction)
    return found


def _line(row: Any, trends: Mapping[tuple[str, str], list[Any]], newest: bytes) -> bytes:
    said = {name: getattr(row, name) for name in ("job", "project", "runs", "hours_lost", "gpu_hours_lost")}
    said["trend"] = trends[row.project, row.group]
    return json.dumps(said)[:-1].encode() + b',"newest":' + newest + b"}"
