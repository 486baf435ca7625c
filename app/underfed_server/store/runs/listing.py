"""The list of runs, searched and sorted, and what a person may change in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple, get_args

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    RowMapping,
    Text,
    and_,
    literal,
    or_,
    select,
    type_coerce,
    update,
)

from underfed_server.errors import InvalidError
from underfed_server.model import Bound, RunSummary, Status, StatusCounts
from underfed_server.search.expression import Comparison, Expression, Term
from underfed_server.search.parse import parse
from underfed_server.store.databases import tables
from underfed_server.store.databases.dialects import bytewise
from underfed_server.store.runs.cursor import Cursor, read_cursor, write_cursor
from underfed_server.store.runs.lines import Lines, line_columns
from underfed_server.store.runs.searching import NAME, conditions
from underfed_server.store.runs.status import count_by_status, status_column
from underfed_server.store.runs.summaries import index_tags, run_row, summaries

_COLUMNS: Mapping[str, ColumnElement[Any]] = {
    "name": bytewise(NAME),
    "data_stall_fraction": tables.run.c.data_stall_fraction,
    "hours_lost": tables.run.c.hours_lost,
    "predicted_speedup": tables.run.c.least_speedup,
    "step_us": tables.run.c.step_us,
    "started_at": type_coerce(tables.run.c.started_at, BigInteger),
}
MOST_CHANGED = 1_000
"""A client that missed the changes of more runs than these has to read the list anew."""

MOST_LOOKED_UP = 1_000
"""Most runs that are read in the order of an index: for more, reading all and sorting them is quicker."""

SORTS = ("status", *_COLUMNS)
"""Keys that runs are sorted by."""

Archived = Literal["true", "false", "any"]


@dataclass(frozen=True, slots=True)
class RunFilter:
    project: str | None = None
    status: Status | None = None
    bound: Bound | None = None
    tag: str | None = None
    """``key=value``, or ``key`` with any value."""
    q: str | None = None
    """A search expression: docs/search.md."""
    archived: Archived | None = None
    """``None``: those that were not archived, unless ``q`` speaks of it."""
    sort: str = "-started_at"
    """``-`` in front: largest first. Runs without the value come last either way."""
    limit: int = 100
    cursor: str | None = None
    """Where the page before ended. A run whose value does not change appears once, whatever changes meanwhile."""
    within: str | None = None
    """The only project that the caller may see, whatever the filter says."""


@dataclass(frozen=True, slots=True)
class Page:
    lines: list[bytes]
    """As :meth:`Lines.read` returns them."""
    cursor: str | None
    """Where the next page begins; ``None``: this is the last."""
    counts: StatusCounts
    """Counts of runs that match the filter without its status."""
    conditions: list[ColumnElement[bool]]
    """What holds of a run that matches the filter."""


class RunChange(NamedTuple):
    """When a run was last changed, by any service process."""

    run_id: str
    changed_at: datetime
    """By anything: a window, a judgement, an edit."""
    last_seen_at: datetime
    """By a window."""
    diagnosed_at: datetime | None
    """By a diagnosis that differs from the one before."""


def read_page(connection: Connection, asked: RunFilter, now: datetime, lines: Lines) -> Page:
    """Raises:
    InvalidError: no such ``sort`` or ``cursor``, or an expression that cannot be understood.
    """
    rows = _rows(connection, asked, now)
    page, last = rows[: asked.limit], rows[asked.limit - 1] if len(rows) > asked.limit else None
    cursor = None if last is None else Cursor(asked.sort, last.sorted_by, last.started_us, last.run_id)
    is_all = cursor is None and asked.cursor is None and asked.status is None
    counts: Mapping[Status, int] = (
        Counter(row.status for row in page) if is_all else count_by_status(connection, now, *_conditions(asked, now))
    )
    return Page(
        lines=lines.read(connection, page, now),
        cursor=None if cursor is None else write_cursor(cursor),
        counts=StatusCounts(all=sum(counts.values()), **{name: counts.get(name, 0) for name in get_args(Status)}),
        conditions=_conditions(asked, now, asked.status),
    )


def _rows(connection: Connection, asked: RunFilter, now: datetime) -> Sequence[Any]:
    """Rows of the page, and one more if there is another page."""
    key = _key(asked.sort, now)
    if key is _COLUMNS["started_at"] and asked.limit > MOST_LOOKED_UP:
        key = key + 0  # No index has that.
    statement = select(*line_columns(now), key.label("sorted_by"), _STARTED_US.label("started_us"))
    statement = statement.where(*_conditions(asked, now, asked.status))
    if asked.cursor is not None:
        statement = statement.where(_after(read_cursor(asked.cursor, asked.sort), key))
    return connection.execute(statement.order_by(*_order(asked.sort, key)).limit(asked.limit + 1)).all()


def changed_since(connection: Connection, now: datetime, since: datetime) -> list[RunSummary]:
    """Runs with a window or a judgement since then, the oldest change first; of too many the newest."""
    run = tables.run.c
    statement = select(tables.run).where(run.changed_at >= since, run.deleted_at.is_(None))
    newest = statement.order_by(run.changed_at.desc()).limit(MOST_CHANGED)
    return summaries(connection, connection.execute(newest).mappings().all()[::-1], now)


def read_changes(connection: Connection, since: datetime) -> list[RunChange]:
    """Runs that any service process changed since then, the oldest change first."""
    run, diagnosis = tables.run.c, tables.diagnosis.c
    columns = (run.run_id, run.changed_at, run.last_seen_at, diagnosis.changed_at)
    joined = select(*columns).join(tables.diagnosis, diagnosis.run_id == run.run_id, isouter=True)
    return [
        RunChange(*row) for row in connection.execute(joined.where(run.changed_at >= since).order_by(run.changed_at))
    ]


def earlier_runs(connection: Connection, now: datetime, run_id: str, limit: int = 20) -> list[RunSummary]:
    """Runs of the same job that started before this one, newest first.

    Raises:
        NotFoundError: there is no such run.
    """
    row, run = run_row(connection, run_id), tables.run.c
    same_job = _same_job(row)
    before = or_(run.started_at < row["started_at"], and_(run.started_at == row["started_at"], run.run_id < run_id))
    statement = select(tables.run).where(same_job, before).order_by(run.started_at.desc()).limit(limit)
    return summaries(connection, connection.execute(statement).mappings().all(), now)


def replays(connection: Connection, run_id: str) -> list[str]:
    """Of this run, then of others of the same job, newest first, the twenty newest that measured a replay.

    Raises:
        NotFoundError: there is no such run.
    """
    row, run = run_row(connection, run_id), tables.run.c
    statement = select(run.run_id).where(run.replay.is_not(None), or_(run.run_id == run_id, _same_job(row)))
    newest = statement.order_by((run.run_id == run_id).desc(), run.started_at.desc()).limit(20)
    return list(connection.execute(newest).scalars())


def edit_run(connection: Connection, now: datetime, run_id: str, changes: Mapping[str, Any]) -> None:
    """Set ``name``, ``tags``, ``notes`` or ``archived``. ``None`` for name or tags, or the agent's own value, undoes
    the edit.

    Raises:
        NotFoundError: there is no such run.
    """
    row = run_row(connection, run_id)
    columns = {"name": "edited_name", "tags": "edited_tags", "notes": "notes"}
    values = {columns[name]: value for name, value in changes.items() if name in columns}
    for name in ("name", "tags"):
        # An undone edit is removed: what the agent sends later counts again.
        if columns[name] in values and values[columns[name]] == row[name]:
            values[columns[name]] = None
    if "archived" in changes:
        values["archived_at"] = (row["archived_at"] or now) if changes["archived"] else None
    connection.execute(update(tables.run).where(tables.run.c.run_id == run_id).values(changed_at=now, **values))
    index_tags(connection, run_id)


def _same_job(row: RowMapping) -> ColumnElement[bool]:
    run = tables.run.c
    return and_(run.job == row["job"], run.project == row["project"], run.job != "", run.deleted_at.is_(None))


def _conditions(asked: RunFilter, now: datetime, status: Status | None = None) -> list[ColumnElement[bool]]:
    """The filter's conditions without its status, to which the counts are not limited."""
    run, expression = tables.run.c, parse(asked.q or "")
    named = (("project", asked.project), ("project", asked.within), ("bound", asked.bound), ("tag", asked.tag),
             ("status", status))  # fmt: skip
    terms = [Term(Comparison(key, "=", (value,))) for key, value in named if value is not None]
    found = [run.deleted_at.is_(None), *conditions(Expression((*expression.terms, *terms)), now)]
    archived = asked.archived or ("any" if expression.speaks_of_archived else "false")
    if archived != "any":
        found.append(run.archived_at.is_not(None) if archived == "true" else run.archived_at.is_(None))
    return found


