"""A search expression as SQL conditions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from operator import eq, ge, gt, le, lt
from typing import Any

from sqlalchemy import Column, ColumnElement, Float, Text, and_, cast, exists, false, func, literal, not_, or_, select

from underfed_server.names import all_labels
from underfed_server.search.expression import Age, Criterion, Expression, Period, Term, Value, Word
from underfed_server.search.keys import KEYS
from underfed_server.store.columns.lanes import steps_lane
from underfed_server.store.databases import tables
from underfed_server.store.runs.status import status_column

Condition = ColumnElement[bool]

_run, _rank, _loader, _track, _tag, _storage = (
    table.c for table in (tables.run, tables.rank, tables.loader, tables.track, tables.tag, tables.storage)
)
NAME: ColumnElement[str] = func.coalesce(_run.edited_name, _run.name)
"""The run's name, edited or from the agent."""

_ORDERINGS: Mapping[str, Callable[[ColumnElement[Any], Any], Condition]] = {
    ":": eq, "=": eq, "!=": lambda column, value: column != value, "<": lt, "<=": le, ">": gt, ">=": ge,
}  # fmt: skip
_OLDER = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_COLUMNS: Mapping[str, ColumnElement[Any]] = {
    **{name: column for name, column in _run.items() if name in KEYS},
    "name": NAME,
    "id": _run.run_id,
    "reason": _run.exit_reason,
    "slurm": _run.slurm_job_id,
    "ranks": _run.world_size,
    "stall": _run.data_stall_fraction,
    "gain": _run.least_speedup,
    "gained": func.coalesce(_run.observed_low, _run.observed_speedup),
    "started": _run.started_at,
    "ended": _run.ended_at,
    "seen": _run.last_seen_at,
}
"""Keys that the run's own row answers."""


def conditions(expression: Expression, now: datetime) -> list[Condition]:
    """All must hold of the run's row."""
    return [_condition(term, now) for term in expression.terms]


def _condition(term: Term, now: datetime) -> Condition:
    says = term.says
    holds = _mentions(says.text) if isinstance(says, Word) else _compared(says, now)
    # A term about an unknown value does not hold, so its negation does.
    return not_(func.coalesce(holds, false())) if term.negated else holds


def _compared(asked: Criterion, now: datetime) -> Condition:
    each = [_holds(asked, value, now) for value in asked.values]
    return and_(*each) if asked.operator == "!=" else or_(*each)


def _holds(asked: Criterion, value: Value, now: datetime) -> Condition:
    key, operator = asked.key, asked.operator
    if key == "is":
        return _run.archived_at.is_not(None)
    if key in _BESIDE:
        return _BESIDE[key](operator, value)
    column = status_column(now) if key == "status" else _COLUMNS[key]
    if KEYS[key].kind == "instant":
        return _when(column, operator, value, now)
    return {"text": _text, "choice": _choice}.get(KEYS[key].kind, _number)(column, operator, value)


def _text(column: ColumnElement[Any], operator: str, value: Any) -> Condition:
    if operator == "!=":
        return not_(_same(column, value))
    return _same(column, value) if operator == "=" else column.icontains(value, autoescape=True)


def _same(column: ColumnElement[Any], value: Any) -> Condition:
    """SQL's null for an unknown value would stay null when negated, so it is false here."""
    is_always_known = isinstance(column, Column) and not column.nullable
    found: Condition = (column if is_always_known else func.coalesce(column, "")) == value
    return found


def _choice(column: ColumnElement[Any], operator: str, value: Any) -> Condition:
    same = column.is_(None) if value is None else _same(column, value)
    return not_(same) if operator == "!=" else same


def _number(column: ColumnElement[Any], operator: str, value: Any) -> Condition:
    # Float, whatever the column is: a bound of 1.5 must not become 2.
    return _ORDERINGS[operator](column, literal(value, Float))


def _when(column: ColumnElement[Any], operator: str, value: Any, now: datetime) -> Condition:
    if isinstance(value, Age):
        # Older than seven days means before the instant seven days ago, so the comparison is reversed.
        return _ORDERINGS[_OLDER[operator]](column, _ago(value, now))
    assert isinstance(value, Period)
    within = and_(column >= value.first, column < value.end)
    periods = {
        "<": column < value.first,
        "<=": column < value.end,
        ">": column >= value.end,
        ">=": column >= value.first,
    }
    return periods.get(operator, not_(within) if operator == "!=" else within)


