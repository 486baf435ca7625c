"""What a loader is built of, read from instance dictionaries: ``getattr`` could run the program's own code."""

from __future__ import annotations

import multiprocessing
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

NESTED_SAMPLERS = 4
"""Depth to which frameworks nest samplers: a shard of a batch sampler of a distributed sampler of a sampler."""

NESTED_DATASETS = 4
"""Depth of wrappers around a data set that are looked into."""


def attributes_of(thing: Any) -> Mapping[str, Any]:
    """An object's own attributes. An adapter or a stand-in would answer ``getattr`` for the loader inside it."""
    try:
        attributes = object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return {}
    return attributes if isinstance(attributes, dict) else {}


def described(loader: Any) -> Any:
    """The loader that the program knows. fastai hands torch's iterators a stand-in, which is its own data set."""
    inside = attributes_of(loader).get("d") if is_fastais(loader) else None
    return loader if inside is None else inside


def is_fastais(loader: Any) -> bool:
    kind = type(loader)
    return (kind.__module__, kind.__name__) == ("fastai.data.load", "_FakeLoader")


def dataset_of(loader: Any) -> Any:
    return attributes_of(described(loader)).get("dataset")


def start_method(loader: Any) -> str:
    """Of its workers. Asking for the default must not fix it, as ``get_start_method()`` would: a later
    ``set_start_method()`` of the program would fail."""
    context = loader.multiprocessing_context
    chosen = context.get_start_method() if context is not None else multiprocessing.get_start_method(allow_none=True)
    return str(chosen or multiprocessing.get_all_start_methods()[0])


def weakly(thing: Any) -> weakref.ref[Any] | None:
    """``None``: it cannot be held so, as a plain list."""
    try:
        return weakref.ref(thing)
    except TypeError:
        return None


def nested(dataset: Any) -> Iterator[Any]:
    """The data set, and what it is a wrapper around, as ``Subset(Subset(…))``."""
    for _ in range(1 + NESTED_DATASETS):
        yield dataset
        dataset = attributes_of(dataset).get("dataset")


def samplers_of(loader: Any) -> Iterator[Any]:
    """Its batch sampler, else its sampler, and those inside, the outermost first."""
    inside = loader
    for _ in range(NESTED_SAMPLERS):
        attributes = attributes_of(inside)
        inside = attributes.get("sampler") if (outer := attributes.get("batch_sampler")) is None else outer
        if inside is None:
            return
        yield inside
