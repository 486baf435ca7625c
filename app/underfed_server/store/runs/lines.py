"""The list's lines as the JSON that is served, cached until the run changes.

Building one takes four tables and half a millisecond, which for 5,000 runs is seconds. Most lines never change, except
for the status, which may change by the passing of time and is added when a line is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from threading import Lock
from typing import Any, get_args

from sqlalchemy import BigInteger, ColumnElement, Connection, select, type_coerce

from underfed_server.model import Setting, Status, StatusCounts, Week
from underfed_server.names import label_of
from underfed_server.store.databases import tables
from underfed_server.store.runs.status import status_column
from underfed_server.store.runs.summaries import summaries

RESTS_AFTER = timedelta(seconds=5)
"""A run that changes more often is not cached."""

MOST_KEPT = 20_000
"""A kilobyte and a half each."""

_CHANGED_US = type_coerce(tables.run.c.changed_at, BigInteger)
_END = {
    status: f',"status":"{status}","status_label":"{label_of("status", status)}"}},'.encode()
    for status in get_args(Status)
}
"""End of a line and the comma after it, by status."""


def line_columns(now: datetime) -> tuple[ColumnElement[Any], ...]:
    """What :meth:`Lines.read` needs of a run first: its id, when it changed last, and its status."""
    return tables.run.c.run_id, _CHANGED_US.label("changed_us"), status_column(now).label("status")


class Lines:
    """Any thread may use it. Other service processes may write: the run's own row says when it changed."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[int, bytes]] = {}
        """By run: the instant of its last change, and the line without its end. The oldest come first."""
        self._lock = Lock()

    def read(self, connection: Connection, rows: Sequence[Sequence[Any]], now: datetime) -> list[bytes]:
        """For each of ``rows``, which begin with :func:`line_columns`, a JSON object and a comma, in two pieces: a page
        of thousands is joined once, not line by line before.
        """
        lines = [self._kept.get(row[0]) for row in rows]
        missing = [row[0] for row, line in zip(rows, lines, strict=True) if line is None or line[0] != row[1]]
        if missing:
            made = dict(_made(connection, missing, now))
            self._keep({row[0]: (row[1], made[row[0]]) for row in rows if row[0] in made}, now)
            lines = [(row[1], made[row[0]]) if row[0] in made else line for row, line in zip(rows, lines, strict=True)]
        begun = [line[1] for line in lines if line is not None]
        return [piece for line, row in zip(begun, rows, strict=True) for piece in (line, _END[row[2]])]

    def _keep(self, made: dict[str, tuple[int, bytes]], now: datetime) -> None:
        rests_us = tables.unix_us(now - RESTS_AFTER)
        resting = {run_id: line for run_id, line in made.items() if line[0] < rests_us}
        with self._lock:
            for run_id in resting:
                self._kept.pop(run_id, None)
            self._kept.update(resting)
            for run_id in list(self._kept)[: max(0, len(self._kept) - MOST_KEPT)]:
                del self._kept[run_id]


def _made(connection: Connection, run_ids: Sequence[str], now: datetime) -> list[tuple[str, bytes]]:
    rows = connection.execute(select(tables.run).where(tables.run.c.run_id.in_(run_ids))).mappings().all()
    found = summaries(connection, rows, now)
    return [
        (each.run_id, each.model_dump_json(by_alias=True, exclude={"status", "status_label"})[:-1].encode())
        for each in found
    ]


def write_page(
    lines: Sequence[bytes],
    cursor: str | None,
    counts: StatusCounts,
    week: Week,
    config: Mapping[str, Mapping[str, Setting]],
) -> bytes:
    """The JSON of a :class:`~underfed_server.model.RunsPage`; ``lines``: as :meth:`Lines.read` gives them."""
    rest = (
        f'"next_cursor":{json.dumps(cursor)},"counts":{counts.model_dump_json()},"week":{week.model_dump_json()}'
        f',"config":{json.dumps(config)}'
    )
    last = [lines[-1].removesuffix(b",")] if lines else []
    return b"".join((b'{"runs":[', *lines[:-1], *last, b"],", rest.encode(), b"}"))
