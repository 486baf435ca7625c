"""The list of runs, searched and sorted, and what a person may change in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    bindparam,
    false,
    literal,
    not_,
    null,
    or_,
    select,
    type_coerce,
    update,
)

from underfed_server.errors import InvalidError
from underfed_server.ingest.permission import is_among
from underfed_server.model import AuditAction, Bound, RunSummary, Setting, Status, StatusCounts
from underfed_server.names import Projects
from underfed_server.search.expression import Criterion, Expression, Term
from underfed_server.search.parse import parse
from underfed_server.store.databases import tables
from underfed_server.store.databases.dialects import bytewise
from underfed_server.store.runs.audit_log import UNKNOWN, AuditOf, Author, add_entry
from underfed_server.store.runs.config_values import read_config_values, value_column
from underfed_server.store.runs.cursor import Cursor, read_cursor, write_cursor
from underfed_server.store.runs.lines import Lines, line_columns
from underfed_server.store.runs.removed_runs import are_gone
from underfed_server.store.runs.searching import NAME, conditions
from underfed_server.store.runs.status import count_by_status, status_column
from underfed_server.store.runs.summaries import index_tags, name_of, run_columns, run_row, summaries, tags_of

_COLUMNS: Mapping[str, ColumnElement[Any]] = {
    "name": bytewise(NAME),
    "data_stall_fraction": tables.run.c.data_stall_fraction,
    "hours_lost": tables.run.c.hours_lost,
    "predicted_speedup": tables.run.c.least_speedup,
    "step_us": tables.run.c.step_us,
    "started_at": type_coerce(tables.run.c.started_at, BigInteger),
    "deleted_at": type_coerce(tables.run.c.deleted_at, BigInteger),
}
MOST_CHANGED = 1_000
"""A client that missed the changes of more runs than these has to read the list anew."""

MOST_LOOKED_UP = 1_000
"""Most runs that are read in the order of an index: for more, reading all and sorting them is quicker."""

SORTS = ("status", *_COLUMNS)
"""Keys that runs are sorted by."""

CONFIG = "config:"
"""Before the key of a configuration, by which runs are sorted too: numbers, then texts, then runs without it."""

Archived = Literal["true", "false", "any"]


@dataclass(frozen=True, slots=True)
class RunFilter:
    project: str | None = None
    status: Status | None = None
    bound: Bound | None = None
    tag: str | None = None
    """``key=value``, or ``key`` with any value."""
    job: str | None = None
    q: str | None = None
    """A search expression: docs/search.md."""
    archived: Archived | None = None
    """``None``: those that were not archived, unless ``q`` speaks of it."""
    deleted_since: datetime | None = None
    """Runs that were deleted since then, archived or not, and no others; ``None``: none of them."""
    sort: str = "-started_at"
    """``-`` in front: largest first. Runs without the value come last either way."""
    config: tuple[str, ...] = ()
    """Keys of configurations whose values are wanted beside the runs."""
    limit: int = 100
    cursor: str | None = None
    """Where the page before ended. A run whose value does not change appears once, whatever changes meanwhile."""
    within: Projects = None
    """The projects that the caller sees, whatever the filter says."""


@dataclass(frozen=True, slots=True)
class Page:
    lines: list[bytes]
    """As :meth:`Lines.read` returns them."""
    cursor: str | None
    """Where the next page begins; ``None``: this is the last."""
    counts: StatusCounts
    """Counts of runs that match the filter without its status."""
    config: Mapping[str, Mapping[str, Setting]]
    """By run."""


class RunChange(NamedTuple):
    """When a run was last changed, by any service process."""

    run_id: str
    changed_at: datetime
    """By anything: a window, a judgement, an edit."""
    last_seen_at: datetime
    """By a window."""
    diagnosed_at: datetime | None
    """By a diagnosis that differs from the one before."""
    open_ranks: int


def read_page(connection: Connection, asked: RunFilter, now: datetime, lines: Lines) -> Page:
    """Raises:
    InvalidError: no such ``sort`` or ``cursor``, or an expression that cannot be understood.
    """
    rows = _rows(connection, asked, now)
    page, last = rows[: asked.limit], rows[asked.limit - 1] if len(rows) > asked.limit else None
    value = last and (last.sorted_text if last.sorted_by is None else last.sorted_by)
    cursor = None if last is None else Cursor(asked.sort, value, last.started_us, last.run_id)
    is_all = cursor is None and asked.cursor is None and asked.status is None
    counts: Mapping[Status, int] = (
        Counter(row.status for row in page) if is_all else count_by_status(connection, now, *conditions_of(asked, now))
    )
    return Page(
        lines=lines.read(connection, page, now),
        cursor=None if cursor is None else write_cursor(cursor),
        counts=StatusCounts(all=sum(counts.values()), **{name: counts.get(name, 0) for name in get_args(Status)}),
        config=read_config_values(connection, [row.run_id for row in page], asked.config),
    )


def _rows(connection: Connection, asked: RunFilter, now: datetime) -> Sequence[Any]:
    """Rows of the page, and one more if there is another page."""
    key, text = keys_of(asked.sort, now)
    if key is _COLUMNS["started_at"] and asked.limit > MOST_LOOKED_UP:
        key = key + 0  # No index has that.
    sorted_by = key.label("sorted_by"), text.label("sorted_text")
    statement = select(*line_columns(now), *sorted_by, _STARTED_US.label("started_us"))
    statement = statement.where(*conditions_of(asked, now, asked.status))
    if asked.cursor is not None:
        statement = statement.where(after(read_cursor(asked.cursor, asked.sort), key, text, START_AND_ID))
    return connection.execute(
        statement.order_by(*order_of(asked.sort, key, text, START_AND_ID)).limit(asked.limit + 1)
    ).all()


def changed_since(connection: Connection, now: datetime, since: datetime) -> list[RunSummary]:
    """Runs with a window, a judgement or an edit since then, deleted ones too, the oldest change first; of too many the
    newest.
    """
    run = tables.run.c
    statement = select(tables.run).where(run.changed_at >= since)
    newest = statement.order_by(run.changed_at.desc()).limit(MOST_CHANGED)
    return summaries(connection, connection.execute(newest).mappings().all()[::-1], now)


def read_changes(connection: Connection, since: datetime) -> list[RunChange]:
    """Runs that any service process changed since then, the oldest change first."""
    run, diagnosis = tables.run.c, tables.diagnosis.c
    columns = (run.run_id, run.changed_at, run.last_seen_at, diagnosis.changed_at, run.open_ranks)
    joined = select(*columns).join(tables.diagnosis, diagnosis.run_id == run.run_id, isouter=True)
    return [
        RunChange(*row) for row in connection.execute(joined.where(run.changed_at >= since).order_by(run.changed_at))
    ]


def earlier_runs(connection: Connection, now: datetime, run_id: str, limit: int = 20) -> list[RunSummary]:
    """Runs of the same job that started before this one, newest first.

    Raises:
        NotFoundError: there is no such run.
    """
    asked = dict(run_columns(connection, run_id, "job", "project", "started_at"))
    rows = connection.execute(_EARLIER, {"run_id": run_id, "limit": limit, **asked}).mappings().all()
    return summaries(connection, rows, now) if rows else []


def job_runs(connection: Connection, run_id: str, most: int) -> list[str]:
    """Runs of the same job as this one, which is among them, oldest first; of too many those around it.

    Raises:
        NotFoundError: there is no such run.
    """
    row, run = run_row(connection, run_id), tables.run.c
    if not row["job"]:
        return [run_id]
    newer = or_(run.started_at > row["started_at"], and_(run.started_at == row["started_at"], run.run_id > run_id))
    of_job = select(run.run_id).where(_same_job(row))
    after = connection.execute(of_job.where(newer).order_by(run.started_at, run.run_id).limit(most // 2))
    later = list(after.scalars())
    before = of_job.where(not_(newer)).order_by(run.started_at.desc(), run.run_id.desc()).limit(most - len(later))
    return [*reversed(list(connection.execute(before).scalars())), *later]


def _same_job(of: RowMapping | Mapping[str, Any]) -> ColumnElement[bool]:
    run = tables.run.c
    return and_(run.job == of["job"], run.project == of["project"], run.job != "", run.deleted_at.is_(None))


_run = tables.run.c
# Built once: each judgement asks, and building a statement costs more than running it.
_OF_SAME_JOB = _same_job({name: bindparam(name) for name in ("job", "project")})
_started, _at_once = bindparam("started_at", type_=_run.started_at.type), _run.run_id < bindparam("run_id")
_EARLIER = (
    select(tables.run)
    .where(_OF_SAME_JOB, or_(_run.started_at < _started, and_(_run.started_at == _started, _at_once)))
    .order_by(_run.started_at.desc())
    .limit(bindparam("limit"))
)
_REPLAYS = (
    select(_run.run_id)
    .where(_run.replay.is_not(None), or_(_run.run_id == bindparam("run_id"), _OF_SAME_JOB))
    .order_by((_run.run_id == bindparam("run_id")).desc(), _run.started_at.desc())
    .limit(20)
)


def replays(connection: Connection, run_id: str) -> list[str]:
    """Of this run, then of others of the same job, newest first, the twenty newest that measured a replay.

    Raises:
        NotFoundError: there is no such run.
    """
    place = {"run_id": run_id, **run_columns(connection, run_id, "job", "project")}
    return list(connection.execute(_REPLAYS, place).scalars())


def edit_run(
    connection: Connection, now: datetime, run_id: str, changes: Mapping[str, Any], by: Author = UNKNOWN
) -> None:
    """Set ``name``, ``tags``, ``notes`` or ``archived``. ``None`` for name or tags, or the agent's own value, undoes
    the edit. What is changed by that is added to the audit log.

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
    connection.execute(
        update(tables.run).where(tables.run.c.run_id == run_id).values(changed_at=now, touched_at=now, **values)
    )
    index_tags(connection, run_id)
    for entry in _edits(row, run_row(connection, run_id)):
        add_entry(connection, now, by, entry)


