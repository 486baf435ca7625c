"""All that is known of one run, beyond its line in the runs table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Connection,
    RowMapping,
    Table,
    bindparam,
    func,
    select,
    type_coerce,
)

from underfed_server.model import (
    Device,
    EpochInfo,
    HostFacts,
    LoaderInfo,
    Losses,
    Run,
    RunSummary,
    Status,
    StoragePlace,
)
from underfed_server.store.databases import tables
from underfed_server.store.reading.tracks import Reader, on_run_clock, with_starts
from underfed_server.store.reading.worker_lives import read_died
from underfed_server.store.runs.status import status_of
from underfed_server.store.runs.summaries import devices_by_host, run_columns, run_row, summaries

NEWEST_EPOCHS, MOST_EPOCHS = 200, 1_000
"""Of each rank with each loader, and of a run."""

# Built once: building a statement costs more than running it.
_rank, _loader = tables.rank.c, tables.loader.c
_REASONS = select(_rank.not_measured).where(_rank.run_id == bindparam("run_id")).order_by(_rank.rank.desc())
_epoch = tables.epoch.c
# Sorted by wall-clock time: each incarnation has a run clock of its own.
_BEGAN = type_coerce(tables.stream.c.started_at, BigInteger) + _epoch.start_us
_EPOCHS = with_starts(tables.epoch).where(_epoch.run_id == bindparam("run_id"))
_AGE = func.row_number().over(partition_by=(_epoch.rank, _epoch.loader), order_by=_BEGAN.desc()).label("age")
# The newest of each rank and loader before older ones of any: one loader's many epochs leave room for another's few.
_AGED = _EPOCHS.add_columns(_AGE, _BEGAN.label("began")).subquery()
_EPOCHS_OF_ALL = (
    select(_AGED).where(_AGED.c.age <= NEWEST_EPOCHS).order_by(_AGED.c.age, _AGED.c.began.desc()).limit(MOST_EPOCHS)
)
_ASKED: Sequence[BindParameter[Any]] = [bindparam(name, expanding=True) for name in ("ranks", "loaders")]
_AGED_OF = _EPOCHS.add_columns(_AGE).where(_epoch.rank.in_(_ASKED[0]), _epoch.loader.in_(_ASKED[1])).subquery()
_EPOCHS_OF = (
    select(_AGED_OF)
    .where(_AGED_OF.c.age <= bindparam("last"))
    .order_by(_AGED_OF.c.rank, _AGED_OF.c.loader, _AGED_OF.c.age)
)
_OF_RUN = {
    table: select(table).where(table.c.run_id == bindparam("run_id")).order_by(*(table.c[name] for name in order))
    for table, order in (
        (tables.rank, ["rank"]),
        (tables.stream, ["rank", "incarnation"]),
        (tables.storage, ["incarnation"]),
        (tables.loader, ["loader"]),
    )
}
_OF_LOADER = select(_loader.info).where(_loader.run_id == bindparam("run_id"), _loader.loader == bindparam("loader"))


def read_run(connection: Connection, now: datetime, run_id: str) -> Run:
    """Raises:
    NotFoundError: there is no such run.
    """
    row = run_row(connection, run_id)
    summary = summaries(connection, [row], now)[0]
    ranks = _of_run(connection, tables.rank, run_id)
    streams = _of_run(connection, tables.stream, run_id)
    same = [name for name in Run.model_fields.keys() - RunSummary.model_fields.keys() if name in row]
    steps = sum(stream["overhead_steps"] for stream in streams)
    return Run(
        **dict(summary),
        **{name: row[name] for name in same},
        ranks=sorted({stream["rank"] for stream in streams}),
        pods=list(dict.fromkeys(rank["pod"] for rank in ranks if rank["pod"])),
        loaders=_loaders(connection, run_id),
        hosts=_hosts(ranks),
        devices=[Device(**device) for device in devices_by_host(ranks).values()],
        epochs=_epochs(connection, run_id),
        storage=_storage(ranks, _of_run(connection, tables.storage, run_id)),
        died_workers=read_died(connection, run_id),
        losses=Losses(**{name: sum(stream[name] for stream in streams) for name in Losses.model_fields}),
        overhead_us=sum(stream["overhead_us_total"] for stream in streams) / steps if steps else None,
        not_measured=_not_measured(ranks),
    )


@dataclass(frozen=True, slots=True)
class RunSetup:
    """How a run was started, with what and on what: of a :class:`Run`, all that a verdict takes account of."""

    run_id: str
    status: Status
    world_size: int | None
    launcher: str | None
    command: Sequence[str]
    advice_of: str | None
    ranks: Sequence[int]
    loaders: Sequence[LoaderInfo]
    hosts: Sequence[HostFacts]
    storage: Sequence[StoragePlace]
    not_measured: Mapping[str, str]


OF_STATUS = ("open_ranks", "crashed_ranks", "last_seen_at")
OF_SETUP = ("world_size", "launcher", "command", "advice_of")


def read_setup(reader: Reader, now: datetime, run_id: str) -> RunSetup:
    """A third of what :func:`read_run` reads: each judgement asks.

    Raises:
        NotFoundError: there is no such run.
    """
    row = run_columns(reader.connection, run_id, *OF_STATUS, *OF_SETUP)
    ranks = _of_run(reader.connection, tables.rank, run_id)
    return RunSetup(
        run_id,
        status_of(**{name: row[name] for name in OF_STATUS}, now=now),
        **{name: row[name] for name in OF_SETUP},
        ranks=reader.ranks(run_id),
        loaders=_loaders(reader.connection, run_id),
        hosts=_hosts(ranks),
        storage=_storage(ranks, _of_run(reader.connection, tables.storage, run_id)),
        not_measured=_not_measured(ranks),
    )


def _not_measured(ranks: Sequence[RowMapping]) -> dict[str, str]:
    return {fact: why for rank in reversed(ranks) for fact, why in rank["not_measured"].items()}


def read_epochs(connection: Connection, run_id: str, rank: int, loader: str, last: int) -> tuple[EpochInfo, ...]:
    """The newest epochs of a rank with a loader; oldest first, on the run's clock."""
    return read_epochs_of(connection, run_id, {(rank, loader): last})[rank, loader]


