"""Reads a run from the store into the record that it is judged by: the newest steps, and what lay behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from underfed_server.facts.growth import growth_of, may_show_growth
from underfed_server.facts.hosts import FEW_SAMPLES, Hosts, Span, mean_inside, newest_since, span_of
from underfed_server.facts.loaders import read_loaders
from underfed_server.facts.places import unique_name
from underfed_server.facts.record import (
    HostShare,
    Later,
    LoaderFacts,
    ProcessShare,
    RankFacts,
    RunFacts,
    WorkerFacts,
)
from underfed_server.facts.restarts import read_restarts
from underfed_server.measurements import (
    BatchRows,
    Column,
    HostRows,
    ProcessRows,
    Rows,
    WorkerRows,
    chosen,
    newest,
)
from underfed_server.model import HostFacts, Status
from underfed_server.store.columns.lanes import batches_lane, worker_of
from underfed_server.store.columns.short_batches import estimated
from underfed_server.store.reading.details import RunSetup, read_setup
from underfed_server.store.reading.rows import read_rows
from underfed_server.store.reading.samplers import read_samplers
from underfed_server.store.reading.tracks import Reader
from underfed_server.store.reading.tunings import read_tunings
from underfed_server.store.reading.worker_lives import WorkerRecord, read_workers_of
from underfed_server.store.runs.read_rates import read_rates
from underfed_server.store.store import Store

MOST_WORDS, LONGEST_WORD = 200, 2000
"""Length at which the agent cuts a command."""

GROWTH_US = FEW_SAMPLES * 1e6
"""Samples come once a second: as many are read anyway."""

Choose = Callable[[Sequence[LoaderFacts], Status], str | None]
"""Which of a run's loaders, most time spent with first, is condensed; ``None``: none, since none has a step."""


def condense(store: Store, run_id: str, *, choose: Choose, warmup_steps: int, judged_steps: int) -> RunFacts:
    """Facts from the newest ``judged_steps`` complete steps of each rank, the first ``warmup_steps`` left out.

    Raises:
        NotFoundError: there is no such run.
    """
    with store.reading() as reader:
        reader.read_whole(run_id)
        run = read_setup(reader, store.now(), run_id)
        facts = _condensed(reader, run, choose, warmup_steps, judged_steps)
        if not reader.stays:
            for rank in facts.ranks:
                rank.read_all()
        return facts


def _condensed(reader: Reader, run: RunSetup, choose: Choose, warmup_steps: int, judged_steps: int) -> RunFacts:
    hosts = Hosts(reader, run.run_id, read_samplers(reader, run.run_id))
    tunings = read_tunings(reader, run.run_id)
    loaders = read_loaders(hosts, run, warmup_steps, judged_steps, tunings)
    name = choose(loaders, run.status)
    storage = tuple(place for place in run.storage if place.loader == name)
    place = unique_name(max(storage, key=lambda each: each.files_seen, default=None))
    ranks = next((each.ranks for each in loaders if each.loader == name), ())
    info = next((each for each in run.loaders if each.loader == name), None)
    return RunFacts(
        run_id=run.run_id,
        status=run.status,
        loader=info,
        host=_host(hosts, run),
        ranks=_whole(hosts, ranks, name or "", judged_steps),
        warmup_steps=warmup_steps,
        loaders=loaders,
        storage=storage,
        read_elsewhere=tuple(read_rates(reader.connection, run.run_id, place)) if place else (),
        overrides=(info.overrides if info else None) or {},
        advice_of=run.advice_of,
        command=_command(run),
        not_measured={**run.not_measured, **(info.not_measured if info else {})},
        tuned=next((each for (_, loader), each in tunings.items() if loader == name), None),
        restarts=read_restarts(reader, run.run_id, ranks[0].rank, name) if ranks and name else None,
    )


