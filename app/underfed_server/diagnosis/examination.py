"""What the finders of causes look at: the judged rank, the parts of its wait, and the parts of its load time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from underfed_server.diagnosis.storage import storage_place, storage_us
from underfed_server.diagnosis.wait import Wait, split_wait
from underfed_server.facts.record import LoaderFacts, RankFacts, RunFacts
from underfed_server.measurements import Column
from underfed_server.model import Bound


@dataclass(frozen=True, slots=True)
class Loads:
    """Parts of load time as shares of it, weighted by how long the loop waited for each batch: a load that nobody
    waited for explains no wait. ``None``: not measured.
    """

    cpu: float | None
    runqueue: float | None
    storage: float | None
    """Blocked on reads that reach storage, and what else those take longer than cached ones."""
    blocked_else: float | None
    """Blocked on something else: a service, a lock, a sleep, a thread pool."""
    collate: float | None
    """Joining samples, whether it computed or waited."""
    helpers: float | None
    """CPU time of the loading process's other threads, as a share of all its CPU time."""


@dataclass(frozen=True, slots=True, eq=False)
class Examination:
    """Of a run with judged steps. Fractions are of step time."""

    facts: RunFacts
    rank: RankFacts
    bound: Bound
    wait: Wait
    loads: Loads
    unexplained: float
    """Of ``wait.loading``, what no cause has explained yet."""

    @property
    def loader(self) -> LoaderFacts | None:
        return self.facts.loader

    @property
    def workers(self) -> int:
        """0 also where that is not known."""
        return (self.loader.num_workers if self.loader else None) or 0

    def explained(self, cost_fraction: float) -> Examination:
        """With that much of the loading explained by a cause."""
        return replace(self, unexplained=max(0.0, self.unexplained - cost_fraction))


def examine(facts: RunFacts, rank: RankFacts, bound: Bound) -> Examination:
    """``rank``: one with judged steps."""
    wait = split_wait(rank, facts.loader)
    return Examination(facts, rank, bound, wait, _split_loads(facts, rank, wait.weights), wait.loading)


def _split_loads(facts: RunFacts, rank: RankFacts, weights: Column) -> Loads:
    """``weights``: of each recorded batch; where all are 0, all count alike."""
    batches = rank.batches
    weights = weights if float(np.sum(weights)) > 0 else np.ones(len(batches))

    def share(part: Column, whole: Column = batches.load_us) -> float | None:
        known = np.isfinite(part) & np.isfinite(whole)
        total = float(np.sum((whole * weights)[known]))
        return min(1.0, float(np.sum((part * weights)[known])) / total) if total > 0 else None

    blocked = share(batches.blocked_us)
    storage = share(storage_us(rank, facts.loader, storage_place(facts, rank)))
    return Loads(
        cpu=share(batches.cpu_us),
        runqueue=share(batches.runqueue_us),
        storage=storage,
        blocked_else=None if blocked is None else max(0.0, blocked - (storage or 0.0)),
        collate=share(batches.collate_us),
        helpers=share(np.maximum(0.0, batches.process_cpu_us - batches.cpu_us), batches.process_cpu_us),
    )
