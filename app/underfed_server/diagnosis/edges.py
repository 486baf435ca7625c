"""Where epochs begin: how much longer the first step waits, while workers start and the queue is empty."""

from __future__ import annotations

import numpy as np

from underfed_server.facts.record import LoaderFacts, RankFacts, epoch_starts
from underfed_server.measurements import Column


def startup_us(rank: RankFacts, loader: LoaderFacts | None) -> Column:
    """Of each step's wait; 0 but for the first steps of epochs.

    Without workers the first batch is loaded like any other, and only constructing the iterator is start-up.
    """
    steps = rank.steps
    wait, is_first = steps.data_wait_us, epoch_starts(steps)
    excess: Column = np.where(is_first, np.maximum(0.0, wait - _typical_wait_us(rank)), 0.0)
    if not loader or not loader.num_workers:
        constructing = {epoch.epoch_index: float(epoch.iterator_us or 0) for epoch in rank.epochs}
        most = np.array([constructing.get(int(epoch), 0.0) for epoch in np.nan_to_num(steps.epoch_index, nan=-1.0)])
        excess = np.minimum(excess, most)
    return excess


def _typical_wait_us(rank: RankFacts) -> float:
    """Of a step within an epoch; where each epoch is a single step, of a load."""
    within = rank.steps.data_wait_us[~epoch_starts(rank.steps)]
    if len(within):
        return float(np.mean(within))
    loads = rank.batches.load_us[np.isfinite(rank.batches.load_us)]
    return float(np.mean(loads)) if len(loads) else 0.0


def lasting_share(rank: RankFacts, loader: LoaderFacts | None) -> float:
    """Share of start-up that filling the empty queue takes, a usual load: keeping workers does not save it."""
    excess = startup_us(rank, loader)
    loads = rank.batches.load_us[np.isfinite(rank.batches.load_us)]
    total = float(np.sum(excess))
    if total <= 0 or not len(loads):
        return 0.0
    filling = max(0.0, float(np.median(loads)) - _typical_wait_us(rank))
    return float(np.sum(np.minimum(excess, filling))) / total


def epochs_begun(rank: RankFacts) -> int:
    """Within the judged steps."""
    return int(np.count_nonzero(epoch_starts(rank.steps)))


def mean_startup_us(rank: RankFacts, loader: LoaderFacts | None) -> float | None:
    """Of an epoch that began within the judged steps."""
    begun = epochs_begun(rank)
    return float(np.sum(startup_us(rank, loader))) / begun if begun else None


def mean_iterator_us(rank: RankFacts) -> float | None:
    """Constructing the iterator, starting workers included; ``None``: it was kept, or not measured."""
    judged = set(np.unique(rank.steps.epoch_index[epoch_starts(rank.steps)]))
    constructed = [
        each.iterator_us for each in rank.epochs if each.iterator_us is not None and each.epoch_index in judged
    ]
    return sum(constructed) / len(constructed) if constructed else None
