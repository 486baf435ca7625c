"""Reads a run from the store into the record that it is judged by: the newest steps, and what lay behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from underfed_server.facts.record import (
    BatchColumns,
    Column,
    HostShare,
    LoaderFacts,
    Mask,
    ProcessShare,
    RankFacts,
    RunFacts,
    StepColumns,
)
from underfed_server.model import LoaderInfo, Run, Setting
from underfed_server.store.hosts import Samplers
from underfed_server.store.rows import BatchRows, HostRows, ProcessRows, StepRows
from underfed_server.store.store import StepTotals, Store

Samples = TypeVar("Samples", ProcessRows, HostRows)

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
class Hosts:
    """Samples of the hosts of a run, read once however many ranks run on one."""

    store: Store
    run_id: str
    samplers: Samplers
    known: dict[tuple[int, int], HostRows] = field(default_factory=dict)

    def newest(self, rank: int, last: int) -> HostRows:
        """Of the host of ``rank``."""
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
    ranks = tuple(_rank(hosts, totals[rank], loader or "", warmup_steps, judged_steps) for rank in sorted(totals))
    return RunFacts(
        run_id=run_id,
        status=run.status,
        loader=None if info is None else _loader(info),
        host=_host(hosts, run),
        ranks=ranks,
        warmup_steps=warmup_steps,
        not_measured={**run.not_measured, **(info.not_measured if info else {})},
    )


def _loader(info: LoaderInfo) -> LoaderFacts:
    return LoaderFacts(
        name=info.loader,
        num_workers=_whole(info.settings.get("num_workers")),
        prefetch_factor=_whole(info.settings.get("prefetch_factor")),
        batch_size=_whole(info.settings.get("batch_size")),
        settings=info.settings,
        is_iterable=None if info.dataset_kind is None else info.dataset_kind == "iterable",
        batches_per_epoch=info.batches_per_epoch,
        batch_tensors=info.batch_tensors,
        batch_bytes=info.batch_bytes,
        watched_at=info.watched_at,
    )


def _whole(setting: Setting) -> int | None:
    return setting if isinstance(setting, int) and not isinstance(setting, bool) else None


def _host(hosts: Hosts, run: Run) -> HostShare:
    """Of the first host: ranks of one job run on hosts of one kind."""
    if not run.hosts:
        return HostShare()
    facts = run.hosts[0]
    newest = hosts.newest(run.ranks[0], 1) if run.ranks else None
    return HostShare(
        hostname=facts.hostname,
        usable_cores=facts.usable_cores,
        cpu_slowdown=tuple(facts.cpu_slowdown) if facts.cpu_slowdown else None,
        shm_free_bytes=_last(newest.shm_free_bytes) if newest else facts.shm_free_bytes,
        memory_available_bytes=_last(newest.memory_available_bytes) if newest else None,
    )


def _last(column: Column) -> int | None:
    return int(column[-1]) if len(column) and np.isfinite(column[-1]) else None


def _rank(hosts: Hosts, totals: StepTotals, loader: str, warmup_steps: int, judged_steps: int) -> RankFacts:
    store, run_id = hosts.store, hosts.run_id
    rows = store.steps(run_id, totals.rank, loader, last=judged_steps + 1)
    keep = np.isfinite(rows.step_us) & np.isfinite(rows.data_wait_us) & (rows.step_index >= warmup_steps)
    steps = _steps(rows, keep)
    span = _span(rows, keep)
    # With workers, batches run ahead of the steps by the queue's length: twice as many surely hold all of the span.
    batches = store.batches(run_id, totals.rank, loader, last=2 * judged_steps)
    return RankFacts(
        rank=totals.rank,
        steps=steps,
        batches=_batches(batches, span),
        process=_process(hosts, totals.rank, span),
        total_steps=totals.steps,
        total_step_us=float(totals.step_us),
        total_data_wait_us=float(totals.data_wait_us),
        uses_gpu=bool(np.isfinite(steps.gpu_idle_us).any()) or _uses_gpu(hosts, totals.rank),
    )


def _steps(rows: StepRows, keep: Mask) -> StepColumns:
    return StepColumns(
        start_us=rows.start_us[keep],
        step_us=rows.step_us[keep],
        data_wait_us=rows.data_wait_us[keep],
        queue_depth=rows.queue_depth[keep],
        sampler_us=rows.sampler_us[keep],
        gpu_idle_us=rows.gpu_idle_us[keep],
        gpu_work_us=rows.gpu_work_us[keep],
        is_epoch_start=np.diff(rows.epoch_index, prepend=-1)[keep] != 0,
    )


def _span(rows: StepRows, keep: Mask) -> Span | None:
    start, end = rows.start_us[keep], (rows.start_us + rows.step_us)[keep]
    return Span(float(start[0]), float(end[-1])) if len(start) else None


def _batches(rows: BatchRows, span: Span | None) -> BatchColumns:
    """The batches that were ready within the span of the judged steps."""
    inside = span.holds(rows.start_us + rows.load_us) if span else np.zeros(len(rows), dtype=bool)
    return BatchColumns(
        worker=np.where(np.isfinite(rows.worker), rows.worker, -1)[inside].astype(np.int64),
        start_us=rows.start_us[inside],
        load_us=rows.load_us[inside],
        cpu_us=rows.cpu_us[inside],
        runqueue_us=rows.runqueue_us[inside],
        blocked_us=rows.blocked_us[inside],
        collate_us=rows.collate_us[inside],
        pin_us=rows.pin_us[inside],
        asked_bytes=rows.asked_bytes[inside],
        read_bytes=rows.read_bytes[inside],
        samples=rows.samples[inside],
        received_us=rows.received_us[inside],
    )


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
        host_busy_cores=_mean_inside(host, span),
    )


def _newest_since(start_us: float, read: Callable[[int], Samples]) -> Samples:
    """All samples from ``start_us`` on, and some before: a run of days has many more, and is judged once a second."""
    last = FEW_SAMPLES
    while len(rows := read(last)) == last and rows.at_us[0] >= start_us:
        last *= 4
    return rows


def _rate(samples: ProcessRows, cumulative_us: Column, span: Span) -> float | None:
    """Growth of a cumulative time per time that passed; a new process counts from 0 again, which is no growth."""
    inside = span.holds(samples.at_us) & np.isfinite(cumulative_us)
    at_us, values = samples.at_us[inside], cumulative_us[inside]
    if len(values) < 2:
        return None
    grown = np.diff(values)
    passed = np.diff(at_us)[grown >= 0]
    return float(np.sum(grown[grown >= 0]) / np.sum(passed)) if np.sum(passed) > 0 else None


def _mean_inside(host: HostRows, span: Span) -> float | None:
    inside = host.busy_cores[span.holds(host.at_us) & np.isfinite(host.busy_cores)]
    return float(np.mean(inside)) if len(inside) else None


def _uses_gpu(hosts: Hosts, rank: int) -> bool:
    """The driver lists the training process on a device; where it lists none, a device that works is taken as ours."""
    sampled = (hosts.store.gpu(hosts.run_id, *place, last=60) for place in hosts.samplers.gpus(rank))
    return any(_is_ours(rows.own_process, rows.util_fraction) for rows in sampled)


def _is_ours(own_process: Column, util_fraction: Column) -> bool:
    known = own_process[np.isfinite(own_process)]
    return bool(np.any(known > 0)) if len(known) else bool(np.nansum(util_fraction) > 0)
