"""Finds consumers that request the batch after the one they hand out: then a request belongs to the step before.

Accelerate's ``DataLoaderShard`` requests batch k+1 before it yields batch k, to know the last one, and so does its
``DataLoaderDispatcher``, on one rank for all (accelerate/data_loader.py); so does Lightning where it cannot know how
many batches there are (lightning/pytorch/loops/fetchers.py, ``_PrefetchDataFetcher``).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any

from underfed.exchange.ring_format import MOST_REQUESTS
from underfed.trainer.settings.loader_parts import attributes_of, samplers_of

FRAMES = 24
"""Frames searched: between such a consumer and the construction of the iterator there are a handful."""

ACCELERATE = "accelerate.data_loader"
LIGHTNING = ("lightning.pytorch.loops.fetchers", "pytorch_lightning.loops.fetchers")
ENDLESS = float("inf")


def fetches_ahead(consumer: Any) -> bool:
    kinds = _kinds(consumer)
    is_accelerates = "DataLoaderShard" in kinds or "DataLoaderDispatcher" in kinds
    return is_accelerates or ("_PrefetchDataFetcher" in kinds and not _knows_end(attributes_of(consumer)))


def requests_a_step(consumer: Any) -> int:
    """A dispatcher asks for a batch for each rank, except where it splits one batch among them."""
    if "DataLoaderDispatcher" not in _kinds(consumer) or attributes_of(consumer).get("split_batches"):
        return 1
    return min(MOST_REQUESTS, _ranks(consumer))


def dispatches(consumer: Any) -> bool:
    """Whether by this loader of Accelerate's one rank loads for all, whole batches or parts of each."""
    return "DataLoaderDispatcher" in _kinds(consumer) and _ranks(consumer) > 1


def consumer_of(loader: Any) -> Any:
    """The object in whose ``__iter__`` this loader itself is iterated, as the callers show while its iterator is under
    construction: one further out iterates another loader, which contains this one."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(FRAMES):
        if frame is None:
            return None
        module = frame.f_globals.get("__name__")
        if frame.f_code.co_name == "__iter__" and module in (ACCELERATE, *LIGHTNING):
            owner = frame.f_locals.get("self")
            held = [owner, attributes_of(owner).get("base_dataloader"), *_combined(attributes_of(owner))[0]]
            if any(each is loader for each in held):
                return owner
        frame = frame.f_back
    return None


def _kinds(consumer: Any) -> list[str]:
    return [kind.__name__ for kind in type(consumer).__mro__]


def _ranks(adapter: Any) -> int:
    ranks: int = getattr(attributes_of(adapter).get("state"), "num_processes", 1)
    return ranks


def _combined(fetcher: Mapping[str, Any]) -> tuple[list[Any], list[float], bool]:
    """Loaders that Lightning iterates together, how many batches it wants of each, and whether it ends with the
    shortest."""
    combined = attributes_of(fetcher.get("_combined_loader"))
    loaders = combined.get("_flattened") or []
    return loaders, combined.get("_limits") or [ENDLESS] * len(loaders), combined.get("_mode") == "min_size"


def _knows_end(fetcher: Mapping[str, Any]) -> bool:
    """As its ``length`` will be, which is set when the iterators are created."""
    loaders, limits, ends_with_shortest = _combined(fetcher)
    ends = [limit < ENDLESS or _has_length(loader) for loader, limit in zip(loaders, limits, strict=False)]
    return any(ends) if ends_with_shortest else all(ends)


def _has_length(loader: Any) -> bool:
    """Whether ``len()`` would work. It is not called: torch remembers its result, and warns when it was wrong."""
    from torch.utils.data import DataLoader, IterableDataset

    if not isinstance(loader, DataLoader) or type(loader).__len__ is not DataLoader.__len__:
        return hasattr(type(loader), "__len__")
    samplers = (each for each in samplers_of(loader) if type(each).__name__ != "BatchSampler")
    part = loader.dataset if isinstance(loader.dataset, IterableDataset) else next(samplers, None)
    return hasattr(type(part), "__len__")
