"""What a loader is built of, read from instance dictionaries: ``getattr`` could run the program's own code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

NESTED_SAMPLERS = 4
"""Depth to which frameworks nest samplers: a shard of a batch sampler of a distributed sampler of a sampler."""


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


def samplers_of(loader: Any) -> Iterator[Any]:
    """Its batch sampler, else its sampler, and those inside, the outermost first."""
    inside = loader
    for _ in range(NESTED_SAMPLERS):
        attributes = attributes_of(inside)
        inside = attributes.get("sampler") if (outer := attributes.get("batch_sampler")) is None else outer
        if inside is None:
            return
        yield inside
