"""What running runs use now: the last few seconds of their samples, from the newest windows."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from itertools import chain

import msgspec
from sqlalchemy import Connection, and_, select

from underfed_server.ingest.inflate import inflate
from underfed_server.ingest.wire import GpuSamples, HostSamples, ProcessSamples
from underfed_server.measurements import RATES
from underfed_server.store.columns.sample_ends import (
    HELD,
    Ends,
    GpuNow,
    SampleEnds,
    joined,
    newest,
    newest_gpus,
    sample_ends,
)
from underfed_server.store.databases import tables
from underfed_server.store.writing.counted_window import CountedWindow

WINDOWS = (1, 4)
"""Windows of a rank that are looked at, and if these have no two samples: they are a second apart, windows of one to
four seconds."""

GOOD_FOR = timedelta(seconds=2)
"""How long what was read of a run is reused where its windows may come to other processes: the page does not poll more
often."""

STANDS_FOR = timedelta(seconds=15)
"""How long a window stands for now: of a rank that has sent nothing since, it is not known what it uses."""

MOST_AT_ONCE = 500
"""Runs in one database query."""

MOST_KEPT = 1_000
"""Ranks, and runs, that are kept without a look at how old what is known of them is."""

RankOfRun = tuple[str, int]
"""A run's id, and one of its ranks."""


class _Samples(msgspec.Struct, gc=False):
    """The samples of a window of the database; its other fields are not decoded."""

    process: ProcessSamples | None = None
    host: HostSamples | None = None
    gpus: list[GpuSamples] = []


_decoder = msgspec.json.Decoder(_Samples)


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


@dataclass(frozen=True)
class RankWindows:
    """The newest windows that came of one rank."""

    at: datetime
    """When the newest window was; where it was read from the database, when its run was seen last."""
    order: tuple[int, int]
    """The incarnation, and its newest window."""
    windows: Sequence[SampleEnds]
    """The newest, oldest first; none: the incarnation has ended."""

    @cached_property
    def now(self) -> RankNow:
        """What it uses; computed once, for the first who looks."""
        return _rank_now(_enough(self.windows))


class CurrentUsage:
    """Any thread may use it. It keeps the newest samples of each rank.

    Where all windows come to this process, they are noted as they come, and the database is read once for each run: of
    what came before this process began.
    """

    def __init__(self, *, receives_all: bool) -> None:
        self._receives_all = receives_all
        self._newest: dict[RankOfRun, RankWindows] = {}
        self._looked_up: dict[str, datetime] = {}
        """Runs that the database was read for, and when; where all windows are noted, when the run was asked for."""
        self._most = MOST_KEPT
        self._lock = threading.Lock()

    def note(self, stored: Iterable[CountedWindow], now: datetime) -> None:
        """These windows were stored, in their order, each of the newest incarnation of its rank."""
        if not self._receives_all:
            return
        with self._lock:
            for each in stored:
                window = each.window
                place, order = (window.run_id, window.rank), (window.incarnation, window.window_index)
                known = self._newest.get(place)
                before = known.windows if known is not None and known.order[0] == window.incarnation else ()
                windows = [] if window.end else [*before[1 - WINDOWS[-1] :], each.samples]
                self._newest[place] = RankWindows(now, order, windows)
            if len(self._newest) > self._most:
                self._forget(now)

    def read(self, connection: Connection, run_ids: Iterable[str], now: datetime) -> dict[RankOfRun, RankWindows]:
        """Of every rank of these running runs that sent samples lately: what it uses is computed once it is asked
        for."""
        asked = set(run_ids)
        with self._lock:
            known = {run_id for run_id in asked & self._looked_up.keys() if self._is_known(run_id, now)}
        read = _read(connection, sorted(asked - known))
        with self._lock:
            for place, found in read.items():
                noted = self._newest.get(place)
                if noted is None or (found.order, len(found.windows)) >= (noted.order, len(noted.windows)):
                    self._newest[place] = found
            self._looked_up |= dict.fromkeys(asked if self._receives_all else asked - known, now)
            self._forget(now)
            return {place: each for place, each in self._newest.items() if place[0] in asked and each.windows}

    def _is_known(self, run_id: str, now: datetime) -> bool:
        return self._receives_all or now - self._looked_up[run_id] < GOOD_FOR

    def _forget(self, now: datetime) -> None:
        self._newest = {place: each for place, each in self._newest.items() if now - each.at < STANDS_FOR}
        self._most = max(MOST_KEPT, 2 * len(self._newest))
        if len(self._looked_up) > MOST_KEPT:
            self._looked_up = {run_id: at for run_id, at in self._looked_up.items() if now - at < STANDS_FOR}


