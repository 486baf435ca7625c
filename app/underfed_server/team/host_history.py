"""What a host did in a time range: its cores, memory, disks and networks, and the runs on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from underfed_server.measurements import OWN_CORES, RATES, Column, explained_by
from underfed_server.model import HostHistory, HostSeries, Unit
from underfed_server.names import Projects
from underfed_server.store.columns.ladder import Rollup
from underfed_server.store.columns.lanes import HOST, PROCESS
from underfed_server.store.columns.sample_ends import HELD
from underfed_server.store.databases.tables import MICROSECOND
from underfed_server.store.reading.series import read_series
from underfed_server.store.reading.tracks import Reader
from underfed_server.store.store import Store
from underfed_server.store.team.runs_on_hosts import RankOnHost, RunOnHost, read_ranks_on_hosts, read_runs_on_hosts
from underfed_server.team.current_hosts import cpus_seen, is_limited, reasons_of, widest_facts

MOST_RUNS = 100
"""Most runs in one chart: the latest ones."""

MOST_RANKS = 400
"""Most ranks read: each has samples of its own, and reading them takes about a millisecond."""

HELD_OR_MOVED = (*HELD, *RATES)
SAMPLE_US = 1_000_000
"""Time between samples (docs/wire.md)."""

UNITS: dict[str, Unit] = {
    "own_cores": "cores", "other_cores": "cores", "idle_cores": "cores", "memory_used_bytes": "bytes",
    "shm_used_bytes": "bytes", **dict.fromkeys(RATES, "bytes_per_s"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Span:
    """The requested time, cut into intervals."""

    from_at: datetime
    to_at: datetime
    buckets: int

    @property
    def us(self) -> int:
        return max(self.buckets, (self.to_at - self.from_at) // MICROSECOND)

    @property
    def middles_us(self) -> Column:
        """Middles of the intervals, since the beginning of the span."""
        return (np.arange(self.buckets) + 0.5) * self.us / self.buckets


@dataclass(frozen=True, slots=True)
class _Lane:
    """Samples of one rank, brought to the span's intervals. NaN: none was taken then."""

    rank: RankOnHost
    columns: dict[str, Column]


def read_history(
    store: Store, hostname: str, from_at: datetime, to_at: datetime, buckets: int, projects: Projects = None
) -> HostHistory:
    """The history of a host; ``projects``: as only their runs recorded it."""
    span = _Span(from_at, to_at, buckets)
    with store.reading() as reader:
        runs = read_runs_on_hosts(
            reader.connection, from_at, store.now(), until=to_at, hostname=hostname, projects=projects
        )[:MOST_RUNS]  # fmt: skip
        everywhere = read_ranks_on_hosts(reader.connection, [run.run_id for run in runs])
        ranks = [rank for rank in everywhere if rank.hostname == hostname]
        placed = {run.run_id: run for run in runs}
        hosts = list(_read(reader, ranks, placed, span, HOST, HELD_OR_MOVED))
        own = list(_read(reader, ranks[:MOST_RANKS], placed, span, PROCESS, (OWN_CORES,)))
    widest = widest_facts(ranks)
    hosts.sort(key=lambda lane: -cpus_seen(lane.rank))
    held = {name: _filled([lane.columns[name] for lane in hosts], span) for name in HELD_OR_MOVED}
    limit, total, shm = (widest.get(name) for name in ("memory_limit_bytes", "memory_total_bytes", "shm_total_bytes"))
    limited = is_limited(limit, total)
    columns = {rate: held[rate] for rate in RATES} | {
        "memory_used_bytes": held["memory_used_bytes"] if limited else _left(total, held["memory_available_bytes"]),
        "shm_used_bytes": _left(shm, held["shm_free_bytes"]),
        **_cores(
            held["busy_cores"], _own(own, placed, span, is_whole=len(ranks) <= MOST_RANKS), widest.get("allowed_cpus")
        ),
    }
    reasons = reasons_of(ranks)
    return HostHistory(
        hostname=hostname,
        from_at=from_at,
        to_at=to_at,
        bucket_us=span.us // buckets,
        usable_cores=widest.get("usable_cores"),
        memory_limit_bytes=limit if limited else total,
        shm_total_bytes=shm,
        runs=sorted(runs, key=lambda run: run.started_at),
        series=[_series(name, columns[name], reasons) for name in UNITS],
    )


