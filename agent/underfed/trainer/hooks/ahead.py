"""Consumers that ask for the batch after the one they hand out: then a request belongs to the step before.

Accelerate's ``DataLoaderShard`` draws batch k+1 before it yields batch k, to know the last one, and so does its
``DataLoaderDispatcher``, on one rank for all (accelerate/data_loader.py); so does Lightning where it cannot know how
many batches there are (lightning/pytorch/loops/fetchers.py, ``_PrefetchDataFetcher``).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any

FRAMES = 24
"""Between such a consumer and the construction of the iterator lie a handful."""

ACCELERATE = "accelerate.data_loader"
LIGHTNING = ("lightning.pytorch.loops.fetchers", "pytorch_lightning.loops.fetchers")
NESTED_SAMPLERS = 4
ENDLESS = float("inf")


def fetches_ahead(loader: Any) -> bool:
    """Whether the iterator under construction is for such a consumer, told from who called."""
    consumer = _consumer(loader)
    kinds = _kinds(consumer)
    if "DataLoaderDispatcher" in kinds:
        return _draws_for(consumer) == 1
    return "DataLoaderShard" in kinds or ("_PrefetchDataFetcher" in kinds and not _knows_end(_attributes(consumer)))


def why_no_steps(loader: Any) -> str | None:
    """Why a request of the iterator under construction is no training step; mostly it is one."""
    consumer = _consumer(loader)
    if "DataLoaderDispatcher" not in _kinds(consumer):
        return None
    ranks = _draws_for(consumer)
    return f"Accelerate's DataLoaderDispatcher draws on rank 0 for all {ranks} ranks" if ranks > 1 else None


def _consumer(loader: Any) -> Any:
    """The object in whose ``__iter__`` this very loader is iterated: one further out draws from another loader,
    within which this one is nested."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(FRAMES):
        if frame is None:
            return None
        module = frame.f_globals.get("__name__")
        if frame.f_code.co_name == "__iter__" and module in (ACCELERATE, *LIGHTNING):
            owner = frame.f_locals.get("self")
            held = [owner, _attributes(owner).get("base_dataloader"), *_combined(_attributes(owner))[0]]
            if any(each is loader for each in held):
                return owner
        frame = frame.f_back
    return None


def _kinds(consumer: Any) -> list[str]:
    return [kind.__name__ for kind in type(consumer).__mro__]


def _attributes(thing: Any) -> Mapping[str, Any]:
    """Its own, without running code of its class: an adapter of Accelerate's answers for the loader inside."""
    attributes: Mapping[str, Any] = getattr(thing, "__dict__", {})
    return attributes


def _draws_for(dispatcher: Any) -> int:
    """Ranks for whose steps it asks one by one; where it splits a batch among them, it asks once."""
    attributes = _attributes(dispatcher)
    return 1 if attributes.get("split_batches") else getattr(attributes.get("state"), "num_processes", 1)


def _combined(fetcher: Mapping[str, Any]) -> tuple[list[Any], list[float], bool]:
    """Loaders that Lightning draws from together, how many batches it wants of each, and whether it ends with the
    shortest."""
    combined = _attributes(fetcher.get("_combined_loader"))
    loaders = combined.get("_flattened") or []
    return loaders, combined.get("_limits") or [ENDLESS] * len(loaders), combined.get("_mode") == "min_size"


def _knows_end(fetcher: Mapping[str, Any]) -> bool:
    """As its ``length`` will say, which is set when the iterators are made."""
    loaders, limits, ends_with_shortest = _combined(fetcher)
    ends = [limit < ENDLESS or _has_length(loader) for loader, limit in zip(loaders, limits, strict=False)]
    return any(ends) if ends_with_shortest else all(ends)


def _has_length(loader: Any) -> bool:
    """Whether ``len()`` would work. It is not tried: torch remembers that, and warns by it."""
    from torch.utils.data import DataLoader, IterableDataset

    if not isinstance(loader, DataLoader) or type(loader).__len__ is not DataLoader.__len__:
        return hasattr(type(loader), "__len__")
    part: Any = loader.dataset
    if not isinstance(part, IterableDataset):
        part = loader.batch_sampler if loader.batch_sampler is not None else loader.sampler
    for _ in range(NESTED_SAMPLERS):
        if type(part).__name__ != "BatchSampler":
            break
        part = part.sampler
    return hasattr(type(part), "__len__")