def _command(run: RunSetup) -> tuple[str, ...]:
    """As the training process was started: ranks do not see their launcher's command, and a notebook has none."""
    words = tuple(run.command)
    is_whole = len(words) < MOST_WORDS and all(len(word) < LONGEST_WORD for word in words)
    starts_all = run.launcher is None and run.world_size == 1
    return words if is_whole and starts_all and not any("ipykernel" in word for word in words) else ()


def _host(hosts: Hosts, run: RunSetup) -> HostShare:
    """Of the first host: ranks of one job run on hosts of one kind."""
    if not run.hosts:
        return HostShare.model_validate(dict.fromkeys(HostFacts.model_fields) | {"hostname": ""})
    sampled = hosts.newest(run.ranks[0], 1) if run.ranks else None
    curves = {name: getattr(run.hosts[0], name) or None for name in ("cpu_slowdown", "memory_slowdown")}
    values = {**dict(run.hosts[0]), **curves}
    if sampled:
        names = ("shm_free_bytes", "memory_available_bytes", "memory_used_bytes", "swap_used_bytes")
        values |= {name: newest(getattr(sampled, name)) for name in names}
    return HostShare(**values)


def _whole(hosts: Hosts, ranks: Sequence[RankFacts], loader: str, judged_steps: int) -> tuple[RankFacts, ...]:
    """The ranks with what lies behind their judged steps."""
    growing = tuple(each.rank for each in ranks if _may_grow(hosts, each.rank, loader))
    read = cache(lambda asked: read_workers_of(hosts.reader, hosts.run_id, asked, loader))

    def workers_of(rank: int, span: Span | None) -> tuple[WorkerFacts, ...]:
        # Whether a host's memory grows is asked of all ranks on it: a question of one costs as much as one of all.
        records = read(growing if rank in growing else (rank,))[rank]
        return tuple(_worker(record, span) for record in records)

    return tuple(
        _whole_rank(hosts, each, loader, judged_steps, workers_of, may_grow=each.rank in growing) for each in ranks
    )


def _whole_rank(
    hosts: Hosts,
    judged: RankFacts,
    loader: str,
    judged_steps: int,
    workers_of: Callable[[int, Span | None], tuple[WorkerFacts, ...]],
    *,
    may_grow: bool,
) -> RankFacts:
    rank, span = judged.rank, span_of(judged)
    return replace(
        judged,
        batches=Later(lambda: _batches(hosts, rank, loader, judged_steps, span)),
        process=_process(hosts, rank, span),
        workers=Later(lambda: workers_of(rank, span)),
        may_grow=may_grow,
        host=Later(lambda: _host_rows(hosts, rank, span)),
        memory=Later(lambda: _host_rows(hosts, rank, _grown_in(span))),
    )


def _batches(hosts: Hosts, rank: int, loader: str, judged_steps: int, span: Span | None) -> BatchRows:
    # With workers, batches are ahead of the steps by the queue's length: twice as many hold all of the span.
    rows = estimated(read_rows(BatchRows, hosts.reader, hosts.run_id, rank, batches_lane(loader), 2 * judged_steps))
    return _within(rows, rows.start_us + rows.load_us, span)


def _may_grow(hosts: Hosts, rank: int, loader: str) -> bool:
    """Whether the loader's workers were sampled for long enough, perhaps: what is in chunks is not looked at."""
    reader = hosts.reader
    lanes = (lane for lane in reader.lanes(hosts.run_id, rank) if worker_of(lane, loader) is not None)
    tracks = [track for lane in lanes for track in reader.tracks(hosts.run_id, rank, lane)]
    if any(track.chunks or track.shift_index for track in tracks):
        return True
    hot = (reader.tail(track.key).lane(track.lane) for track in tracks)
    return any(rows is not None and may_show_growth(rows["at_us"]) for rows in hot)


def _within(rows: Rows, at_us: Column, span: Span | None) -> Rows:
    """Rows whose instant lies within the span of the judged steps."""
    inside = span.holds(at_us) if span else np.zeros(len(at_us), dtype=bool)
    return chosen(rows, inside)


