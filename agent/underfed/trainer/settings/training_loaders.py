"""Which of a program's loaders it trains from: ``--set`` and ``--replay`` are for those alone."""

from __future__ import annotations

import weakref
from typing import Any

NESTED_SAMPLERS = 4
"""A shard of a batch sampler of a distributed sampler of a sampler: so deep frameworks go."""

IN_ORDER = ("SequentialSampler", "_InfiniteConstantSampler", "range")
"""The second is what torch gives every iterable data set: its order is the data set's own affair."""


class TrainingLoaders:
    """Of those iterated with gradients enabled: the first one, and every one whose sampler does more than count.

    Where the first one draws, what only counts validates: Hugging Face's Trainer iterates both with gradients.
    """

    def __init__(self) -> None:
        self._first: weakref.ref[Any] | None = None
        self._first_kind: type | None = None
        self._first_counts = False

    def has(self, loader: Any) -> bool:
        """Asked when the loader is about to make an iterator. Runs none of the user's code."""
        import torch
        from torch.utils.data import get_worker_info

        if not torch.is_grad_enabled() or get_worker_info() is not None:
            return False  # a worker that iterates a loader of its own loads batches with it
        counts = goes_in_order(loader)
        if self._first is None:
            self._first, self._first_kind, self._first_counts = weakref.ref(loader), type(loader.dataset), counts
            return True
        return not counts or (self._first_counts and self._is_first_again(loader))

    def _is_first_again(self, loader: Any) -> bool:
        """Another one over its data set, or one that a program makes anew for each epoch."""
        first = self._first() if self._first is not None else None
        if first is None and type(loader.dataset) is self._first_kind:
            self._first = weakref.ref(loader)
            return True
        return first is not None and (loader is first or loader.dataset is first.dataset)


def goes_in_order(loader: Any) -> bool:
    sampler = loader.batch_sampler if loader.batch_sampler is not None else loader.sampler
    for _ in range(NESTED_SAMPLERS):
        attributes = getattr(sampler, "__dict__", {})
        # Distributed samplers say so themselves.
        if type(sampler).__name__ in IN_ORDER or attributes.get("shuffle") is False:
            return True
        sampler = attributes.get("batch_sampler") or attributes.get("sampler")
    return False