def _read(
    reader: Reader,
    ranks: Sequence[RankOnHost],
    placed: dict[str, RunOnHost],
    span: _Span,
    lane: str,
    names: Sequence[str],
) -> Iterator[_Lane]:
    for rank in ranks:
        run = placed[rank.run_id]
        before_us = (span.from_at - run.started_at) // MICROSECOND
        share = (min(run.ended_at, span.to_at) - max(run.started_at, span.from_at)) // MICROSECOND / span.us
        found = read_series(
            reader, run.run_id, rank.rank, lane,
            names=names, buckets=max(1, round(span.buckets * share)), from_us=before_us, to_us=before_us + span.us,
        )  # fmt: skip
        if found is not None:
            yield _Lane(rank, {name: _at(found, name, span.middles_us + before_us) for name in names})


def _at(found: Rollup, name: str, at_us: Column) -> Column:
    """The mean of the bucket that lies at each instant, as far as its samples reach."""
    stat = found.stats.get(name)
    if stat is None:
        return np.full(len(at_us), np.nan)
    mean = np.divide(stat.sum, stat.count, out=np.full(len(stat.sum), np.nan), where=stat.count > 0)
    # Rows further apart than a second, or than they mostly are, have a gap between them.
    apart = np.diff(found.first_us) / found.rows[:-1]
    usual = max(SAMPLE_US, float(np.median(apart)) if len(apart) else 0.0)
    reach = np.minimum(np.append(found.first_us[1:], np.inf), found.first_us + 2 * usual * found.rows)
    place = np.searchsorted(found.first_us, at_us, side="right") - 1
    return np.where((place >= 0) & (at_us < reach[np.maximum(place, 0)]), mean[np.maximum(place, 0)], np.nan)


def _filled(columns: Sequence[Column], span: _Span) -> Column:
    """Of several lanes that measured the same, at each instant the first that has a value."""
    filled = np.full(span.buckets, np.nan)
    for column in columns:
        filled = np.where(np.isnan(filled), column, filled)
    return filled


def _left(total: float | None, free: Column) -> Column:
    return np.full(len(free), np.nan) if total is None else np.maximum(0.0, total - free)


def _own(lanes: Sequence[_Lane], placed: dict[str, RunOnHost], span: _Span, *, is_whole: bool) -> Column:
    """All ranks together; not known while one of them is not: a part would look like the whole."""
    total = np.zeros(span.buckets) if lanes and is_whole else np.full(span.buckets, np.nan)
    for lane in lanes:
        run = placed[lane.rank.run_id]
        first, last = ((at - span.from_at) // MICROSECOND for at in (run.started_at, run.ended_at))
        lives = (span.middles_us >= first) & (span.middles_us <= last)
        total = total + np.where(lives, lane.columns[OWN_CORES], 0.0)
    return total


def _cores(busy: Column, own: Column, allowed: int | None) -> dict[str, Column]:
    """Both are means of slightly different moments, so the difference is at least 0."""
    own = np.where(np.isnan(busy), np.nan, own)
    idle = np.full(len(busy), np.nan) if allowed is None else np.maximum(0.0, allowed - np.fmax(busy, own))
    return {
        "own_cores": own,
        "other_cores": np.maximum(0.0, busy - own),
        "idle_cores": np.where(np.isnan(own), np.nan, idle),
    }


def _series(name: str, column: Column, reasons: dict[str, str]) -> HostSeries:
    unit = UNITS[name]
    known = np.isfinite(column)
    digits = 3 if unit == "cores" else 0
    values = [
        round(value, digits) if is_known else None for value, is_known in zip(column.tolist(), known, strict=True)
    ]
    missing = None if known.any() else reasons.get(explained_by(name) or name, "nothing was measured in this time")
    return HostSeries(metric=name, unit=unit, values=values, missing=missing)