def _edits(before: RowMapping, after: RowMapping) -> Iterator[AuditOf]:
    """What a reader of the run sees change."""
    seen: dict[AuditAction, Callable[[RowMapping], Any]] = {
        "renamed": name_of,
        "tagged": lambda row: tags_of(row["tags"], row["edited_tags"]),
        "noted": lambda row: row["notes"],
    }
    of_run = (name_of(before), before["project"], before["run_id"])
    for action, read in seen.items():
        if read(before) != read(after):
            yield AuditOf(action, *of_run, read(before), read(after))
    if (before["archived_at"] is None) != (after["archived_at"] is None):
        yield AuditOf("unarchived" if after["archived_at"] is None else "archived", *of_run)


def conditions_of(asked: RunFilter, now: datetime, status: Status | None = None) -> list[ColumnElement[bool]]:
    """The filter's conditions without its status, to which the counts are not limited."""
    run, expression = tables.run.c, parse(asked.q or "")
    hidden = run.deleted_at.is_(None) if asked.deleted_since is None else run.deleted_at >= asked.deleted_since
    found = [hidden, *_matching(asked, expression, now, status)]
    archived = asked.archived or ("any" if _speaks_of_archived(asked, expression) else "false")
    if archived != "any":
        found.append(run.archived_at.is_not(None) if archived == "true" else run.archived_at.is_(None))
    return found


