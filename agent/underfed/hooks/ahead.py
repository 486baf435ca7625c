"""Consumers that ask for the batch after the one they hand out: then a request belongs to the step before.

Accelerate's ``DataLoaderShard`` draws batch k+1 before it yields batch k, to know the last one
(accelerate/data_loader.py, ``DataLoaderShard.__iter__``); so does Lightning for loaders without a length
(lightning/pytorch/loops/fetchers.py, ``_PrefetchDataFetcher``).
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

FRAMES = 24
"""Between such a consumer and the making of the iterator lie a handful."""

FETCHERS = ("lightning.pytorch.loops.fetchers", "pytorch_lightning.loops.fetchers")


def fetches_ahead(loader: Any) -> bool:
    """Whether the iterator that is being made is for such a consumer, told from who called."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(FRAMES):
        if frame is None:
            return False
        module, name = frame.f_globals.get("__name__"), frame.f_code.co_name
        if module == "accelerate.data_loader" and name == "__iter__":
            owner = frame.f_locals.get("self")
            return type(owner).__name__ != "DataLoaderDispatcher"
        if module in FETCHERS and name == "__iter__":
            owner = type(frame.f_locals.get("self")).__name__
            return owner == "_PrefetchDataFetcher" and not hasattr(loader.dataset, "__len__")
        frame = frame.f_back
    return False
