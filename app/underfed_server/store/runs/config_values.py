"""Single values of runs' configurations: columns of the list, which is sorted by them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, delete, func, insert, select

from underfed_server.model import ConfigKey, Setting
from underfed_server.names import Projects
from underfed_server.store.databases import tables

MOST_CHARACTERS = 200
"""Of a text: a cell has room for fewer."""

MOST_KEYS = 500
"""In the menu of columns, the most used first."""


def index_config(connection: Connection, run_id: str, config: Mapping[str, Setting]) -> None:
    """Replace what is known of the run's configuration, one row for each of its values."""
    values = tables.config_value
    connection.execute(delete(values).where(values.c.run_id == run_id))
    rows = [{"run_id": run_id, "key": key, **_columns(value)} for key, value in config.items()]
    if rows:
        connection.execute(insert(values), rows)


def _columns(value: Setting) -> dict[str, Any]:
    if value is None or isinstance(value, bool):
        return {"value": value, "number": None, "text": None if value is None else str(value).lower()}
    if isinstance(value, str):
        return {"value": value[:MOST_CHARACTERS], "number": None, "text": value[:MOST_CHARACTERS]}
    return {"value": value, "number": _number(value), "text": None}


def _number(value: int | float) -> float | None:
    """``None``: larger than any number that a database sorts by."""
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def read_config_values(
    connection: Connection, run_ids: Sequence[str], keys: Sequence[str]
) -> dict[str, dict[str, Setting]]:
    """By run, its values of these keys. Of a run that has none of them there is nothing."""
    values = tables.config_value.c
    wanted = select(values.run_id, values.key, values.value).where(values.key.in_(keys), values.run_id.in_(run_ids))
    found: dict[str, dict[str, Setting]] = {}
    for run_id, key, value in connection.execute(wanted) if keys and run_ids else ():
        found.setdefault(run_id, {})[key] = value
    return found


def read_config_keys(connection: Connection, within: Projects = None) -> list[ConfigKey]:
    """Keys that runs were configured with, the most used first; ``within``: of runs of these projects."""
    values, run = tables.config_value.c, tables.run.c
    count = func.count()
    statement = select(values.key, count).join(tables.run, run.run_id == values.run_id)
    statement = statement.where(run.deleted_at.is_(None), tables.of_projects(within))
    rows = connection.execute(statement.group_by(values.key).order_by(count.desc(), values.key).limit(MOST_KEYS))
    return [ConfigKey(key=key, runs=runs) for key, runs in rows]


def value_column(column: Column[Any], key: str) -> ColumnElement[Any]:
    """The number or the text that the run's row has under this key; null: it has none."""
    values = tables.config_value.c
    found = select(column).where(values.run_id == tables.run.c.run_id, values.key == key)
    return found.correlate(tables.run).scalar_subquery()