def _ago(age: Age, now: datetime) -> datetime:
    return max(now - age.span, tables.UNIX_EPOCH) if age.span < now - tables.UNIX_EPOCH else tables.UNIX_EPOCH


def _tagged(operator: str, value: Any) -> Condition:
    """By ``key=value``, or by ``key`` with any value."""
    key, equals, wanted = value.partition("=")
    has_key = and_(_tag.run_id == _run.run_id, _tag.key == key)
    found = exists().where(has_key & (_tag.value == wanted) if equals else has_key)
    return not_(found) if operator == "!=" else found


_of_judged = and_(_loader.run_id == _run.run_id, or_(_run.loader.is_(None), _loader.loader == _run.loader))
"""The loader that was judged; any before a judgement."""


def _of_dataset(operator: str, value: Any) -> Condition:
    same = _text(_loader.info["dataset_type"].as_string(), "=" if operator == "!=" else operator, value)
    found = exists().where(_of_judged, same)
    return not_(found) if operator == "!=" else found


def _on_mount(operator: str, value: Any) -> Condition:
    """By mount point, or by device."""
    places = [_any_of(column, operator, value) for column in (_storage.mount, _storage.device)]
    return and_(*places) if operator == "!=" else or_(*places)


def _in_tracker(operator: str, value: Any) -> Condition:
    """By W&B's, MLflow's or TensorBoard's name of the run, which people have at hand there; or by the tracker's own."""
    written = cast(_run.trackers, Text)
    found = written.icontains(value if operator == ":" else json.dumps(value), autoescape=True)
    return not_(found) if operator == "!=" else found


def _any_of(column: Column[Any], operator: str, value: Any) -> Condition:
    """True of one of the run's rows in the column's table; with ``!=`` equal in none of them."""
    found = exists().where(
        column.table.c.run_id == _run.run_id, _text(column, "=" if operator == "!=" else operator, value)
    )
    return not_(found) if operator == "!=" else found


def _steps(operator: str, value: Any) -> Condition:
    """Steps of the rank that is furthest, as the list shows them."""
    judged = and_(_run.loader.is_not(None), _track.lane == literal(steps_lane("")) + _run.loader)
    any_loader = and_(_run.loader.is_(None), _track.lane.startswith(steps_lane(""), autoescape=True))
    steps = func.sum(_track.rows)
    furthest = select(steps).where(_track.run_id == _run.run_id, or_(judged, any_loader))
    furthest = furthest.group_by(_track.lane, _track.rank).order_by(steps.desc()).limit(1)
    return _number(func.coalesce(furthest.correlate(tables.run).scalar_subquery(), 0), operator, value)


_BESIDE: Mapping[str, Callable[[str, Any], Condition]] = {
    "tag": _tagged,
    "host": partial(_any_of, _rank.hostname),
    "gpu": partial(_any_of, _rank.gpu_name),
    "pod": partial(_any_of, _rank.pod),
    "loader": partial(_any_of, _loader.loader),
    "dataset": _of_dataset,
    "mount": _on_mount,
    "tracker": _in_tracker,
    "num_workers": lambda operator, value: exists().where(_of_judged, _number(_loader.num_workers, operator, value)),
    "step": _steps,
}
"""Keys that other tables answer."""


def _mentions(word: str) -> Condition:
    named = (NAME, _run.run_id, _run.project, _run.user, _run.train_job)
    own = [column.icontains(word, autoescape=True) for column in named] + [_run.slurm_job_id == word]
    host = exists().where(_rank.run_id == _run.run_id, _rank.hostname.icontains(word, autoescape=True))
    tag = exists().where(_tag.run_id == _run.run_id, (_tag.key + "=" + _tag.value).icontains(word, autoescape=True))
    causes = [name for name, label in all_labels()["cause"].items() if _begins_a_word(word, label)]
    return or_(*own, host, tag, *([_run.cause.in_(causes)] if causes else []))


def _begins_a_word(text: str, label: str) -> bool:
    """``slow`` and ``storage`` of "slow storage", and not ``low``."""
    return re.search(rf"(?<!\w){re.escape(text)}", label, re.IGNORECASE) is not None
