"""One line of the runs table: a run's row with what other tables know of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import BindParameter, Connection, RowMapping, Select, bindparam, delete, func, insert, select

from underfed_server.errors import NotFoundError
from underfed_server.model import BestAdvice, RunSummary
from underfed_server.store.columns.lanes import steps_lane
from underfed_server.store.databases import tables
from underfed_server.store.runs.status import status_of

_OF_THE_ROW = tuple(RunSummary.model_fields.keys() & set(tables.run.c.keys()) - {"name", "tags", "best_advice"})
"""Fields that a summary takes from the run's row unchanged."""


# Built once: building a statement costs more than running it.
_ROW = select(tables.run).where(tables.run.c.run_id == bindparam("run_id"))
_track, _rank, _loader = tables.track.c, tables.rank.c, tables.loader.c
_ASKED: BindParameter[Any] = bindparam("run_ids", expanding=True)
_of_rank = (
    select(
        _track.run_id, _track.lane, _track.rank,
        func.sum(_track.rows).label("steps"), func.sum(_track.step_us_total).label("spent"),
    )
    .where(_track.run_id.in_(_ASKED), _track.lane.startswith(steps_lane(""), autoescape=True))
    .group_by(_track.run_id, _track.lane, _track.rank)
    .subquery()
).c  # fmt: skip
_STEPS = (
    select(_of_rank.run_id, _of_rank.lane, func.max(_of_rank.steps))
    .group_by(_of_rank.run_id, _of_rank.lane)
    .order_by(func.sum(_of_rank.spent).desc(), _of_rank.lane)
)
_RANKS = (
    select(_rank.run_id, _rank.hostname, _rank.devices, _rank.not_measured)
    .where(_rank.run_id.in_(_ASKED))
    .order_by(_rank.run_id, _rank.rank)
)
_WORKERS = select(_loader.run_id, _loader.loader, _loader.num_workers).where(_loader.run_id.in_(_ASKED))


def run_row(connection: Connection, run_id: str, *, also_deleted: bool = False) -> RowMapping:
    """Raises:
    NotFoundError: there is no such run, or no more.
    """
    row = find_row(connection, run_id)
    if row is None or (row["deleted_at"] is not None and not also_deleted):
        raise NotFoundError(f"there is no run {run_id!r}", field="run_id")
    return row


def run_columns(connection: Connection, run_id: str, *names: str) -> RowMapping:
    """Some columns of its row: all of them are sixty, with what the agents said of the run, however long.

    Raises:
        NotFoundError: as :func:`run_row`.
    """
    row = connection.execute(_row_with(names), {"run_id": run_id}).mappings().first()
    if row is None:
        raise NotFoundError(f"there is no run {run_id!r}", field="run_id")
    return row


@cache
def _row_with(names: tuple[str, ...]) -> Select[Any]:
    run = tables.run.c
    return select(*(run[name] for name in names)).where(run.run_id == bindparam("run_id"), run.deleted_at.is_(None))


def find_row(connection: Connection, run_id: str) -> RowMapping | None:
    """Also of a deleted run; ``None``: there is no such run, or no more."""
    return connection.execute(_ROW, {"run_id": run_id}).mappings().first()


def name_of(row: RowMapping) -> str:
    """As a person edited it, else as the agent sent it."""
    return str(row["name"] if row["edited_name"] is None else row["edited_name"])


OF_FINAL = ("judged_at", "last_seen_at", "judged_status")
"""What :func:`is_final` looks at."""


def is_final(row: RowMapping) -> bool:
    """Judged since it ended, and since its last window came."""
    at = row["judged_at"]
    return at is not None and at >= row["last_seen_at"] and row["judged_status"] != "running"


def read_summary(connection: Connection, now: datetime, run_id: str) -> RunSummary:
    """Raises:
    NotFoundError: there is no such run.
    """
    return summaries(connection, [run_row(connection, run_id)], now)[0]


def read_state(connection: Connection, now: datetime, run_id: str) -> RunSummary:
    """The summary, also of a deleted run.

    Raises:
        NotFoundError: there is no such run, or no more.
    """
    return summaries(connection, [run_row(connection, run_id, also_deleted=True)], now)[0]


def index_tags(connection: Connection, run_id: str) -> None:
    """Update the table that is searched to the tags in the run's row."""
    run = tables.run.c
    row = connection.execute(select(run.tags, run.edited_tags).where(run.run_id == run_id)).one()
    connection.execute(delete(tables.tag).where(tables.tag.c.run_id == run_id))
    rows = [{"run_id": run_id, "key": key, "value": value} for key, value in tags_of(*row).items()]
    if rows:
        connection.execute(insert(tables.tag), rows)


def tags_of(sent: Mapping[str, str], edited: Mapping[str, str] | None) -> dict[str, str]:
    """Those by which a person replaced the agent's, else the agent's."""
    return dict(sent if edited is None else edited)


_epoch = tables.epoch.c
# Where settings were switched within an epoch it was recorded in parts, the last of which says which one it is.
_EDGES = (
    select(
        *(_epoch.loader, _epoch.rank, func.count(), func.max(_epoch.program_epoch)),
        *(func.coalesce(func.sum(column), 0) for column in (_epoch.iterator_us, _epoch.ending_us)),
    )
    .where(_epoch.run_id == bindparam("run_id"))
    .group_by(_epoch.loader, _epoch.rank, _epoch.incarnation)
)
_TOTALS = (
    select(
        *(_track.lane, _track.rank),
        *(func.sum(column) for column in (_track.rows, _track.step_us_total, _track.data_wait_us_total)),
    )
    .where(
        *(_track.run_id == bindparam("run_id"), _track.rows > 0),
        _track.lane.startswith(steps_lane(""), autoescape=True),
    )
    .group_by(_track.lane, _track.rank)
    .order_by(_track.lane, _track.rank)
)


