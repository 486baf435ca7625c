"""Whether the iterable data sets of one process may have more workers: by a package that is known to divide them, by
their code, and by what two workers load."""

from __future__ import annotations

import weakref
from typing import Any

from underfed.trainer.settings.dataset_shards import is_of
from underfed.trainer.settings.sharding import (
    Sharding,
    inside_accelerates,
    is_datapipe,
    is_known_to_divide,
    sharding_with,
)
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
        is_sure = shards is False or (shards and is_a_packages(loader.dataset))
        if not is_sure:
            found = self.found(loader.dataset) or self._check(loader, workers, is_likely=bool(shards))
            shards, why = found
        return None if shards else why

    def found(self, dataset: Any) -> Sharding | None:
        """What was verified of it; ``None``: nothing."""
        if self._shared is not None and self._shared() is dataset:
            return True, None
        return self._refused.get(type(dataset))

    def _check(self, loader: Any, workers: int, *, is_likely: bool) -> Sharding:
        """``is_likely``: its code divides, perhaps not always. It is refused where records come twice."""
        found = check_sharding(loader, workers)
        if is_likely and found[0] is None:
            found = True, None
        if found[0]:
            self._shared = weakref.ref(loader.dataset)
        else:
            self._refused[type(loader.dataset)] = found
        return found


def is_a_packages(dataset: Any) -> bool:
    """Whether a package divides it in a way that is known."""
    is_webdatasets = is_of(dataset, "webdataset", "DataPipeline")
    return is_webdatasets or is_datapipe(dataset) or is_known_to_divide(inside_accelerates(dataset))
