"""The worker processes of a loader: when each lived, how it ended, and the samples taken of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BindParameter, Connection, RowMapping, and_, bindparam, func, select

from underfed_server.measurements import WorkerRows, chosen
from underfed_server.model import DiedWorker, WorkerLife
from underfed_server.store.columns.lanes import worker_lane, worker_of
from underfed_server.store.databases import tables
from underfed_server.store.reading.rows import read_rows
from underfed_server.store.reading.tracks import Reader, on_run_clock, with_starts

NEWEST_LIVES = 2_000
"""Lives read of a loader: the last epochs of many workers, or many epochs of a few."""

LIVES_EACH = 20
NEWEST_DIED = 20

NEWEST_SAMPLES = 3_600
"""Samples read of each worker: an hour, enough to distinguish growth of memory from jitter."""

_life, _stream = tables.worker_life.c, tables.stream.c
# Ordered by iterator, since a start may not have been seen; each incarnation counts its own.
_newest_first = (_stream.started_at.desc(), _life.iterator_index.desc())
# Built once: building a statement costs more than running it.
_ASKED: BindParameter[Any] = bindparam("ranks", expanding=True)
_is_asked = and_(_life.run_id == bindparam("run_id"), _life.rank.in_(_ASKED), _life.loader == bindparam("loader"))
_AGE = func.row_number().over(partition_by=_life.rank, order_by=_newest_first).label("age")
_AGED = with_starts(tables.worker_life).where(_is_asked).add_columns(_AGE).subquery()
_OF_LIFE = ("rank", "worker", "iterator_index", "epoch_index", "pid", "ended", "start_us", "end_us")
_LIVES = (
    select(*(_AGED.c[name] for name in (*_OF_LIFE, "started_at", "run_started_at")))
    .where(_AGED.c.age <= NEWEST_LIVES)
    .order_by(_AGED.c.rank, _AGED.c.age)
)
# Workers that died at one instant are ordered by number.
_DIED = (
    with_starts(tables.worker_life)
    .where(_life.run_id == bindparam("run_id"), _life.ended == "died")
    .order_by(*_newest_first, _life.end_us.desc(), _life.rank.desc(), _life.worker.desc())
    .limit(NEWEST_DIED)
)
_ENDED = (
    select(_life.rank, _life.worker, _life.ended, func.count())
    .where(_is_asked, _life.ended.is_not(None))
    .group_by(_life.rank, _life.worker, _life.ended)
)


@dataclass(frozen=True, slots=True, eq=False)
class WorkerRecord:
    """One worker number of a loader on one rank. Instants are on the run's clock."""

    worker: int
    lives: tuple[WorkerLife, ...]
    """The newest, oldest first."""
    ended: Mapping[str, int]
    """How many lives of the whole run ended in which way."""
    samples: WorkerRows

    @property
    def newest_samples(self) -> WorkerRows:
        """Samples of the process that lives, or lived last."""
        began_us, samples = self._newest_began_us(), self.samples
        # Mostly one process had it all the while, and of hundreds of workers it is asked at each judgement.
        is_of_one = len(samples) > 0 and float(samples.at_us[0]) >= began_us
        return samples if is_of_one else chosen(samples, samples.at_us >= began_us)

    def _newest_began_us(self) -> int:
        """Where the start was not seen: when the process before it was last seen."""
        if self.lives and self.lives[-1].start_us is not None:
            return self.lives[-1].start_us
        seen = [instant for life in self.lives[:-1] for instant in (life.start_us, life.end_us)]
        return max((instant for instant in seen if instant is not None), default=0)


def read_workers(reader: Reader, run_id: str, rank: int, loader: str) -> list[WorkerRecord]:
    """By worker number: workers with a recorded life or sample."""
    return read_workers_of(reader, run_id, [rank], loader)[rank]


def read_workers_of(reader: Reader, run_id: str, ranks: Sequence[int], loader: str) -> dict[int, list[WorkerRecord]]:
    """Likewise of each of these ranks: a question of one costs as much as one of all."""
    place = {"run_id": run_id, "ranks": list(ranks), "loader": loader}
    lives, ended = _lives(reader.connection, place), _ended(reader.connection, place)
    found = {}
    for rank in ranks:
        sampled = {worker for lane in reader.lanes(run_id, rank) if (worker := worker_of(lane, loader)) is not None}
        found[rank] = [
            WorkerRecord(
                worker,
                tuple(reversed(lives[rank, worker][:LIVES_EACH])),
                ended.get((rank, worker), {}),
                read_rows(WorkerRows, reader, run_id, rank, worker_lane(loader, worker), NEWEST_SAMPLES),
            )
            for worker in sorted(sampled | {worker for of, worker in lives if of == rank})
        ]
    return found


def newest_loader(connection: Connection, run_id: str, rank: int) -> str | None:
    """The loader whose workers started last; ``None``: none had workers."""
    statement = with_starts(tables.worker_life).with_only_columns(_life.loader)
    statement = statement.where(_life.run_id == run_id, _life.rank == rank).order_by(*_newest_first).limit(1)
    return connection.execute(statement).scalar()


def read_died(connection: Connection, run_id: str) -> list[DiedWorker]:
    """The newest deaths on all ranks and loaders, oldest first."""
    rows = connection.execute(_DIED, {"run_id": run_id}).mappings().all()
    return [
        DiedWorker(rank=row["rank"], loader=row["loader"], worker=row["worker"], **_life_of(row))
        for row in reversed(rows)
    ]


def _lives(connection: Connection, place: Mapping[str, Any]) -> dict[tuple[int, int], list[WorkerLife]]:
    """By rank and worker, the newest first."""
    found: dict[tuple[int, int], list[WorkerLife]] = defaultdict(list)
    for rank, worker, iterator_index, epoch_index, pid, ended, *us, started_at, run_started_at in connection.execute(
        _LIVES, place
    ):
        shift_us = (started_at - run_started_at) // tables.MICROSECOND
        start_us, end_us = (None if each is None else each + shift_us for each in us)
        # Not checked again, nor read by name: a run of eight ranks has hundreds, which are read at each judgement.
        found[rank, worker].append(
            WorkerLife.model_construct(
                iterator_index=iterator_index, epoch_index=epoch_index, pid=pid, ended=ended,
                start_us=start_us, end_us=end_us,
            )
        )  # fmt: skip
    return found


def _ended(connection: Connection, place: Mapping[str, Any]) -> dict[tuple[int, int], dict[str, int]]:
    """By rank and worker."""
    found: dict[tuple[int, int], dict[str, int]] = defaultdict(dict)
    for rank, worker, ended, count in connection.execute(_ENDED, place):
        found[rank, worker][ended] = count
    return found


def _life_of(row: RowMapping) -> dict[str, Any]:
    return {name: row[name] for name in ("iterator_index", "epoch_index", "pid", "ended")} | on_run_clock(row)
