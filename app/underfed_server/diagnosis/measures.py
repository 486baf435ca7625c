"""Quantities that several rules, signals and changes read off one rank, each with one meaning."""

from __future__ import annotations

import numpy as np

from underfed_server.facts.record import Column, HostShare, ProcessShare, RankFacts


def mean(column: Column) -> float | None:
    """Mean of what was measured; ``None``: nothing was."""
    known = column[np.isfinite(column)]
    return float(np.mean(known)) if len(known) else None


def load_share(rank: RankFacts, part: Column) -> float | None:
    """Share of load time that ``part`` (a column of the rank's batches) takes."""
    known = np.isfinite(part) & np.isfinite(rank.batches.load_us)
    total = float(np.sum(rank.batches.load_us[known]))
    return float(np.sum(part[known])) / total if total > 0 else None


def input_lost_fraction(rank: RankFacts) -> float | None:
    """Share of a step that instant data would save, replayed; ``None`` without a device clock that saw the work."""
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


def storage_fraction(rank: RankFacts) -> float | None:
    """Of the bytes that loading asked for, the share that reached storage; ``None``: nothing was asked for.

    Memory-mapped reads are not asked for by a call, and read-ahead fetches more than was asked: at most 1.
    """
    asked, read = mean(rank.batches.asked_bytes), mean(rank.batches.read_bytes)
    if asked is None or read is None or max(asked, read) <= 0:
        return None
    return min(1.0, read / asked) if asked > 0 else 1.0


def read_bytes_per_s(rank: RankFacts) -> float | None:
    """Storage throughput behind the judged steps."""
    read = mean(rank.batches.read_bytes)
    return None if read is None else read / (rank.step_us / 1e6)


def handover_us(rank: RankFacts) -> float | None:
    """Median time from a worker finishing a batch to the training process having it, of batches that were waited for.

    A batch that is ready early is picked up late on purpose, which says nothing of the way. ``None``: none was
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
    """Cores in use among those allowed, by anyone; our own where the host was not sampled."""
    process = rank.process
    if process.host_busy_cores is not None:
        return process.host_busy_cores
    return None if process.process_cores is None else own_cores(process)


def own_cores(process: ProcessShare) -> float:
    """Cores that the training process and its workers used."""
    return (process.process_cores or 0.0) + (process.workers_cores or 0.0)


def other_cores(process: ProcessShare) -> float:
    """Of the allowed cores, those that anyone else used; 0 where the host was not sampled."""
    return max(0.0, (process.host_busy_cores or 0.0) - own_cores(process))


def attainable_cores(process: ProcessShare, usable: float) -> float:
    """Cores this run gets with one busy task more than there are cores: the scheduler shares fairly with others."""
    tasks = usable + 1
    return usable * min(1.0, tasks / (tasks + other_cores(process)))


def used_cores_fraction(rank: RankFacts, host: HostShare) -> float | None:
    used = used_cores(rank)
    return None if used is None or not host.usable_cores else used / host.usable_cores


def overlapped_step_us(rank: RankFacts, host: HostShare) -> float | None:
    """The step if loading ran beside it on every core this run may use: limited by its own work, or by all CPU work.

    ``None``: the CPU time of loading or the usable cores are not known.
    """
    load_cpu = mean(rank.batches.cpu_us)
    if load_cpu is None or not host.usable_cores:
        return None
    own = rank.step_us - rank.data_wait_us
    cores = attainable_cores(rank.process, host.usable_cores)
    # Without a device the step itself is CPU work; with one, only what the process was seen to compute.
    step_cpu = own if not rank.uses_gpu else 0.0
    return max(own, (load_cpu + step_cpu) / cores)


def recoverable_fraction(rank: RankFacts, host: HostShare) -> float:
    """Share of the step that loading beside it, on all usable cores, would give back; at most the stall."""
    overlapped = overlapped_step_us(rank, host)
    if overlapped is None:
        return rank.stall_fraction
    return min(rank.stall_fraction, max(0.0, 1 - overlapped / rank.step_us))


def storage_blocked_fraction(rank: RankFacts, least_blocked: float, least_read: float) -> float:
    """Share of load time blocked on reads that really reach storage; 0 where they do not, or it is the lesser part."""
    blocked, read = load_share(rank, rank.batches.blocked_us), storage_fraction(rank)
    if blocked is None or read is None or blocked < least_blocked or read < least_read:
        return 0.0
    return blocked
