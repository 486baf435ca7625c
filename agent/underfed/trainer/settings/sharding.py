"""Whether an iterable data set is sharded among workers, as its code shows: if not, each worker loads all of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cached_property, partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

ASKS = "get_worker_info"
"""The only way that torch offers a data set to learn which worker it is in. webdataset, litdata, mosaicml-streaming and
Hugging Face's datasets all call it, in a stage, a helper or under another name."""

FOREIGN = frozenset({"torch", "numpy", "builtins", *sys.stdlib_module_names})
"""Packages whose code is not searched: it does not know this data set."""

VISITED = 400
"""Most objects that are searched: a data set that reaches more is not analysed."""


def why_unsharded(loader: Any, workers: int) -> str | None:
    """Why this iterable data set must not get so many workers; ``None``: it may."""
    dataset = loader.dataset
    if loader.worker_init_fn is not None:
        return None
    kind = type(dataset).__name__
    if is_datapipe(dataset):
        no_filter = "its datapipe has no sharding_filter: each worker would load it all"
        return None if has_sharding_filter(dataset) else no_filter
    if (shards := hugging_face_shards(dataset)) is not None:
        return None if workers <= shards else f"{kind} has {shards} shards, which {workers} workers cannot share"
    if any(name.endswith(ASKS) for code in code_of(dataset) for name in names_in(code)):
        return None
    return f"{kind} does not ask {ASKS}(), so each worker would load all of it"


def shards_itself(loader: Any) -> tuple[bool | None, str | None]:
    """Whether its iterable data set gives each worker its own part, and why not or why that is not known.

    Runs none of the user's code, so a datapipe's graph is not followed.
    """
    dataset = loader.dataset
    if loader.worker_init_fn is not None:
        return None, "a worker_init_fn may divide it"
    if is_datapipe(dataset):
        return None, "a datapipe is divided as its graph says, which is known when it runs"
    if hugging_face_shards(dataset) is not None:
        return True, None
    why = why_unsharded(loader, max(loader.num_workers, 2))
    return why is None, why


def hugging_face_shards(dataset: Any) -> int | None:
    """``None``: not a data set of Hugging Face's. More workers than shards would idle, with a warning."""
    if not type(dataset).__module__.startswith("datasets.iterable_dataset"):
        return None
    shards = getattr(dataset, "num_shards", None) or getattr(dataset, "n_shards", None)
    return shards if isinstance(shards, int) else None


def is_datapipe(dataset: Any) -> bool:
    from torch.utils.data import IterDataPipe

    return isinstance(dataset, IterDataPipe)


def has_sharding_filter(dataset: Any) -> bool:
    """As torch itself looks for one when a worker starts."""
    from torch.utils.data.graph import traverse_dps
    from torch.utils.data.graph_settings import get_all_graph_pipes

    return any(hasattr(pipe, "apply_sharding") for pipe in get_all_graph_pipes(traverse_dps(dataset)))


def code_of(dataset: Any) -> Iterator[CodeType]:
    """Code of the data set's class, of what it holds, and of the functions and classes that this code names."""
    waiting: list[Any] = [dataset]
    seen: set[int] = set()
    while waiting and len(seen) < VISITED:
        thing = waiting.pop(0)
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, FunctionType):
            yield thing.__code__
            waiting += named_by(thing)
        elif isinstance(thing, type):
            waiting += [part for kind in thing.__mro__ if not is_foreign(kind) for part in vars(kind).values()]
        else:
            waiting += held_by(thing)


def named_by(function: FunctionType) -> list[Any]:
    """Functions and classes that it can reach by a name of its module, or by one of a module that it names."""
    names, reachable = names_in(function.__code__), function.__globals__
    found = [reachable[name] for name in names if name in reachable]
    modules = [
        thing for thing in found if isinstance(thing, ModuleType) and thing.__name__.partition(".")[0] not in FOREIGN
    ]
    found += [vars(module)[name] for module in modules for name in names if name in vars(module)]
    return [thing for thing in found if isinstance(thing, (FunctionType, type)) and not is_foreign(thing)]


def names_in(code: CodeType) -> list[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return [*code.co_names, *(name for each in inner for name in names_in(each))]


def held_by(thing: Any) -> list[Any]:
    """What a descriptor, a partial, a container or an object is made of. Runs no code of the user's."""
    if isinstance(thing, (staticmethod, classmethod, MethodType)):
        return [thing.__func__]
    if isinstance(thing, property):
        return [thing.fget]
    if isinstance(thing, (partial, cached_property)):
        return [thing.func]
    if isinstance(thing, (list, tuple)):
        return list(thing[:16])
    if is_foreign(type(thing)) and not hasattr(thing, "__dict__"):
        return []
    attributes = getattr(thing, "__dict__", {})
    return [type(thing), *(attributes.values() if isinstance(attributes, dict) else ())]


def is_foreign(thing: Any) -> bool:
    return getattr(thing, "__module__", "builtins").partition(".")[0] in FOREIGN
