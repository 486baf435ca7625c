"""What a batch consists of: counts its tensors, and pins, moves and hands them over in the same structure.

Goes into mappings, lists, tuples, named tuples and dataclasses. An object with ``pin_memory()``, ``to()`` or
``record_stream()`` of its own is asked for it, as torch's pin thread does and PyG's and Hugging Face's batches expect.
Whatever else is in a batch stays as it is.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from underfed.exchange.ring_format import NOT_MEASURED
from underfed.host.signal_handlers import let_through, passing
from underfed.trainer.device.device_clock import Stream

DEPTH = 8
ITEMS = 10_000
"""Most pieces counted, a few milliseconds once per loader; a larger batch is not measured."""

Change = Callable[[Any], Any]

PLAIN = (str, bytes, int, float, complex, type(None))
"""Hold no tensors."""

NOTHING: tuple[Any, ...] = ()


@cache
def tensor_type() -> type[Any]:
    from torch import Tensor

    return Tensor


class BatchShape(NamedTuple):
    tensors: int
    size_bytes: int
    bytes_by_dtype: Mapping[str, int] = {}
    """``float32``, ``int64`` …"""
    largest_float: Any = None
    """Its largest tensor of floating-point numbers."""


UNMEASURED = BatchShape(NOT_MEASURED, NOT_MEASURED)


def measure_batch(batch: Any) -> BatchShape:
    """Found without touching the tensors' data. ``UNMEASURED`` for a batch too deep or large."""
    found = size = seen = 0
    dtypes: dict[str, int] = {}
    largest, largest_bytes = None, 0
    waiting = [(batch, 0)]
    while waiting:
        item, depth = waiting.pop()
        seen += 1
        if seen + len(waiting) > ITEMS or depth > DEPTH:
            return UNMEASURED
        if isinstance(item, tensor_type()):
            item_bytes = item.numel() * item.element_size()
            dtype = str(item.dtype).removeprefix("torch.")
            found += 1
            size += item_bytes
            dtypes[dtype] = dtypes.get(dtype, 0) + item_bytes
            if item.is_floating_point() and item_bytes > largest_bytes:
                largest, largest_bytes = item, item_bytes
        else:
            waiting += [(part, depth + 1) for part in islice(parts(item), ITEMS)]
    return BatchShape(found, size, dtypes, largest)


def pinned(item: Any) -> Any:
    """The batch with its tensors in page-locked memory. A tensor that is there already, or cannot be, is not copied."""
    if isinstance(item, tensor_type()):
        return _pinned_tensor(item)
    own = _own(item, "pin_memory")
    if own is None:
        return with_parts(item, pinned)
    with passing(RuntimeError):
        return own()
    return item  # as for tensors; or it is on the device already


def moved(item: Any, device: Any, non_blocking: bool) -> Any:
    """The batch with its tensors on ``device``, copied in the current stream."""
    if isinstance(item, tensor_type()):
        return item.to(device, non_blocking=non_blocking)
    own = _own(item, "to")
    if own is None:
        return with_parts(item, lambda part: moved(part, device, non_blocking))
    try:
        return own(device, non_blocking=non_blocking)
    except TypeError:
        return own(device)  # its ``to()`` takes a device and no more


def tensors(item: Any) -> Iterator[Any]:
    """All of its tensors that can be reached."""
    if isinstance(item, tensor_type()):
        yield item
    else:
        for part in parts(item):
            yield from tensors(part)


def hand_over(item: Any, stream: Stream, is_foreign: bool) -> bool:
    """Record for the allocator that ``stream`` uses this memory too. Returns whether all of it could be reached.

    ``is_foreign``: a transform has built the batch, so any object in it may hold tensors.
    """
    if isinstance(item, tensor_type()) and item.device.type == "cpu":
        return True
    own = _own(item, "record_stream")
    if own is not None:
        with passing(RuntimeError):
            own(stream)
            return True
        return False  # a sparse tensor has none
    inside = parts(item)
    if inside is NOTHING:
        return isinstance(item, PLAIN) or not (is_foreign or _own(item, "to") is not None)
    reached = [hand_over(part, stream, is_foreign) for part in inside]
    return all(reached)


def _own(item: Any, name: str) -> Callable[..., Any] | None:
    own = getattr(item, name, None)
    return own if callable(own) and not isinstance(item, type) else None


def _pinned_tensor(tensor: Any) -> Any:
    if tensor.device.type != "cpu" or tensor.is_pinned():
        return tensor
    try:
        copied = tensor.pin_memory()
    except RuntimeError as error:
        let_through(error)
        return tensor  # expanded, or no memory left to lock: copied from where it is, while the host waits
    # Some subclasses come back as plain tensors (torchvision's tv_tensors); ``to()`` keeps their type.
    return copied if type(copied) is type(tensor) else tensor


def parts(item: Any) -> Iterable[Any]:
    """What a container holds; ``NOTHING`` for anything else."""
    if isinstance(item, Mapping):
        return item.values()
    if isinstance(item, (list, tuple)):
        return item
    if is_dataclass(item) and not isinstance(item, type):
        return [getattr(item, each.name) for each in fields(item) if hasattr(item, each.name)]
    return NOTHING


def with_parts(item: Any, change: Change) -> Any:
    """One of the same type, with its parts changed; the item itself where it is no container."""
    if isinstance(item, Mapping):
        return _mapping_with(item, {key: change(part) for key, part in item.items()})
    if isinstance(item, tuple):
        make = getattr(item, "_make", type(item))  # a named tuple's constructor takes its parts one by one
        return make([change(part) for part in item])
    if isinstance(item, list):
        rebuilt = copy.copy(item)
        rebuilt[:] = [change(part) for part in item]
        return rebuilt
    if is_dataclass(item) and not isinstance(item, type):
        return _dataclass_with(item, change)
    return item


def _mapping_with(item: Mapping[Any, Any], parts: dict[Any, Any]) -> Any:
    if type(item) is dict:
        return parts
    try:
        if not isinstance(item, MutableMapping):
            return type(item)(parts)  # type: ignore[call-arg]
        rebuilt = copy.copy(item)  # it may hold more than its items
        rebuilt.update(parts)
    except TypeError:
        return parts
    return rebuilt


def _dataclass_with(item: Any, change: Change) -> Any:
    """Without its constructor, which may take other arguments than its fields, and do more than store them."""
    rebuilt = copy.copy(item)
    for each in fields(item):
        if hasattr(item, each.name):
            object.__setattr__(rebuilt, each.name, change(getattr(item, each.name)))
    return rebuilt
