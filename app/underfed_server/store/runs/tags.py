"""The tags of a run: those of the agent, or those by which a person replaced them."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import ColumnElement, Connection, delete, exists, insert, select

from underfed_server.store.databases import tables


def effective(tags: Mapping[str, str], edited: Mapping[str, str] | None) -> dict[str, str]:
    return dict(tags if edited is None else edited)


def index_tags(connection: Connection, run_id: str) -> None:
    """Update the table that is searched to the tags in the run's row."""
    run = tables.run.c
    row = connection.execute(select(run.tags, run.edited_tags).where(run.run_id == run_id)).one()
    connection.execute(delete(tables.tag).where(tables.tag.c.run_id == run_id))
    rows = [{"run_id": run_id, "key": key, "value": value} for key, value in effective(*row).items()]
    if rows:
        connection.execute(insert(tables.tag), rows)


def has_tag(wanted: str) -> ColumnElement[bool]:
    """``key=value``, or ``key`` with any value."""
    key, equals, value = wanted.partition("=")
    tag = tables.tag.c
    condition = (tag.run_id == tables.run.c.run_id) & (tag.key == key)
    return exists().where(condition & (tag.value == value) if equals else condition)
