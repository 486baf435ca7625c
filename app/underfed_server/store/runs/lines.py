"""The list's lines as the JSON that is served, kept in memory for as long as nothing happens to the run.

To put one together takes four tables and half a millisecond, which for 5,000 runs is seconds. Of most runs it says the
same for ever, but for the status, which may follow from the mere passing of time and is added when a line is read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from threading import Lock
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Connection, select, type_coerce

from underfed_server.model import StatusCounts, Week
from underfed_server.store.databases import tables
from underfed_server.store.runs.status import status_column
from underfed_server.store.runs.summaries import summaries

RESTS_AFTER = timedelta(seconds=5)
"""Lines of runs that change more often would be kept in vain."""

MOST_KEPT = 20_000
"""A kilobyte and a half each."""

_CHANGED_US = type_coerce(tables.run.c.changed_at, BigInteger)


def line_columns(now: datetime) -> tuple[ColumnElement[Any], ...]:
    """What :meth:`Lines.read` needs of a run first: its id, when it changed last, and its status."""
    return tables.run.c.run_id, _CHANGED_US.label("changed_us"), status_column(now).label("status")


class Lines:
    """Used by any thread. Other service processes may write: what changed is told by the run's own row."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[int, str]] = {}
        """By run: the instant of its last change, and the line without its end. The oldest come first."""
        self._lock = Lock()

    def read(self, connection: Connection, rows: Sequence[Sequence[Any]], now: datetime) -> list[str]:
        """Of the runs of ``rows``, which begin with :func:`line_columns`, in their order: one JSON object each."""
        kept = [self._kept.get(row[0]) for row in rows]
        missing = [row[0] for row, line in zip(rows, kept, strict=True) if line is None or line[0] != row[1]]
        made = dict(_made(connection, missing, now)) if missing else {}
        self._keep({row[0]: (row[1], made[row[0]]) for row in rows if row[0] in made}, now)
        begun = [
            line[1] if line is not None and line[0] == row[1] else made[row[0]]
            for row, line in zip(rows, kept, strict=True)
        ]
        return [f'{line},"status":"{row[2]}"}}' for line, row in zip(begun, rows, strict=True)]

    def _keep(self, made: dict[str, tuple[int, str]], now: datetime) -> None:
        rests_us = (now - RESTS_AFTER - tables.UNIX_EPOCH) // tables.MICROSECOND
        resting = {run_id: line for run_id, line in made.items() if line[0] < rests_us}
        with self._lock:
            for run_id in resting:
                self._kept.pop(run_id, None)
            self._kept.update(resting)
            for run_id in list(self._kept)[: max(0, len(self._kept) - MOST_KEPT)]:
                del self._kept[run_id]


def _made(connection: Connection, run_ids: Sequence[str], now: datetime) -> list[tuple[str, str]]:
    rows = connection.execute(select(tables.run).where(tables.run.c.run_id.in_(run_ids))).mappings().all()
    found = summaries(connection, rows, now)
    return [(each.run_id, each.model_dump_json(by_alias=True, exclude={"status"})[:-1]) for each in found]


def write_page(lines: Sequence[str], cursor: str | None, counts: StatusCounts, week: Week) -> bytes:
    """The JSON of a :class:`~underfed_server.model.RunsPage`."""
    rest = f'"next_cursor":{json.dumps(cursor)},"counts":{counts.model_dump_json()},"week":{week.model_dump_json()}'
    return f'{{"runs":[{",".join(lines)}],{rest}}}'.encode()