def _read(connection: Connection, run_ids: Sequence[str]) -> dict[RankOfRun, RankWindows]:
    found: dict[RankOfRun, RankWindows] = {}
    for count in WINDOWS:
        windows: dict[RankOfRun, list[SampleEnds]] = defaultdict(list)
        for first in range(0, len(run_ids), MOST_AT_ONCE):
            for place, at, order, window in _windows(connection, run_ids[first : first + MOST_AT_ONCE], count):
                windows[place].append(window)
                found[place] = RankWindows(at, order, windows[place])
        run_ids = sorted({run_id for (run_id, _), each in windows.items() if not _are_enough(each)})
    return found


def _enough(windows: Sequence[SampleEnds]) -> Sequence[SampleEnds]:
    """Of the newest of these, as :data:`WINDOWS` says."""
    newest = windows[-WINDOWS[0] :]
    return newest if _are_enough(newest) else windows


def _are_enough(windows: Collection[SampleEnds]) -> bool:
    """Whether they show how fast each counter grows."""
    kinds = [each.process_samples for each in windows], [each.host_samples for each in windows]
    sampled = [sum(known) for kind in kinds if (known := [count for count in kind if count is not None])]
    return bool(sampled) and min(sampled) >= 2


def _windows(
    connection: Connection, run_ids: Sequence[str], count: int
) -> Iterator[tuple[RankOfRun, datetime, tuple[int, int], SampleEnds]]:
    """The ``count`` newest windows of each rank's newest incarnation, oldest first, and when the run was seen last."""
    run, rank, stream, hot = tables.run.c, tables.rank.c, tables.stream.c, tables.hot.c
    is_newest = and_(
        stream.run_id == rank.run_id, stream.rank == rank.rank, stream.incarnation == rank.incarnation,
        stream.end_status.is_(None),
    )  # fmt: skip
    is_last = and_(
        hot.run_id == stream.run_id, hot.rank == stream.rank, hot.incarnation == stream.incarnation,
        hot.window_index > stream.last_window_index - count,
    )  # fmt: skip
    statement = select(
        hot.run_id, hot.rank, run.last_seen_at, hot.incarnation, hot.window_index, hot.encoding, hot.body
    )
    statement = statement.select_from(tables.rank).join(tables.run, run.run_id == rank.run_id)
    statement = statement.join(tables.stream, is_newest).join(tables.hot, is_last)
    statement = statement.where(rank.run_id.in_(run_ids)).order_by(hot.window_index)
    for run_id, of_rank, at, incarnation, window_index, encoding, body in connection.execute(statement):
        yield (run_id, of_rank), at, (incarnation, window_index), sample_ends(_decoder.decode(inflate(body, encoding)))


def _rank_now(windows: Sequence[SampleEnds]) -> RankNow:
    own_cores = _growth_per_us(joined(each.own_cpu_us for each in windows))
    gpus = newest_gpus(chain.from_iterable(each.gpus.items() for each in windows))
    # One rank of a host samples it: the others, most of all, are not looked through for it.
    if all(each.host_samples is None for each in windows):
        return RankNow(own_cores, gpus=gpus)
    totals = zip(*(each.totals for each in windows), strict=True)
    rates = {rate: _growth_per_us(joined(total)) for rate, total in zip(RATES, totals, strict=True)}
    held = zip(*(each.held for each in windows), strict=True)
    return RankNow(
        own_cores,
        is_sampling=True,
        rates={rate: each * 1e6 for rate, each in rates.items() if each is not None},
        gpus=gpus,
        **{name: newest(values) for name, values in zip(HELD, held, strict=True)},
    )


def _growth_per_us(counter: Ends | None) -> float | None:
    """``None``: fewer than two samples, or the counter was reset between them."""
    if counter is None or counter.last_us <= counter.first_us or counter.last < counter.first:
        return None
    return (counter.last - counter.first) / (counter.last_us - counter.first_us)
