"""What a data set changes in itself while it is read: a cache that grows, a counter. Each worker would have its own,
and it would be forgotten with that.

Seen by the attributes of the data set, of what it holds and of the function that joins its samples: which object each
is, how long a container is, a small value, how full an ``lru_cache`` is. None of the program's code is called, nothing
is kept alive, and what lies in containers and arrays is not looked at.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice
from types import FunctionType, MethodType, ModuleType
from typing import Any

from underfed.trainer.settings.loader_parts import attributes_of

MOST_ATTRIBUTES = 1_000
"""Are looked at: some milliseconds at most, once in a pass and once before the first workers."""

DEPTH = 3
"""Of objects within objects: a data set in a subset in a wrapper."""

LISTED = 16
"""Entries of a list or tuple that are looked into, as data sets that are joined."""

SHORT = 64
"""Letters of a text that is compared; of a longer one it is known which object it is."""

CONTAINERS: tuple[Any, ...] = (dict, list, set, frozenset, tuple, deque, bytearray)
Seen = Mapping[str, object]
"""By the name of an attribute, as a program would write it."""


def look_at(loader: Any) -> Seen:
    waiting = deque([("", loader.dataset, 0), ("collate_fn.", loader.collate_fn, 0)])
    found: dict[str, object] = {}
    known: set[int] = set()
    while waiting and len(found) < MOST_ATTRIBUTES:
        path, holder, depth = waiting.popleft()
        if id(holder) in known:
            continue
        known.add(id(holder))
        for name, value in islice(_parts_of(holder), MOST_ATTRIBUTES - len(found)):
            found[path + name] = _seen(value)
            if depth < DEPTH:
                inner = value[:LISTED] if type(value) in (list, tuple) else (value,)
                waiting.extend((f"{path}{name}.", each, depth + 1) for each in inner if _is_looked_into(each))
    return found


def changed_attribute(before: Seen, after: Seen) -> str | None:
    """The first one that is another now; ``None``: all are as they were."""
    names = [*after, *(name for name in before if name not in after)]
    if len(before) >= MOST_ATTRIBUTES or len(after) >= MOST_ATTRIBUTES:
        names = [name for name in after if name in before]
    return next(
        (name for name in names if name not in before or name not in after or before[name] != after[name]), None
    )


def _parts_of(holder: Any) -> Iterator[tuple[str, Any]]:
    """Its attributes, and the caches around its class's functions and around those that its functions call."""
    if isinstance(holder, (FunctionType, MethodType)):
        yield from _caches_called(holder.__name__, getattr(holder, "__func__", holder))
        if isinstance(holder, MethodType):
            yield from list(attributes_of(holder.__self__).items())
        return
    yield from list(attributes_of(holder).items())
    for kind in type(holder).__mro__:
        for name, value in list(vars(kind).items()):
            if isinstance(value, functools._lru_cache_wrapper):
                yield name, value
            elif isinstance(value, FunctionType):
                yield from _caches_called(name, value)


def _caches_called(name: str, function: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(function, FunctionType):
        return  # one that is written in C
    variables = function.__globals__
    for each in function.__code__.co_names:
        if isinstance(variables.get(each), functools._lru_cache_wrapper):
            yield f"{name}: {each}", variables[each]


def _seen(value: Any) -> object:
    if isinstance(value, functools._lru_cache_wrapper):
        known = value.cache_info()
        return known.hits, known.currsize
    if value is None or type(value) in (bool, int, complex):
        return value
    if type(value) is float or (type(value) is str and len(value) <= SHORT):
        return repr(value)  # NaN is like itself
    for kind in CONTAINERS:
        if issubclass(type(value), kind):
            return id(value), kind.__len__(value)
    return id(value)


def _is_looked_into(value: Any) -> bool:
    if issubclass(type(value), (ModuleType, type, FunctionType, functools._lru_cache_wrapper, *CONTAINERS)):
        return False
    is_library = type(value).__module__.partition(".")[0] in ("torch", "numpy") and "data" not in type(value).__module__
    return bool(attributes_of(value)) and not is_library
