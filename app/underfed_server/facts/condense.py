"""Reads a run from the store into the record that it is judged by: the newest steps, and what lay behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

import numpy as np

from underfed_server.facts.growth import growth_per_hour, is_growing
from underfed_server.facts.record import (
    HostShare,
    Mask,
    ProcessShare,
    RankFacts,
    RunFacts,
    WorkerFacts,
)
from underfed_server.measurements import (
    BatchRows,
    Column,
    HostRows,
    ProcessRows,
    Rows,
    StepRows,
    WorkerRows,
    chosen,
    newest,
)
from underfed_server.model import EpochInfo, HostFacts, Run
from underfed_server.store.reading.samplers import Samplers
from underfed_server.store.reading.worker_lives import WorkerRecord
from underfed_server.store.store import StepTotals, Store

Samples = TypeVar("Samples", ProcessRows, HostRows)

MOST_WORDS, LONGEST_WORD = 200, 2000
"""Length at which the agent cuts a command."""

FEW_SAMPLES = 600
"""Ten minutes: as long as most spans of judged steps."""


@dataclass(frozen=True, slots=True)
class Span:
    """From the request of the first judged step to the end of the last, on the run's clock."""

    start_us: float
    end_us: float

    def holds(self, at_us: Column) -> Mask:
        return (at_us >= self.start_us) & (at_us <= self.end_us)


@dataclass(frozen=True, slots=True)
class Asked:
    """Which part of a run is condensed."""

    run: Run
    loader: str
    warmup_steps: int
    judged_steps: int

    def epochs(self, rank: int) -> tuple[EpochInfo, ...]:
        return tuple(each for each in self.run.epochs if (each.rank, each.loader) == (rank, self.loader))


@dataclass(frozen=True, slots=True)
class Hosts:
    """Samples of the hosts of a run, read once however many ranks run on one."""

    store: Store
    run_id: str
    samplers: Samplers
    known: dict[tuple[int, int], HostRows] = field(default_factory=dict)

    def newest(self, rank: int, last: int) -> HostRows:
        """The newest samples of the host of ``rank``."""
        key = self.samplers.host_rank(rank), last
        if key not in self.known:
            self.known[key] = self.store.host(self.run_id, *key)
        return self.known[key]


def condense(store: Store, run_id: str, *, warmup_steps: int, judged_steps: int) -> RunFacts:
    """Facts from the newest ``judged_steps`` complete steps of each rank, the first ``warmup_steps`` left out.

    Raises:
        NotFoundError: there is no such run.
    """
    run = store.run(run_id)
    loader = store.main_loader(run_id)
    info = next((each for each in run.loaders if each.loader == loader), None)
    totals = {} if loader is None else {each.rank: each for each in store.step_totals(run_id, loader)}
    hosts = Hosts(store, run_id, store.samplers(run_id))
    asked = Asked(run, loader or "", warmup_steps, judged_steps)
    return RunFacts(
        run_id=run_id,
        status=run.status,
        loader=info,
        host=_host(hosts, run),
        ranks=tuple(_rank(hosts, totals[rank], asked) for rank in sorted(totals)),
        warmup_steps=warmup_steps,
        storage=tuple(place for place in run.storage if place.loader == asked.loader),
        overrides=run.overrides,
        advice_of=run.advice_of,
        command=_command(run),
        not_measured={**run.not_measured, **(info.not_measured if info else {})},
    )


def condense_steps(store: Store, asked: Asked, rank: int) -> RankFacts:
    """One rank's judged steps as in :func:`condense`, without the batches and samples behind them."""
    rows, keep, outside = _judged(store, asked, rank)
    none = BatchRows(**{each.name: np.empty(0) for each in fields(BatchRows)})
    return RankFacts(rank=rank, steps=_with_edges(rows, keep, outside), batches=none)


def _judged(store: Store, asked: Asked, rank: int) -> tuple[StepRows, Mask, Column]:
    """The newest steps, which of them are judged, and what their epochs cost beside them."""
    rows = store.steps(asked.run.run_id, rank, asked.loader, last=asked.judged_steps + 1)
    keep = np.isfinite(rows.step_us) & np.isfinite(rows.data_wait_us) & (rows.step_index >= asked.warmup_steps)
    return rows, keep, _outside_us(rows, asked.epochs(rank))