def _grown_in(span: Span | None) -> Span | None:
    """What shows growth: ten minutes, though the judged steps of a fast loop are of its last one."""
    return None if span is None else Span(min(span.start_us, span.end_us - GROWTH_US), span.end_us)


def _host_rows(hosts: Hosts, rank: int, span: Span | None) -> HostRows | None:
    if span is None:
        return None
    rows = newest_since(span.start_us, lambda last: hosts.newest(rank, last))
    return _within(rows, rows.at_us, span)


def _process(hosts: Hosts, rank: int, span: Span | None) -> ProcessShare:
    if span is None:
        return ProcessShare()
    samples = newest_since(span.start_us, lambda last: hosts.process(rank, last))
    host = newest_since(span.start_us, lambda last: hosts.newest(rank, last))
    sampled = _within(samples, samples.at_us, _grown_in(span))
    growth = growth_of(sampled.at_us, sampled.rss_bytes)
    return ProcessShare(
        main_cores=_rate(samples, samples.main_cpu_us, span),
        main_runqueue_fraction=_rate(samples, samples.main_runqueue_us, span),
        process_cores=_rate(samples, samples.process_cpu_us, span),
        workers_cores=_rate(samples, samples.workers_cpu_us, span),
        host_busy_cores=mean_inside(host.at_us, host.busy_cores, span),
        threads=newest(samples.threads),
        open_files=newest(samples.open_files),
        swap_bytes=newest(samples.swap_bytes),
        bytes_per_hour=growth.per_hour if growth else None,
        is_growing=growth.is_real if growth else None,
    )


def _rate(samples: ProcessRows | WorkerRows, cumulative: Column, span: Span) -> float | None:
    """Growth of a cumulative amount per microsecond; a new process counts from 0 again, which is no growth."""
    if len(cumulative) < 2:
        return None
    inside = span.holds(samples.at_us) & np.isfinite(cumulative)
    at_us, values = samples.at_us[inside], cumulative[inside]
    if len(values) < 2:
        return None
    # Of hundreds of workers at each judgement: NumPy's functions for it take longer than the sums.
    grown, passed = values[1:] - values[:-1], at_us[1:] - at_us[:-1]
    has_grown = grown >= 0
    passed_us = passed[has_grown].sum()
    return float(grown[has_grown].sum() / passed_us) if passed_us > 0 else None


def _worker(record: WorkerRecord, span: Span | None) -> WorkerFacts:
    samples = record.newest_samples
    growth = growth_of(samples.at_us, _own_memory(samples)) if may_show_growth(samples.at_us) else None
    return WorkerFacts(
        worker=record.worker,
        threads=newest(samples.threads),
        cores=None if span is None else _rate(record.samples, record.samples.cpu_us, span),
        rss_bytes=newest(samples.rss_bytes),
        pss_bytes=newest(samples.pss_bytes),
        bytes_per_hour=growth.per_hour if growth else None,
        is_growing=growth.is_real if growth else None,
        died=record.ended.get("died", 0),
        received_bytes_per_s=_received_per_s(record.samples, span),
        connections=_most(samples.connections),
    )


def _received_per_s(samples: WorkerRows, span: Span | None) -> float | None:
    """``None`` also where connections were seen, once, of which it is not known what came through them: what others
    received is not all."""
    is_unknown = np.isnan(samples.received_bytes) & (samples.connections > 0)
    rate = None if span is None or is_unknown.any() else _rate(samples, samples.received_bytes, span)
    return None if rate is None else rate * 1e6


def _most(column: Column) -> int | None:
    known = column[np.isfinite(column)]
    return int(np.max(known)) if len(known) else None


def _own_memory(samples: WorkerRows) -> Column:
    """A worker that writes to memory it shared grows in its own share first; that is sampled of few workers."""
    return samples.pss_bytes if np.count_nonzero(np.isfinite(samples.pss_bytes)) >= 2 else samples.rss_bytes