def of_past(asked: RunFilter, now: datetime) -> list[ColumnElement[bool]]:
    """As of the list. Where the filter does not speak of them, archived and deleted runs are meant too."""
    expression = parse(asked.q or "")
    if asked.archived is not None or _speaks_of_archived(asked, expression):
        return conditions_of(asked, now, asked.status)
    return _matching(asked, expression, now, asked.status)


def of_removed(asked: RunFilter) -> ColumnElement[bool]:
    """Of removed runs their project is known, and little else: any other filter leaves them out."""
    others = (asked.q, asked.status, asked.bound, asked.tag, asked.job, asked.archived, asked.deleted_since)
    if any(others) or (asked.project is not None and not is_among(asked.project, asked.within)):
        return false()
    return are_gone(asked.within if asked.project is None else frozenset((asked.project,)))


def _speaks_of_archived(asked: RunFilter, expression: Expression) -> bool:
    return expression.speaks_of_archived or asked.deleted_since is not None


def _matching(
    asked: RunFilter, expression: Expression, now: datetime, status: Status | None
) -> list[ColumnElement[bool]]:
    named = (("project", asked.project), ("bound", asked.bound), ("tag", asked.tag),
             ("job", asked.job), ("status", status))  # fmt: skip
    terms = [Term(Criterion(key, "=", (value,))) for key, value in named if value is not None]
    return [tables.of_projects(asked.within), *conditions(Expression((*expression.terms, *terms)), now)]


