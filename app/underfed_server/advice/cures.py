"""Which causes each change cures: it is considered where one of them was found, and ordered by what they cost."""

from __future__ import annotations

from collections.abc import Mapping

from underfed_server.model import Cause, Change

LOADING: tuple[Cause, ...] = ("no_workers", "too_few_workers", "cpu_limited", "storage_wait")
"""Batches are not loaded as fast as they are taken."""

CURES: Mapping[Change, tuple[Cause, ...]] = {
    "num_workers": (*LOADING, "ipc_copy", "memory_pressure"),
    "prefetch_factor": ("slow_samples", "memory_pressure"),
    "persistent_workers": ("worker_startup",),
    "pin_memory": ("pageable_copy",),
    "non_blocking": ("pageable_copy",),
    "in_order": ("slow_samples",),
    "threads_per_worker": ("thread_oversubscription",),
    "tmpfs": ("storage_wait",),
    "shm_size": ("memory_pressure", "no_workers", "too_few_workers"),
    "cpu_allocation": ("cpu_limited",),
    "prefetcher": ("pageable_copy", "pin_thread"),
    "gpu_decode": ("cpu_limited",),
    "vectorize_collate": ("slow_collate",),
    "vectorize_getitem": ("no_workers", "too_few_workers", "cpu_limited"),
    "faster_sampler": ("slow_sampler",),
    "shard_iterable": ("unsharded_iterable",),
    "multiprocessing_context": ("worker_startup",),
    "sharing_strategy": ("ipc_copy",),
    "fewer_tensors": ("ipc_copy", "pin_thread"),
    "fix_rank": ("slow_rank",),
}

IN_ANY_RUN: frozenset[Cause] = frozenset({"memory_pressure", "unsharded_iterable"})
"""These are told also of a run that waits for nothing: one will fail, the other trains on batches twice."""