def _command(run: Run) -> tuple[str, ...]:
    """As the training process was started: ranks do not see their launcher's command, and a notebook has none."""
    words = tuple(run.command)
    is_whole = len(words) < MOST_WORDS and all(len(word) < LONGEST_WORD for word in words)
    starts_all = run.launcher is None and run.world_size == 1
    return words if is_whole and starts_all and not any("ipykernel" in word for word in words) else ()


def _host(hosts: Hosts, run: Run) -> HostShare:
    """Of the first host: ranks of one job run on hosts of one kind."""
    if not run.hosts:
        return HostShare.model_validate(dict.fromkeys(HostFacts.model_fields) | {"hostname": ""})
    sampled = hosts.newest(run.ranks[0], 1) if run.ranks else None
    told = {**dict(run.hosts[0]), "cpu_slowdown": run.hosts[0].cpu_slowdown or None}
    if sampled:
        names = ("shm_free_bytes", "memory_available_bytes", "memory_used_bytes", "swap_used_bytes")
        told |= {name: newest(getattr(sampled, name)) for name in names}
    return HostShare(**told)


def _rank(hosts: Hosts, totals: StepTotals, asked: Asked) -> RankFacts:
    store, run_id, rank = hosts.store, hosts.run_id, totals.rank
    rows, keep, outside = _judged(store, asked, rank)
    span = _span(rows, keep)
    # With workers, batches are ahead of the steps by the queue's length: twice as many hold all of the span.
    batches = store.batches(run_id, rank, asked.loader, last=2 * asked.judged_steps)
    steps = _with_edges(rows, keep, outside)
    return RankFacts(
        rank=rank,
        steps=steps,
        batches=_within(batches, batches.start_us + batches.load_us, span),
        process=_process(hosts, rank, span),
        total_steps=totals.steps,
        total_step_us=float(totals.step_us) + float(np.sum(outside)),
        total_data_wait_us=float(totals.data_wait_us) + float(np.sum(outside)),
        uses_gpu=bool(np.isfinite(steps.gpu_idle_us).any()) or _uses_gpu(hosts, rank),
        gpu_util=_gpu_util(hosts, rank, span),
        hostname=hosts.samplers.hostnames.get(rank),
        epochs=asked.epochs(rank),
        workers=tuple(_worker(record, span) for record in store.workers(run_id, rank, asked.loader)),
        host=_host_rows(hosts, rank, span),
    )


def _outside_us(rows: StepRows, epochs: tuple[EpochInfo, ...]) -> Column:
    """What an epoch costs beside its steps, counted to its first: from ``iter(loader)`` to the first request, in which
    workers are started, and from the last step to the end of the request that finds no more, in which they are stopped.

    It belongs to no step as recorded, and the loop waits for it as it does for a batch.
    """
    known = {epoch.epoch_index: epoch for epoch in epochs}
    outside = np.zeros(len(rows))
    for position in np.flatnonzero(rows.batch_index == 0):
        epoch = known.get(int(rows.epoch_index[position]))
        if epoch is not None:
            begun_us = epoch.startup_us or epoch.iterator_us or 0
            outside[position] = max(0.0, begun_us - np.nan_to_num(rows.data_wait_us[position])) + _ending_us(
                rows, epoch
            )
    return outside


def _ending_us(rows: StepRows, epoch: EpochInfo) -> float:
    """Only for an epoch whose loader was exhausted: of another it is only known when it was last seen."""
    ends = (rows.start_us + rows.step_us)[rows.epoch_index == epoch.epoch_index]
    if epoch.ended != "exhausted" or epoch.end_us is None or not len(ends) or not np.isfinite(ends[-1]):
        return 0.0
    return max(0.0, epoch.end_us - float(ends[-1]))


def _with_edges(rows: StepRows, keep: Mask, outside_us: Column) -> StepRows:
    """The judged steps, each with what its epoch cost beside its steps."""
    edged = replace(
        rows,
        start_us=rows.start_us - outside_us,
        step_us=rows.step_us + outside_us,
        data_wait_us=rows.data_wait_us + outside_us,
        gpu_idle_us=rows.gpu_idle_us + outside_us,
    )
    return chosen(edged, keep)


def _within(rows: Rows, at_us: Column, span: Span | None) -> Rows:
    """Rows whose instant lies within the span of the judged steps."""
    inside = span.holds(at_us) if span else np.zeros(len(at_us), dtype=bool)
    return chosen(rows, inside)


