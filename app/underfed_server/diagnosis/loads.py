"""What loading a batch consists of, weighted by how long the loop waited for it: hidden loads explain no wait."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from underfed_server.diagnosis.limits import Limits
from underfed_server.diagnosis.storage import storage_place, storage_us
from underfed_server.facts.record import Column, RankFacts, RunFacts


@dataclass(frozen=True, slots=True)
class Loads:
    """Shares of load time; ``None``: not measured."""

    cpu: float | None
    runqueue: float | None
    storage: float | None
    """Blocked on reads that reach it, and what else they take longer than cached ones."""
    blocked_else: float | None
    """Blocked on something else: a service, a lock, a sleep, a pool of threads."""
    collate: float | None
    """Joining samples, in whatever way its time passed."""
    helpers: float | None
    """CPU of the loading process's other threads, of all its CPU time."""


def split_loads(facts: RunFacts, rank: RankFacts, weights: Column, limits: Limits) -> Loads:
    """``weights``: of each recorded batch; without any, all count alike."""
    batches, place = rank.batches, storage_place(facts, rank)
    weights = weights if float(np.sum(weights)) > 0 else np.ones(len(batches))
    blocked = _share(batches.blocked_us, batches.load_us, weights)
    of_storage = storage_us(rank, facts.loader, place, limits)
    storage = _share(of_storage, batches.load_us, weights)
    others_us = np.maximum(0.0, batches.process_cpu_us - batches.cpu_us)
    return Loads(
        cpu=_share(batches.cpu_us, batches.load_us, weights),
        runqueue=_share(batches.runqueue_us, batches.load_us, weights),
        storage=storage,
        blocked_else=None if blocked is None else max(0.0, blocked - (storage or 0.0)),
        collate=_share(batches.collate_us, batches.load_us, weights),
        helpers=_share(others_us, batches.process_cpu_us, weights),
    )


def _share(part: Column, whole: Column, weights: Column) -> float | None:
    known = np.isfinite(part) & np.isfinite(whole)
    total = float(np.sum((whole * weights)[known]))
    return min(1.0, float(np.sum((part * weights)[known])) / total) if total > 0 else None