def read_epochs_of(
    connection: Connection, run_id: str, lasts: Mapping[tuple[int, str], int]
) -> dict[tuple[int, str], tuple[EpochInfo, ...]]:
    """Likewise, so many of each of these ranks and loaders: a question of one costs as much as one of all."""
    ranks, loaders = {rank for rank, _ in lasts}, {loader for _, loader in lasts}
    most = max(lasts.values(), default=0)
    asked = {"run_id": run_id, "ranks": sorted(ranks), "loaders": sorted(loaders), "last": most}
    found: dict[tuple[int, str], tuple[EpochInfo, ...]] = dict.fromkeys(lasts, ())
    rows = connection.execute(_EPOCHS_OF, asked).mappings()
    for place, own in groupby(rows, key=lambda row: (row["rank"], row["loader"])):
        newest = list(own)[: lasts.get(place, 0)]
        if newest:
            found[place] = tuple(_joined(reversed(newest)))
    return found


def _epochs(connection: Connection, run_id: str) -> list[EpochInfo]:
    """The newest of all ranks and loaders; oldest first."""
    rows = connection.execute(_EPOCHS_OF_ALL, {"run_id": run_id}).mappings().all()
    ordered = sorted(rows, key=lambda row: (row["rank"], row["loader"], row["began"]))
    of_loaders = groupby(ordered, key=lambda row: (row["rank"], row["loader"]))
    return sorted((each for _, own in of_loaders for each in _joined(own)), key=lambda each: (each.start_us, each.rank))


def _joined(rows: Iterable[RowMapping]) -> Iterator[EpochInfo]:
    """Of one rank and loader, oldest first. Where settings were switched within an epoch, it was recorded in parts."""
    for _, parts in groupby(rows, key=lambda row: (row["incarnation"], _program_epoch(row))):
        each = [_epoch_info(row) for row in parts]
        first, last = each[0], each[-1]
        steps = None if last.steps is None else sum(part.steps or 0 for part in each)
        yield first.model_copy(
            update={"steps": steps, **{name: getattr(last, name) for name in ("end_us", "ending_us", "ended")}}
        )


def _program_epoch(row: RowMapping) -> int:
    index: int = row["epoch_index"] if row["program_epoch"] is None else row["program_epoch"]
    return index


_OF_EPOCH = tuple(EpochInfo.model_fields.keys() - {"start_us", "end_us"})


def _epoch_info(row: RowMapping) -> EpochInfo:
    values: dict[str, Any] = {name: row[name] for name in _OF_EPOCH} | on_run_clock(row)
    # Not checked again: each judgement reads the newest of every rank.
    return EpochInfo.model_construct(**values)


def read_reasons(connection: Connection, run_id: str, loader: str | None) -> Mapping[str, str]:
    """Why facts were not measured, by the agents: the loader's reasons before the run's, low ranks before high ones."""
    found: dict[str, str] = {}
    for reasons in connection.execute(_REASONS, {"run_id": run_id}).scalars():
        found |= reasons
    info = connection.execute(_OF_LOADER, {"run_id": run_id, "loader": loader}).scalar()
    if info is not None:
        found |= info.get("not_measured", {})
    return found


def _of_run(connection: Connection, table: Table, run_id: str) -> Sequence[RowMapping]:
    return connection.execute(_OF_RUN[table], {"run_id": run_id}).mappings().all()


def _hosts(ranks: Iterable[RowMapping]) -> list[HostFacts]:
    reported = {rank["hostname"]: rank["host"] for rank in ranks if rank["hostname"] and rank["host"]}
    return [host_facts(hostname, host) for hostname, host in reported.items()]


def host_facts(hostname: str, reported: Mapping[str, Any]) -> HostFacts:
    """Facts that this version knows: an older agent sends fewer, a newer one sends others as well."""
    known = HostFacts.model_fields.keys() - {"hostname"}
    return HostFacts(hostname=hostname, **{name: reported.get(name) for name in known})


def _storage(ranks: Iterable[RowMapping], rows: Iterable[RowMapping]) -> list[StoragePlace]:
    """Each place of a host once, as its newest incarnation saw it, though every rank of the host may name it."""
    hostnames = {rank["rank"]: rank["hostname"] for rank in ranks}
    same = StoragePlace.model_fields.keys() - {"hostname"}
    places = {}
    for row in rows:
        hostname = hostnames.get(row["rank"])
        place = StoragePlace(hostname=hostname, **{name: row[name] for name in same})
        places[row["loader"], hostname, row["mount"]] = place
    return [places[key] for key in sorted(places, key=str)]


def _loaders(connection: Connection, run_id: str) -> list[LoaderInfo]:
    rows = _of_run(connection, tables.loader, run_id)
    # An older agent did not send every field.
    return [LoaderInfo(**{name: row["info"].get(name) for name in LoaderInfo.model_fields}) for row in rows]