def _host_rows(hosts: Hosts, rank: int, span: Span | None) -> HostRows | None:
    if span is None:
        return None
    rows = _newest_since(span.start_us, lambda last: hosts.newest(rank, last))
    return _within(rows, rows.at_us, span)


def _span(rows: StepRows, keep: Mask) -> Span | None:
    start, end = rows.start_us[keep], (rows.start_us + rows.step_us)[keep]
    return Span(float(start[0]), float(end[-1])) if len(start) else None


def _process(hosts: Hosts, rank: int, span: Span | None) -> ProcessShare:
    if span is None:
        return ProcessShare()
    samples = _newest_since(span.start_us, lambda last: hosts.store.process(hosts.run_id, rank, last))
    host = _newest_since(span.start_us, lambda last: hosts.newest(rank, last))
    return ProcessShare(
        main_cores=_rate(samples, samples.main_cpu_us, span),
        main_runqueue_fraction=_rate(samples, samples.main_runqueue_us, span),
        process_cores=_rate(samples, samples.process_cpu_us, span),
        workers_cores=_rate(samples, samples.workers_cpu_us, span),
        host_busy_cores=_mean_inside(host.at_us, host.busy_cores, span),
        threads=newest(samples.threads),
        open_files=newest(samples.open_files),
        swap_bytes=newest(samples.swap_bytes),
    )


def _gpu_util(hosts: Hosts, rank: int, span: Span | None) -> float | None:
    """GPU-Util of the device that the rank computes on."""
    if span is None:
        return None
    for place in hosts.samplers.gpus(rank)[:1]:
        rows = hosts.store.gpu(hosts.run_id, *place, last=FEW_SAMPLES)
        return _mean_inside(rows.at_us, rows.util_fraction, span)
    return None


def _newest_since(start_us: float, read: Callable[[int], Samples]) -> Samples:
    """All samples from ``start_us`` on, and some before: a run of days has many more, and is judged once a second."""
    last = FEW_SAMPLES
    while len(rows := read(last)) == last and rows.at_us[0] >= start_us:
        last *= 4
    return rows


def _rate(samples: ProcessRows | WorkerRows, cumulative_us: Column, span: Span) -> float | None:
    """Growth of a cumulative time per time that passed; a new process counts from 0 again, which is no growth."""
    inside = span.holds(samples.at_us) & np.isfinite(cumulative_us)
    at_us, values = samples.at_us[inside], cumulative_us[inside]
    if len(values) < 2:
        return None
    grown = np.diff(values)
    passed = np.diff(at_us)[grown >= 0]
    return float(np.sum(grown[grown >= 0]) / np.sum(passed)) if np.sum(passed) > 0 else None


def _mean_inside(at_us: Column, values: Column, span: Span) -> float | None:
    inside = values[span.holds(at_us) & np.isfinite(values)]
    return float(np.mean(inside)) if len(inside) else None


def _uses_gpu(hosts: Hosts, rank: int) -> bool:
    """The driver lists the training process on a device; where it lists none, a device that works is taken as ours."""
    sampled = (hosts.store.gpu(hosts.run_id, *place, last=60) for place in hosts.samplers.gpus(rank))
    return any(_is_ours(rows.own_process, rows.util_fraction) for rows in sampled)


def _is_ours(own_process: Column, util_fraction: Column) -> bool:
    known = own_process[np.isfinite(own_process)]
    return bool(np.any(known > 0)) if len(known) else bool(np.nansum(util_fraction) > 0)


def _worker(record: WorkerRecord, span: Span | None) -> WorkerFacts:
    samples = record.newest_samples
    memory = _own_memory(samples)
    return WorkerFacts(
        worker=record.worker,
        threads=newest(samples.threads),
        cores=None if span is None else _rate(record.samples, record.samples.cpu_us, span),
        rss_bytes=newest(samples.rss_bytes),
        pss_bytes=newest(samples.pss_bytes),
        bytes_per_hour=growth_per_hour(samples.at_us, memory),
        is_growing=is_growing(samples.at_us, memory),
        died=record.ended.get("died", 0),
    )


def _own_memory(samples: WorkerRows) -> Column:
    """A worker that writes to memory it shared grows in its own share first; that is sampled of few workers."""
    return samples.pss_bytes if np.count_nonzero(np.isfinite(samples.pss_bytes)) >= 2 else samples.rss_bytes