_STARTED_US = type_coerce(tables.run.c.started_at, BigInteger)
_RUN_ID = bytewise(tables.run.c.run_id)


def _key(sort: str, now: datetime) -> ColumnElement[Any]:
    key = sort.removeprefix("-")
    if key not in SORTS:
        raise InvalidError(f"sort: {key!r} is none of {', '.join(SORTS)}", field="sort")
    return status_column(now) if key == "status" else _COLUMNS[key]


def _order(sort: str, key: ColumnElement[Any]) -> list[ColumnElement[Any]]:
    ordered = key.desc() if sort.startswith("-") else key.asc()
    return [ordered.nulls_last(), _STARTED_US.desc(), _RUN_ID.asc()]


def _after(cursor: Cursor, key: ColumnElement[Any]) -> ColumnElement[bool]:
    """Runs after that of the cursor, in the order of :func:`_order`."""
    started_us, run_id = literal(cursor.started_us, BigInteger), bytewise(literal(cursor.run_id, Text))
    later = or_(started_us > _STARTED_US, and_(started_us == _STARTED_US, run_id < _RUN_ID))
    if cursor.value is None:
        return and_(key.is_(None), later)
    beyond = key < cursor.value if cursor.sort.startswith("-") else key > cursor.value
    return or_(beyond, and_(key == cursor.value, later), key.is_(None))
