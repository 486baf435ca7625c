"""What more workers and batches may take of memory, /dev/shm, open files and the batches of a pass."""

from __future__ import annotations

import statistics

from underfed_server.advice.case import Case
from underfed_server.advice.prediction.simulate import SimulatedSetting
from underfed_server.facts.record import HostShare

SHM_FRACTION = 0.5
"""Of the free /dev/shm that prefetched batches may fill: others use it too, and a full one kills the run."""

MEMORY_FRACTION = 0.5
"""Of the memory that is left, what more workers and batches may take: workers grow, and files that are read are
cached in what is left."""

OPEN_FILES_FRACTION = 0.9
"""Of the limit on open files, what may be open: the program opens its own, too."""

FILES_A_WORKER = 5
"""Pipes and sentinels that the training process keeps open for each (5 counted, torch 2.13)."""

STEPS_AFTER_FILLING = 2
"""Of a pass, from when its queue is full: in a shorter one, which ends while it is still being filled, what such a
queue gains is neither foreseen by the simulation nor measured by ``--tune``, whose rule is the same."""


def fits(case: Case, setting: SimulatedSetting) -> bool:
    """What was not measured is no limit; a setting that takes no more than the recorded one always fits.

    A run that is short of memory gets nothing that takes more.
    """
    workers, batches = setting.num_workers - case.num_workers, in_flight(setting) - in_flight(case.recorded)
    if workers <= 0 and batches <= 0:
        return True
    if case.is_short_of_memory or not fits_in_pass(case, setting):
        return False
    return fits_in_shm(case, setting) and _fits_in_memory(case, workers, batches) and _can_open(case, workers, batches)


def in_flight(setting: SimulatedSetting) -> int:
    """Batches that may be finished and waiting."""
    return setting.num_workers * setting.prefetch_factor


def fits_in_pass(case: Case, setting: SimulatedSetting) -> bool:
    """Whether a pass goes on once the queue is full. What is loaded ahead is of one pass, also by workers that
    persist."""
    steps = case.loader.batches_per_epoch
    return steps is None or in_flight(setting) + STEPS_AFTER_FILLING <= steps


def fits_in_shm(case: Case, setting: SimulatedSetting) -> bool:
    most = most_batches_in_shm(case)
    return most is None or in_flight(setting) <= max(most, in_flight(case.recorded))


def most_batches_in_shm(case: Case) -> int | None:
    """Prefetched batches that fit; ``None``: the size of a batch or of /dev/shm is not known."""
    free, batch = case.facts.host.shm_free_bytes, case.loader.batch_bytes
    return None if free is None or not batch else int(free * SHM_FRACTION / batch / case.ranks_on_host)


def worker_bytes(case: Case) -> int | None:
    """A worker's own memory, median of the workers: shared pages divided where that was sampled. ``None``: not seen."""
    sizes = [one.pss_bytes if one.pss_bytes is not None else one.rss_bytes for one in case.rank.workers]
    known = [size for size in sizes if size is not None]
    return round(statistics.median(known)) if known else None


def left_bytes(host: HostShare) -> int | None:
    """Memory that this run may still take: what the host has available, within the control group's limit."""
    left = [host.memory_available_bytes]
    if host.memory_limit_bytes is not None and host.memory_used_bytes is not None:
        left.append(max(0, host.memory_limit_bytes - host.memory_used_bytes))
    known = [size for size in left if size is not None]
    return min(known) if known else None


def _fits_in_memory(case: Case, workers: int, batches: int) -> bool:
    left = left_bytes(case.facts.host)
    if left is None:
        return True
    more = max(0, workers) * (worker_bytes(case) or 0) + max(0, batches) * (case.loader.batch_bytes or 0)
    return more * case.ranks_on_host <= left * MEMORY_FRACTION


def _can_open(case: Case, workers: int, batches: int) -> bool:
    """torch's ``file_descriptor`` strategy keeps a file open for each tensor of a batch on its way."""
    limit, now = case.facts.host.open_files_limit, case.rank.process.open_files
    if limit is None or now is None:
        return True
    by_name = case.loader.settings.get("sharing_strategy") == "file_system"
    tensors = 0 if by_name else max(0, batches) * (case.loader.batch_tensors or 0)
    return now + max(0, workers) * FILES_A_WORKER + tensors <= limit * OPEN_FILES_FRACTION
