"""How many tensors and bytes a batch has, found without touching their data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from itertools import islice
from typing import Any

from underfed.exchange.ring_format import NOT_MEASURED

DEPTH = 8
ITEMS = 10_000
"""A few milliseconds of looking, once a loader; a batch of more pieces is not measured."""


def measure_batch(batch: Any) -> tuple[int, int]:
    """``(tensors, bytes)``, or twice ``NOT_MEASURED`` for a batch deeper or larger than we look.

    Goes into mappings, lists, tuples and dataclasses.
    """
    from torch import Tensor

    tensors = size = seen = 0
    waiting = [(batch, 0)]
    while waiting:
        item, depth = waiting.pop()
        seen += 1
        if seen + len(waiting) > ITEMS or depth > DEPTH:
            return NOT_MEASURED, NOT_MEASURED
        if isinstance(item, Tensor):
            tensors += 1
            size += item.numel() * item.element_size()
        else:
            waiting += [(part, depth + 1) for part in islice(_parts(item), ITEMS)]
    return tensors, size


def _parts(item: Any) -> Iterable[Any]:
    if isinstance(item, Mapping):
        return item.values()
    if isinstance(item, (list, tuple)):
        return item
    if is_dataclass(item) and not isinstance(item, type):
        return [getattr(item, each.name, None) for each in fields(item)]
    return ()