@dataclass(frozen=True, slots=True)
class _Beside:
    """What other tables know of the runs of one page."""

    steps: Mapping[str, Mapping[str, int]]
    """By run and loader: steps of the rank that is furthest."""
    ranks: Mapping[str, list[RowMapping]]
    num_workers: Mapping[tuple[str, str], int | None]


def summaries(connection: Connection, rows: Sequence[RowMapping], now: datetime) -> list[RunSummary]:
    run_ids = [row["run_id"] for row in rows]
    beside = _Beside(
        steps=_steps(connection, run_ids), ranks=_ranks(connection, run_ids), num_workers=_workers(connection, run_ids)
    )
    return [_summary(row, beside, now) for row in rows]


def _summary(row: RowMapping, beside: _Beside, now: datetime) -> RunSummary:
    run_id = row["run_id"]
    ranks, steps = beside.ranks.get(run_id, []), beside.steps.get(run_id, {})
    loader = row["loader"] or next(iter(steps), None)
    devices = devices_by_host(ranks)
    return RunSummary(
        **{name: row[name] for name in _OF_THE_ROW},
        name=name_of(row),
        tags=tags_of(row["tags"], row["edited_tags"]),
        status=status_of(
            open_ranks=row["open_ranks"],
            crashed_ranks=row["crashed_ranks"],
            last_seen_at=row["last_seen_at"],
            now=now,
        ),
        steps=steps.get(loader, 0) if loader else 0,
        is_final=is_final(row),
        best_advice=None if row["best_advice"] is None else BestAdvice.model_validate(row["best_advice"]),
        num_workers=beside.num_workers.get((run_id, loader)) if loader else None,
        gpus=len(devices) if ranks else None,
        gpu_name=next((device["name"] for device in devices.values()), None),
        hostnames=list(dict.fromkeys(rank["hostname"] for rank in ranks if rank["hostname"])),
        no_loader=None if steps else next((why for rank in ranks if (why := rank["not_measured"].get("loader"))), None),
    )


def _steps(connection: Connection, run_ids: Iterable[str]) -> dict[str, dict[str, int]]:
    """By run, its loaders by the time spent with them, the longest first."""
    found: dict[str, dict[str, int]] = {}
    for run_id, lane, steps in connection.execute(_STEPS, {"run_ids": list(run_ids)}):
        found.setdefault(run_id, {})[lane.removeprefix(steps_lane(""))] = steps
    return found


@dataclass(frozen=True, slots=True)
class StepTotals:
    """Of one rank with one loader, over the whole run, warm-up included."""

    loader: str
    rank: int
    steps: int
    step_us: int
    data_wait_us: int
    epochs: int = 0
    edges_us: int = 0
    """Constructing its iterators, one or none an epoch, and in the requests that ended one."""


def step_totals(connection: Connection, run_id: str) -> list[StepTotals]:
    """Of all loaders that have a step, by loader and rank."""
    epochs: dict[tuple[str, int], tuple[int, int]] = {}
    for loader, rank, parts, last, constructed_us, ending_us in connection.execute(_EDGES, {"run_id": run_id}):
        number, number_us = epochs.get((loader, rank), (0, 0))
        number += parts if last is None else last + 1
        epochs[loader, rank] = number, number_us + int(constructed_us) + int(ending_us)
    found = []
    for lane, rank, steps, step_us, data_wait_us in connection.execute(_TOTALS, {"run_id": run_id}):
        loader = lane.removeprefix(steps_lane(""))
        # PostgreSQL sums to its decimal type.
        totals = (int(steps), int(step_us), int(data_wait_us))
        found.append(StepTotals(loader, rank, *totals, *epochs.get((loader, rank), ())))
    return found


def shown_loader(connection: Connection, run_id: str) -> str | None:
    """The loader that the last verdict is about, else the one that most time was spent with; ``None``: no step was
    recorded.

    Raises:
        NotFoundError: there is no such run.
    """
    judged: str | None = run_columns(connection, run_id, "loader")["loader"]
    return judged or next(iter(_steps(connection, [run_id]).get(run_id, {})), None)


def _ranks(connection: Connection, run_ids: Iterable[str]) -> dict[str, list[RowMapping]]:
    found: dict[str, list[RowMapping]] = {}
    for row in connection.execute(_RANKS, {"run_ids": list(run_ids)}).mappings():
        found.setdefault(row["run_id"], []).append(row)
    return found


def _workers(connection: Connection, run_ids: Iterable[str]) -> dict[tuple[str, str], int | None]:
    rows = connection.execute(_WORKERS, {"run_ids": list(run_ids)})
    return {(row.run_id, row.loader): row.num_workers for row in rows}


def devices_by_host(ranks: Iterable[RowMapping]) -> dict[tuple[str | None, Any], dict[str, Any]]:
    """Each device once, though every rank of a host may name it."""
    return {(rank["hostname"], device["uuid"] or device["gpu_index"]): device
            for rank in ranks for device in rank["devices"]}  # fmt: skip
