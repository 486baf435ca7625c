"""What running runs use now: the last few seconds of their samples, read from windows that no chunk holds yet."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

import msgspec
from sqlalchemy import Connection, and_, select

from underfed_server.ingest.inflate import inflate
from underfed_server.ingest.wire import GpuSamples, HostSamples, ProcessSamples
from underfed_server.measurements import RATES
from underfed_server.store.databases import tables

WINDOWS = (1, 4)
"""Windows of a rank that are read, and if these have no two samples: they are a second apart, windows of one to four
seconds."""

GOOD_FOR = timedelta(seconds=2)
"""How long a reading is reused: the page does not poll more often."""

STANDS_FOR = timedelta(seconds=15)
"""How long it is used where no new one is possible because the windows were just compacted."""

MOST_AT_ONCE = 500
"""Runs in one database query."""

HELD = ("busy_cores", "memory_used_bytes", "memory_available_bytes", "shm_free_bytes")
"""Columns of a host's samples whose newest value counts."""

Place = tuple[str, int]
"""A run's id, and one of its ranks."""


class _Samples(msgspec.Struct, gc=False):
    """The samples of a window; its other fields are not decoded."""

    process: ProcessSamples | None = None
    host: HostSamples | None = None
    gpus: list[GpuSamples] = []


_decoder = msgspec.json.Decoder(_Samples)


@dataclass(frozen=True, slots=True)
class GpuNow:
    util_fraction: float | None
    memory_used_bytes: int | None
    own_process: bool | None
    """Whether a process of the run that sampled it computes on it."""


OF_GPU = tuple(each.name for each in fields(GpuNow))


@dataclass(frozen=True, slots=True)
class RankNow:
    """What one rank sampled: its own processes, and the host and the GPUs if it samples these."""

    own_cores: float | None = None
    is_sampling: bool = False
    """Its host."""
    busy_cores: float | None = None
    memory_used_bytes: int | None = None
    memory_available_bytes: int | None = None
    shm_free_bytes: int | None = None
    rates: Mapping[str, float] = field(default_factory=dict)
    """Rates by name, without those that were not measured."""
    gpus: Mapping[int, GpuNow] = field(default_factory=dict)


class CurrentUsage:
    """Any thread may use it. It caches the last readings."""

    def __init__(self) -> None:
        self._kept: dict[Place, tuple[datetime, RankNow]] = {}
        self._lock = threading.Lock()

    def read(self, connection: Connection, run_ids: Iterable[str], now: datetime) -> dict[Place, RankNow]:
        """The use by every rank of these running runs that sent samples lately."""
        with self._lock:
            kept = dict(self._kept)
        asked = set(run_ids)
        fresh = {place[0] for place, (at, _) in kept.items() if now - at < GOOD_FOR}
        read = _read(connection, sorted(asked - fresh))
        found = {place: (at, each) for place, (at, each) in kept.items() if now - at < STANDS_FOR}
        found |= {place: (now, each) for place, each in read.items()}
        with self._lock:
            self._kept = found
        return {place: each for place, (_, each) in found.items() if place[0] in asked}


def _read(connection: Connection, run_ids: Sequence[str]) -> dict[Place, RankNow]:
    found: dict[Place, list[_Samples]] = {}
    for count in WINDOWS:
        windows: dict[Place, list[_Samples]] = defaultdict(list)
        for first in range(0, len(run_ids), MOST_AT_ONCE):
            for place, samples in _windows(connection, run_ids[first : first + MOST_AT_ONCE], count):
                windows[place].append(samples)
        found |= windows
        run_ids = sorted({run_id for (run_id, _), each in windows.items() if not _are_enough(each)})
    return {place: _rank_now(samples) for place, samples in found.items()}


def _are_enough(windows: Sequence[_Samples]) -> bool:
    """Whether how fast each counter grows can be told from them."""
    parts = [[part for each in windows if (part := getattr(each, kind)) is not None] for kind in ("process", "host")]
    sampled = [sum(len(each.at_us) for each in kind) for kind in parts if kind]
    return bool(sampled) and min(sampled) >= 2


def _windows(connection: Connection, run_ids: Sequence[str], count: int) -> Iterator[tuple[Place, _Samples]]:
    """The ``count`` newest windows of each rank's newest incarnation, oldest first."""
    rank, stream, hot = tables.rank.c, tables.stream.c, tables.hot.c
    is_newest = and_(
        stream.run_id == rank.run_id, stream.rank == rank.rank, stream.incarnation == rank.incarnation,
        stream.end_status.is_(None),
    )  # fmt: skip
    is_last = and_(
        hot.run_id == stream.run_id, hot.rank == stream.rank, hot.incarnation == stream.incarnation,
        hot.window_index > stream.last_window_index - count,
    )  # fmt: skip
    statement = select(hot.run_id, hot.rank, hot.encoding, hot.body).select_from(tables.rank)
    statement = statement.join(tables.stream, is_newest).join(tables.hot, is_last)
    statement = statement.where(rank.run_id.in_(run_ids)).order_by(hot.window_index)
    for row in connection.execute(statement):
        yield (row.run_id, row.rank), _decoder.decode(inflate(row.body, row.encoding))


def _rank_now(windows: Sequence[_Samples]) -> RankNow:
    process = [each.process for each in windows if each.process is not None]
    host = [each.host for each in windows if each.host is not None]
    at_us = _column(host, "at_us")
    rates = {rate: _growth_per_us(at_us, _column(host, total)) for rate, total in RATES.items()}
    return RankNow(
        own_cores=_growth_per_us(_column(process, "at_us"), _cpu_us(process)),
        is_sampling=bool(host),
        rates={rate: each * 1e6 for rate, each in rates.items() if each is not None},
        gpus=_gpus_now(list(chain.from_iterable(each.gpus for each in windows))),
        **{name: _last(_column(host, name)) for name in HELD},
    )


def _gpus_now(samples: Sequence[GpuSamples]) -> dict[int, GpuNow]:
    by_index: dict[int, list[GpuSamples]] = defaultdict(list)
    for each in samples:
        by_index[each.gpu_index].append(each)
    return {index: GpuNow(*(_last(_column(parts, name)) for name in OF_GPU)) for index, parts in by_index.items()}


def _cpu_us(process: Sequence[ProcessSamples]) -> list[float | None]:
    """CPU time of the training process and its workers together."""
    both = zip(_column(process, "process_cpu_us"), _column(process, "workers_cpu_us"), strict=True)
    return [None if own is None or workers is None else own + workers for own, workers in both]


def _column(parts: Sequence[ProcessSamples | HostSamples | GpuSamples], name: str) -> list[Any]:
    columns = (getattr(part, name) or [None] * len(part.at_us) for part in parts)
    return list(chain.from_iterable(columns))


def _growth_per_us(at_us: Sequence[float | None], column: Sequence[float | None]) -> float | None:
    """``None``: fewer than two samples, or the counter was reset between them."""
    known = [(at, value) for at, value in zip(at_us, column, strict=True) if at is not None and value is not None]
    if len(known) < 2 or known[-1][0] <= known[0][0] or known[-1][1] < known[0][1]:
        return None
    return (known[-1][1] - known[0][1]) / (known[-1][0] - known[0][0])


def _last(column: Sequence[Any]) -> Any:
    """The last value that was measured."""
    return next((value for value in reversed(column) if value is not None), None)
