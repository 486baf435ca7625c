"""Whether the iterable data sets of one process may have more workers: from their code, else from what two load."""

from __future__ import annotations

import weakref
from typing import Any

from underfed.trainer.settings.sharding import Sharding, sharding_with
from underfed.trainer.settings.sharding_check import check_sharding


class VerifiedSharding:
    """Checks each data set once, and none of a class of which one was refused: a program may create them for each
    epoch."""

    def __init__(self) -> None:
        self._shared: weakref.ref[Any] | None = None
        self._refused: dict[type, Sharding] = {}

    def why_not(self, loader: Any, workers: int) -> str | None:
        """Why this loader must not have so many workers; ``None``: they share its data set out."""
        shards, why = sharding_with(loader, workers)
        if shards is None and (found := self.found(loader.dataset)) is not None:
            shards, why = found
        elif shards is None:
            shards, why = self._check(loader, workers)
        return None if shards else why

    def found(self, dataset: Any) -> Sharding | None:
        """What was verified of it; ``None``: nothing."""
        if self._shared is not None and self._shared() is dataset:
            return True, None
        return self._refused.get(type(dataset))

    def _check(self, loader: Any, workers: int) -> Sharding:
        found = check_sharding(loader, workers)
        if found[0]:
            self._shared = weakref.ref(loader.dataset)
        else:
            self._refused[type(loader.dataset)] = found
        return found