_STARTED_US = type_coerce(tables.run.c.started_at, BigInteger)
StartAndId = tuple[ColumnElement[Any], ColumnElement[Any]]
"""When a run started, in Unix microseconds, and its id: what decides between runs of the same key."""

START_AND_ID: StartAndId = _STARTED_US, bytewise(tables.run.c.run_id)


def keys_of(sort: str, now: datetime) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """What runs are sorted by, and then by: values of a configuration are numbers or texts."""
    key, values = sort.removeprefix("-"), tables.config_value.c
    if key.startswith(CONFIG):
        name = key.removeprefix(CONFIG)
        return value_column(values.number, name), bytewise(value_column(values.text, name))
    if key not in SORTS:
        raise InvalidError(f"sort: {key!r} is none of {', '.join(SORTS)}, {CONFIG}KEY", field="sort")
    return (status_column(now) if key == "status" else _COLUMNS[key]), null()


def order_of(
    sort: str, key: ColumnElement[Any], text: ColumnElement[Any], place: StartAndId
) -> list[ColumnElement[Any]]:
    """By the key, then by the text, then the newest first."""
    is_config = sort.removeprefix("-").startswith(CONFIG)
    by = [each.desc() if sort.startswith("-") else each.asc() for each in ((key, text) if is_config else (key,))]
    started_us, run_id = place
    return [*(each.nulls_last() for each in by), started_us.desc(), run_id.asc()]


def after(cursor: Cursor, key: ColumnElement[Any], text: ColumnElement[Any], place: StartAndId) -> ColumnElement[bool]:
    """Runs after that of the cursor, in the order of :func:`order_of`."""
    started_us, run_id = literal(cursor.started_us, BigInteger), bytewise(literal(cursor.run_id, Text))
    later = or_(started_us > place[0], and_(started_us == place[0], run_id < place[1]))
    is_config = cursor.sort.removeprefix("-").startswith(CONFIG)
    if is_config and (cursor.value is None or isinstance(cursor.value, str)):
        # Behind all numbers.
        return and_(key.is_(None), _beyond(cursor, text, later))
    return _beyond(cursor, key, later)


def _beyond(cursor: Cursor, key: ColumnElement[Any], later: ColumnElement[bool]) -> ColumnElement[bool]:
    if cursor.value is None:
        return and_(key.is_(None), later)
    beyond = key < cursor.value if cursor.sort.startswith("-") else key > cursor.value
    return or_(beyond, and_(key == cursor.value, later), key.is_(None))
