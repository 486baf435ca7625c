"""Quantities that several rules, signals and changes read off one rank, each with one meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.record import HostShare, ProcessShare, RankFacts, RunFacts
from underfed_server.measurements import Column, HostRows, or_zero
from underfed_server.model import Anatomy

THROTTLED_FRACTION = 0.10
"""Share of time that the control group was throttled from which its quota is full, though use averaged over a second is
below the quota."""

READS_BYTES = 64 << 10
"""Bytes a batch from which a loader reads files, or a network: less comes through the pipes that bring the indices."""


RARELY = 0.01
"""Of the batches. Code that is brought into memory when it first runs is read from storage, too."""


def mean(column: Column) -> float | None:
    """Mean of what was measured; ``None``: nothing was."""
    known = column[np.isfinite(column)]
    return float(np.mean(known)) if len(known) else None


def until(begun_us: Column, lasted_us: Column, share: Column) -> tuple[Column, Column]:
    """Instants, and what was done until each of them by spans that may lie beside each other: ``share`` of its time by
    each."""
    at = np.concatenate([begun_us, begun_us + lasted_us])
    order = np.argsort(at, kind="stable")
    at, change = at[order], np.concatenate([share, -share])[order]
    return at, np.concatenate([[0.0], np.cumsum(np.cumsum(change)[:-1] * np.diff(at))]) if len(at) else at


def load_share(rank: RankFacts, part: Column) -> float | None:
    """Share of load time that ``part`` (a column of the rank's batches) takes."""
    known = np.isfinite(part) & np.isfinite(rank.batches.load_us)
    total = float(np.sum(rank.batches.load_us[known]))
    return float(np.sum(part[known])) / total if total > 0 else None


def collate_share(rank: RankFacts) -> float | None:
    """Share of load time that joining samples takes: it is measured without its waits for a core, of which it has as
    large a part as of the rest. ``None``: not measured."""
    return without_queueing(*(load_share(rank, part) for part in (rank.batches.collate_us, rank.batches.runqueue_us)))


def without_queueing(share: float | None, queued: float | None) -> float | None:
    """Of load time without waits for a core, which take ``queued`` of it, what takes ``share`` of all of it. ``None``:
    not measured."""
    works = 1 - (queued or 0.0)
    return None if share is None or works <= 0 else min(1.0, share / works)


def input_lost_fraction(rank: RankFacts) -> float | None:
    """Share of a step that instant data would save; ``None`` without a device clock that saw the work."""
    lost = rank.input_lost_us
    return None if lost is None else lost / rank.step_us


def empty_queue_fraction(rank: RankFacts) -> float | None:
    """Share of requests that found no batch ready; ``None``: no queue, or not measured."""
    depth = rank.steps.queue_depth[np.isfinite(rank.steps.queue_depth)]
    return float(np.mean(depth < 1)) if len(depth) else None


def busy_workers_fraction(rank: RankFacts, num_workers: int) -> float | None:
    """Share of the judged span that the workers spent loading."""
    batches = rank.batches
    if num_workers < 1 or len(batches) < 2:
        return None
    span = float(np.max(batches.start_us + batches.load_us) - np.min(batches.start_us))
    return min(1.0, float(np.sum(batches.load_us)) / (num_workers * span)) if span > 0 else None


def received_bytes_per_s(rank: RankFacts) -> float | None:
    """By the workers' own network connections; ``None``: not measured, as without workers, or of one that is connected:
    all do the same.
    """
    if any(each.connections and each.received_bytes_per_s is None for each in rank.workers):
        return None
    known = [rate for each in rank.workers if (rate := each.received_bytes_per_s) is not None]
    return float(np.mean(known)) * len(rank.workers) if known else None


def received_bytes(rank: RankFacts) -> float | None:
    """By them, for one batch."""
    per_s = received_bytes_per_s(rank)
    return None if per_s is None else per_s * rank.step_us / 1e6


def reads_network(rank: RankFacts) -> bool:
    """Most of what a batch is made of comes through the workers' own network connections; where it was not measured how
    much does, next to nothing comes from files.
    """
    received, asked = received_bytes(rank), mean(rank.batches.asked_bytes) or 0.0
    if received is None:
        return asked < READS_BYTES and any(each.connections for each in rank.workers)
    return received >= max(READS_BYTES, asked)


def host_received_bytes_per_s(rank: RankFacts) -> float | None:
    """By the networks of its host, for any process."""
    if rank.host is None:
        return None
    known = np.isfinite(rank.host.network_received_bytes)
    at_us, values = rank.host.at_us[known], rank.host.network_received_bytes[known]
    if len(values) < 2 or at_us[-1] <= at_us[0]:
        return None
    return max(0.0, float(values[-1] - values[0])) / float(at_us[-1] - at_us[0]) * 1e6


def storage_fraction(rank: RankFacts) -> float | None:
    """Share of the bytes requested by loading that was read from storage or came by network; ``None``: none were
    requested, or of what is not requested but touched, hardly any batch found a part that was not in memory.

    Capped at 1: memory-mapped reads make no read call, and read-ahead fetches more than was requested.
    """
    asked, read = mean(rank.batches.asked_bytes), mean(rank.batches.read_bytes)
    if asked is None or read is None:
        return None
    received = received_bytes(rank) if reads_network(rank) else 0.0
    if received is None:
        return None
    asked, read = asked + received, read + received
    known = rank.batches.read_bytes[np.isfinite(rank.batches.read_bytes)]
    if max(asked, read) <= 0 or (asked < READS_BYTES and np.count_nonzero(known) < RARELY * len(known)):
        return None
    return min(1.0, read / asked) if asked > 0 else 1.0


def read_bytes_per_s(rank: RankFacts) -> float | None:
    """Storage throughput behind the judged steps."""
    read = mean(rank.batches.read_bytes)
    return None if read is None else read / (rank.step_us / 1e6)


def handover_us(rank: RankFacts) -> float | None:
    """Median time from a worker finishing a batch to the training process having it, of batches that were waited for.

    A batch that is ready early is picked up late on purpose, which says nothing about the hand-over. ``None``: none was
    waited for, or arrivals were not measured.
    """
    steps, batches = rank.steps, rank.batches
    ready = batches.start_us + batches.load_us
    if not len(steps) or not len(ready):
        return None
    step = np.clip(np.searchsorted(steps.start_us, ready, side="right") - 1, 0, len(steps) - 1)
    waited_for = (ready >= steps.start_us[step]) & (ready <= steps.start_us[step] + steps.data_wait_us[step])
    late = (batches.received_us - ready)[waited_for]
    late = late[np.isfinite(late)]
    return float(np.median(late)) if len(late) else None


def used_cores(rank: RankFacts) -> float | None:
    """Cores in use among those allowed, by all processes; by this run's where the host was not sampled."""
    process = rank.process
    if process.host_busy_cores is not None:
        return process.host_busy_cores
    return None if process.process_cores is None else own_cores(process)


def own_cores(process: ProcessShare) -> float:
    """Cores that the training process and its workers used."""
    return (process.process_cores or 0.0) + (process.workers_cores or 0.0)


def other_cores(process: ProcessShare) -> float | None:
    """Of the allowed cores, those that other processes used; ``None``: the host's or this run's were not measured."""
    if process.host_busy_cores is None or process.process_cores is None:
        return None
    return max(0.0, process.host_busy_cores - own_cores(process))


def strangers_cores(rank: RankFacts, ranks_on_host: Sequence[RankFacts]) -> float | None:
    """Of the allowed cores, those that processes of other jobs used; ``None`` as of :func:`other_cores`, and where what
    the workers used was not measured.

    ``ranks_on_host``: of this run, with the rank.
    """
    others, has_workers = other_cores(rank.process), bool(np.isfinite(rank.batches.worker).any())
    if others is None or (has_workers and rank.process.workers_cores is None):
        return None
    return max(0.0, others - sum(own_cores(each.process) for each in ranks_on_host if each.rank != rank.rank))


def are_cores_full(rank: RankFacts, host: HostShare, runqueue: float | None) -> bool:
    """``runqueue``: share of load time."""
    used, throttled = used_cores_fraction(rank, host), throttled_fraction(rank, host)
    return (
        (used is not None and used >= THRESHOLDS.saturated_cores_fraction)
        or (runqueue is not None and runqueue >= THRESHOLDS.runqueue_fraction)
        or (throttled is not None and throttled >= THROTTLED_FRACTION)
    )


def attainable_cores(usable: float, others: float | None) -> float:
    """Cores this run gets with one busy task more than there are cores: the scheduler shares fairly with others.

    ``others``: cores that other jobs use. All are this run's where that was not measured: what keeps them busy may be
    the run itself.
    """
    tasks = usable + 1
    return usable * min(1.0, tasks / (tasks + (others or 0.0)))


def used_cores_fraction(rank: RankFacts, host: HostShare) -> float | None:
    """At most 1: others use allowed cores beyond a quota, too."""
    used = used_cores(rank)
    return None if used is None or not host.usable_cores else min(1.0, used / host.usable_cores)


def pressure_fraction(host: HostRows, cumulative_us: Column) -> float | None:
    """Share of the judged span in which a cumulative time of the host grew; ``None``: it was not sampled twice."""
    known = np.isfinite(cumulative_us)
    at_us, values = host.at_us[known], cumulative_us[known]
    if len(values) < 2 or at_us[-1] <= at_us[0]:
        return None
    return max(0.0, float(values[-1] - values[0]) / float(at_us[-1] - at_us[0]))


def throughput_pressure(rank: RankFacts, num_workers: int) -> float | None:
    """Mean time between batches of all workers, relative to what the loop could take: above 1 they cannot keep up."""
    load, own = mean(rank.batches.load_us), rank.rest_us
    return None if load is None or num_workers < 1 or own <= 0 else load / num_workers / own


def recoverable_share(facts: RunFacts, rank: RankFacts, loading: float) -> float:
    """Part of the wait for loading (a fraction of step time) recovered by loading beside the step on all usable cores.

    A step is then limited by its own work or by all CPU work there is, which ranks of one host share out among them; 1
    where CPU time or cores are not known.
    """
    usable = facts.host.usable_cores
    if _load_cpu_us(rank) is None or not usable or loading <= 0:
        return 1.0
    ranks = facts.on_host_of(rank)
    wanted = sum(_wanted_cores(each) for each in ranks)
    overlapped = max(1 - loading, wanted / attainable_cores(usable, strangers_cores(rank, ranks)))
    return min(1.0, max(0.0, 1 - overlapped) / loading)


def _wanted_cores(rank: RankFacts) -> float:
    """That its CPU work fills at the pace of now: as its processes used them, or by what loads and steps take."""
    by_parts = ((_load_cpu_us(rank) or 0.0) + _step_cpu_us(rank)) / rank.step_us
    return max(own_cores(rank.process), by_parts)


def _load_cpu_us(rank: RankFacts) -> float | None:
    """Of all threads of a worker where that was measured; in the training process others compute for the step."""
    batches = rank.batches
    if np.isnan(batches.worker).any():
        return mean(batches.cpu_us)
    return mean(np.fmax(batches.process_cpu_us, batches.cpu_us))


def _step_cpu_us(rank: RankFacts) -> float:
    """What the training process computes for a step; not measured, its work is a device's where there is one."""
    own = rank.rest_us
    if rank.process.process_cores is None:
        return 0.0 if rank.uses_gpu else own
    loads_itself = bool(np.isnan(rank.batches.worker).any())
    loading = (mean(rank.batches.cpu_us) or 0.0) if loads_itself else 0.0
    return max(0.0, rank.process.process_cores * rank.step_us - loading)


def throttled_fraction(rank: RankFacts, host: HostShare) -> float | None:
    """Share of time that the control group was throttled at its CPU quota, mean of its cores."""
    stopped = None if rank.host is None else pressure_fraction(rank.host, rank.host.throttled_us)
    return None if stopped is None else min(1.0, stopped / max(1.0, host.usable_cores or 1.0))


TAIL_FACTOR = 2.0
"""The 95th percentile of loads against their median from which load times have a heavy tail (loadtune and pytscope
call a ratio of 1.5 jitter, which two workers on a core already show)."""

TAIL_SHARE = 0.25
"""Share of all load time in the slowest 5 % from which a tail is heavy also where fewer than 5 % are slow; of equal
loads it is 5 %."""


@dataclass(frozen=True, slots=True)
class LoadTail:
    """How unevenly batches load."""

    median_us: float
    p95_us: float
    slowest_share: float
    """Of all load time, what the slowest 5 % of the batches took."""

    @property
    def is_heavy(self) -> bool:
        return self.p95_us >= TAIL_FACTOR * self.median_us or self.slowest_share >= TAIL_SHARE


def load_tail(rank: RankFacts, *, of_its_own: bool = False) -> LoadTail | None:
    """``of_its_own``: without the time in which loading was ready to run and no core was free, which is no batch's own:
    the same one loads fast the next time. ``None``: fewer than 20 batches, of which none is the slowest 5 %.
    """
    loads = rank.batches.load_us
    if of_its_own:
        loads = np.maximum(0.0, loads - or_zero(rank.batches.runqueue_us))
    loads = np.sort(loads[np.isfinite(loads)])
    total = float(np.sum(loads))
    if len(loads) < 20 or total <= 0:
        return None
    median, p95 = np.percentile(loads, (50, 95))
    return LoadTail(float(median), float(p95), float(np.sum(loads[-max(1, len(loads) // 20) :])) / total)


def exposed_copy_us(rank: RankFacts) -> float | None:
    """The part of the mean step in which a copy to the device is not hidden; ``None``: no copy was timed.

    It comes after the waits: steps that were timed may copy for longer than all have left.
    """
    copy = mean(rank.copies_us)
    return None if copy is None else min(copy, rank.rest_us)


def anatomy_of(rank: RankFacts) -> Anatomy:
    """Of the mean judged step: what it waited, for other loaders too, what it copied, and the rest.

    ``rank``: one with judged steps.
    """
    step, sampler = round(rank.step_us), mean(rank.steps.sampler_us)
    wait = 0 if rank.is_held_up else round(rank.data_wait_us)
    others = None if rank.others_wait_us is None else min(step - wait, round(float(np.mean(rank.others_wait_us))))
    left, copy = step - wait - (others or 0), exposed_copy_us(rank)
    exposed = None if copy is None else min(left, round(copy))
    return Anatomy(
        step_us=step,
        data_wait_us=wait,
        h2d_exposed_us=exposed,
        compute_us=left - (exposed or 0),
        others_wait_us=others,
        gpu_idle_us=min(wait, round(rank.stall_us)) if rank.has_device_clock else None,
        sampler_us=None if sampler is None else min(wait, round(sampler)),
    )


def work_us(rank: RankFacts) -> int:
    """What is left of the mean step without waits, as :func:`anatomy_of` rounds its parts. ``rank``: as for that."""
    step = anatomy_of(rank)
    return step.compute_us + (step.h2d_exposed_us or 0)
