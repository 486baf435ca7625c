"""Which loaders a program trains from: ``--set`` and ``--replay`` apply to those only."""

from __future__ import annotations

import weakref
from typing import Any

from underfed.trainer.settings.loader_parts import attributes_of, samplers_of

IN_ORDER = ("SequentialSampler", "_InfiniteConstantSampler", "range")
"""The second is what torch gives every iterable data set: its order is decided by the data set."""


class TrainingLoaders:
    """Of those iterated with gradients enabled: the first one, and every one whose order is not sequential.

    If the first one shuffles, sequential ones are for validation: Hugging Face's Trainer iterates both with gradients.
    """

    def __init__(self) -> None:
        self._first: weakref.ref[Any] | None = None
        self._first_kind: type | None = None
        self._first_counts = False

    def has(self, loader: Any) -> bool:
        """Called when the loader is about to create an iterator. Runs no code of the program."""
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
        """Another loader over its data set, or one that a program creates for each epoch."""
        first = self._first() if self._first is not None else None
        if first is None and type(loader.dataset) is self._first_kind:
            self._first = weakref.ref(loader)
            return True
        return first is not None and (loader is first or loader.dataset is first.dataset)


def goes_in_order(loader: Any) -> bool:
    """Whether its order is sequential, which distributed samplers say themselves."""
    return any(
        type(sampler).__name__ in IN_ORDER or attributes_of(sampler).get("shuffle") is False
        for sampler in samplers_of(loader)
    )
