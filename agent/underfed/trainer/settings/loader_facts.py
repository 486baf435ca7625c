"""The facts of a DataLoader, read once when it is watched, without running the data set's own code where possible."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from underfed.exchange.config import LARGEST, Value
from underfed.exchange.facts import REASON_LENGTH, LoaderFacts, SourceLine, reason_of
from underfed.host.signal_handlers import let_through, passing
from underfed.trainer.settings.dataset_shards import dataset_shards, takes_whole_shards
from underfed.trainer.settings.loader_parts import (
    attributes_of,
    dataset_of,
    described,
    is_fastais,
    nested,
    samplers_of,
    start_method,
)

Result = TypeVar("Result")

SUBSET = ("torch.utils.data.dataset", "Subset")
LISTED_TRANSFORMS = 32
NAME_LENGTH = 100
PATH_ATTRIBUTES, LISTED_PATHS, PATH_LENGTH = 64, 8, 4096
KNOWN = ("torch", "torchdata", "accelerate", "lightning", "pytorch_lightning", "transformers", "fastai")
"""Packages whose samplers count without drawing random numbers."""

NO_QUEUE = "without workers no batch is loaded ahead, so none can be ready"
NO_LENGTH = "an iterable data set is not asked for its length: torch would remember that and warn by it"


def loader_facts(
    loader: Any, name: str, watched_at: str, not_measured: Mapping[str, str], source: SourceLine | None = None
) -> LoaderFacts:
    """``not_measured`` holds the reasons known beforehand, for batch facts that no hook delivers.

    What raises is "not measured", with what it raised as the reason: torch's iterators take anything that has the
    attributes they read. ``len()`` of an iterable data set is not taken.
    """
    reasons = dict(not_measured)
    dataset = dataset_of(loader)
    kind = _read("dataset_kind", lambda: _dataset_kind(loader), reasons)
    samples = batches = None
    if kind == "map":
        samples = _length(lambda: len(dataset), "dataset_length", reasons)
        batches = _read("batches_per_epoch", lambda: _batches(described(loader), reasons), reasons)
    else:
        reasons |= dict.fromkeys(("dataset_length", "batches_per_epoch"), NO_LENGTH)
    shards, why_unsharded = _sharding(loader, reasons) if kind == "iterable" else (None, None)
    snapshots = _snapshot_interval(loader)

    def read(name: str, how: Callable[[], Result], of_kind: str | None = None) -> Result | None:
        return _read(name, how, reasons) if of_kind in (None, kind) else None

    facts = LoaderFacts(
        loader=name,
        settings={},
        dataset_type=type(dataset).__name__ if dataset is not None else None,
        dataset_kind=kind,
        sampler_type=read("sampler_type", lambda: _sampler_type(loader, kind)),
        collate_type=read("collate_type", lambda: _name(loader.collate_fn)),
        transforms=read("transforms", lambda: _transforms(dataset)),
        watched_at=watched_at,
        constructed_by=source.package if source is not None else None,
        source=source,
        dataset_shards=read("dataset_shards", lambda: dataset_shards(dataset), of_kind="iterable"),
        takes_whole_shards=read("takes_whole_shards", lambda: takes_whole_shards(dataset), of_kind="iterable"),
        fetches_batches=read("fetches_batches", lambda: _fetches_batches(loader, dataset), of_kind="map"),
        snapshot_interval_steps=snapshots,
        keeps_state=None if snapshots is None else hasattr(type(dataset), "state_dict"),
        shards=shards,
        why_unsharded=why_unsharded,
        not_measured=reasons,
        paths=read("storage", lambda: data_paths(dataset)),
        dataset_length=samples,
        batches_per_epoch=batches,
    )
    return with_settings(facts, loader, {})


def _read(name: str, read: Callable[[], Result], reasons: dict[str, str]) -> Result | None:
    """What ``read`` returns; where it raises ``None``, with the reason under this name."""
    try:
        return read()
    except Exception as error:
        let_through(error)
        reasons[name] = reason_of(error)
        return None


def with_settings(facts: LoaderFacts, loader: Any, overrides: Mapping[str, Value]) -> LoaderFacts:
    """The facts with the loader's settings as they are now. ``overrides``: what was set from outside."""
    reasons = dict(facts.not_measured)
    # The only one that torch's loader does not hold.
    threads = {name: value for name, value in overrides.items() if name == "threads_per_worker"}
    settings = _settings(loader, reasons) | threads
    now = replace(facts, settings=settings, overrides=dict(overrides) or None, not_measured=reasons)
    return with_queue(now)


def with_queue(facts: LoaderFacts) -> LoaderFacts:
    """The facts with why there is no queue, as its number of workers is now."""
    reasons = {name: why for name, why in facts.not_measured.items() if why != NO_QUEUE}
    if facts.settings.get("num_workers") == 0:
        reasons["queue_depth"] = NO_QUEUE
    return replace(facts, not_measured=reasons)


def iterable_facts(iterable: Any, name: str, watched_at: str, not_measured: Mapping[str, str]) -> LoaderFacts:
    """Facts of an iterable that is no DataLoader: its type stands for the data set's."""
    return LoaderFacts(name, {}, watched_at, dataset_type=type(iterable).__name__, not_measured=dict(not_measured))


def data_paths(dataset: Any) -> list[str]:
    """Files or directories that the data set's own attributes name, by torchvision's conventions and the like.

    Only instance dictionaries are read, and of a list of samples the first.
    """
    found: dict[str, None] = {}
    for each in nested(dataset):
        for value in list(attributes_of(each).values())[:PATH_ATTRIBUTES]:
            path = _first_path(value)
            if path is not None:
                found[path] = None
    return list(found)[:LISTED_PATHS]


def _first_path(value: Any) -> str | None:
    for _ in range(2):  # [path, …] and [(path, label), …]
        value = value[0] if isinstance(value, (list, tuple)) and value else value
    if not isinstance(value, (str, os.PathLike)) or len(os.fspath(value)) > PATH_LENGTH:
        return None
    path = Path(os.fsdecode(value))
    with passing(OSError, ValueError):
        return str(path.absolute()) if len(path.parts) > 1 and path.exists() else None
    return None


def _settings(loader: Any, reasons: dict[str, str]) -> dict[str, Value]:
    """Those that the loader has; the others are named in ``reasons``."""
    sharing = sys.modules.get("torch.multiprocessing")
    reads: dict[str, Callable[[], Value]] = {
        "num_workers": lambda: loader.num_workers,
        "prefetch_factor": lambda: loader.prefetch_factor if loader.num_workers else None,
        "batch_size": lambda: _batch_size(loader),
        "pin_memory": lambda: bool(loader.pin_memory),
        "persistent_workers": lambda: bool(loader.persistent_workers),
        "in_order": lambda: bool(getattr(loader, "in_order", True)),
        "drop_last": lambda: bool(described(loader).drop_last),
        "timeout_s": lambda: float(loader.timeout),
        "multiprocessing_context": lambda: start_method(loader) if loader.num_workers else None,
        **({"sharing_strategy": sharing.get_sharing_strategy} if sharing is not None else {}),
    }
    missing: dict[str, str] = {}
    settings = {name: _read(name, read, missing) for name, read in reads.items()}
    reasons |= missing
    return {name: value for name, value in settings.items() if name not in missing}


def _batch_size(loader: Any) -> int | None:
    """A custom ``batch_sampler`` may have one; without batching there is none."""
    if is_fastais(loader):
        return described(loader).bs  # type: ignore[no-any-return]
    size = loader.batch_size
    if size is None:
        size = vars(loader.batch_sampler).get("batch_size") if hasattr(loader.batch_sampler, "__dict__") else None
    return size if isinstance(size, int) else None


def _sharding(loader: Any, reasons: dict[str, str]) -> tuple[bool | None, str | None]:
    """As ``shards_itself``; the reason why it is not known is added to ``reasons``."""
    from underfed.trainer.settings.sharding import shards_itself

    try:
        shards, why = shards_itself(loader)
    except Exception as error:
        let_through(error)
        # The data set's classes may be of a kind that cannot be read.
        shards, why = None, reason_of(error)
    if shards is None and why is not None:
        reasons["shards"] = why
    return shards, why if shards is False else None


def _snapshot_interval(loader: Any) -> int | None:
    """torchdata's ``StatefulDataLoader`` has one."""
    steps = attributes_of(loader).get("snapshot_every_n_steps")
    return steps if isinstance(steps, int) else None


def _fetches_batches(loader: Any, dataset: Any) -> bool:
    """torch calls ``__getitems__`` where there is one. That of its own ``Subset`` asks for what it is a part of; where
    nothing is batched, what one index gives is a batch. The data set's class is looked at, not the data set.
    """
    kinds = (type(each) for each in nested(dataset))
    inner = next((kind for kind in kinds if (kind.__module__, kind.__name__) != SUBSET), None)
    return getattr(inner, "__getitems__", None) is not None or not loader._auto_collation


def _dataset_kind(loader: Any) -> str:
    """As torch's iterators see it, but for the stand-in of fastai, which deals out indices itself."""
    is_iterable = not described(loader).indexed if is_fastais(loader) else loader._dataset_kind
    return "iterable" if is_iterable else "map"


def _batches(loader: Any, reasons: dict[str, str]) -> int | None:
    """``len(loader)`` asks its samplers, and a program's own may draw random numbers to answer."""
    for asked in (loader, *samplers_of(loader)):
        if not _is_known(asked):
            reason = f"{type(asked).__name__} is not asked for its length: it might draw random numbers"
            reasons["batches_per_epoch"] = reason[:REASON_LENGTH]
            return None
    return _length(lambda: len(loader), "batches_per_epoch", reasons)


def inner_batches(loader: Any) -> int | None:
    """Batches of a pass where a sampler of the program's own is outermost, which is not asked: those of a known one
    that it passes on, as endless ones do. ``None``: there is no such."""
    from torch.utils.data import BatchSampler

    loader = described(loader)
    samplers = list(samplers_of(loader))
    for place, inner in enumerate(samplers):
        gives_batches = isinstance(inner, BatchSampler) or attributes_of(loader).get("batch_sampler") is None
        if gives_batches and all(map(_is_known, samplers[place:])):
            return _length(inner.__len__, "batches_per_epoch", {})
    return None


@contextmanager
def random_numbers_kept() -> Iterator[None]:
    """What is drawn within the block is drawn again after it: a program's own data set may draw to tell its length."""
    import torch

    drawn, torchs, numpy = random.getstate(), torch.get_rng_state(), sys.modules.get("numpy.random")
    numpys = numpy.get_state() if numpy is not None else None
    try:
        yield
    finally:
        random.setstate(drawn)
        torch.set_rng_state(torchs)
        if numpy is not None:
            numpy.set_state(numpys)


def _is_known(counted: Any) -> bool:
    """Whether its length is counted by a package that we know. A plain list of indices counts itself."""
    kind = type(counted)
    count = getattr(kind, "__len__", None)
    module = getattr(count, "__module__", None) or kind.__module__
    return module.partition(".")[0] in (*KNOWN, "builtins")


def _length(measure: Callable[[], int], name: str, reasons: dict[str, str]) -> int | None:
    try:
        with random_numbers_kept():
            length = measure()
    except Exception as error:
        let_through(error)
        # The user's own __len__: what it raises is a fact about the data set, not a failure of ours.
        reasons[name] = reason_of(error)
        return None
    if length > LARGEST:
        reasons[name] = "endless: longer than 2^53"
        return None
    return length


def _sampler_type(loader: Any, dataset_kind: str | None) -> str | None:
    if type(loader.batch_sampler).__name__ not in ("BatchSampler", "NoneType"):
        return type(loader.batch_sampler).__name__
    return type(loader.sampler).__name__ if dataset_kind == "map" else None


def _transforms(dataset: Any) -> list[str] | None:
    """Class names of what torchvision's convention calls transforms; ``None`` where a data set has none.

    Only instance dictionaries are read: a ``__getattr__`` of the user's would be user code.
    """
    for each in nested(dataset):
        attributes = attributes_of(each)
        found = [attributes[name] for name in ("transform", "transforms") if attributes.get(name) is not None]
        if found:
            return list(_listed(found[0]))[:LISTED_TRANSFORMS]
    return None


def _listed(transform: Any) -> Iterator[str]:
    """The members of a ``Compose`` or ``Sequential``, else the transform itself."""
    attributes = attributes_of(transform)
    members = attributes.get("transforms") or attributes.get("_modules")
    if isinstance(transform, (list, tuple)):
        members = transform
    if isinstance(members, Mapping):
        members = list(members.values())
    if isinstance(members, (list, tuple)):
        yield from (_name(member) for member in members[:LISTED_TRANSFORMS])
    else:
        yield _name(transform)


def _name(thing: Any) -> str:
    if isinstance(thing, partial):
        return _name(thing.func)
    own = getattr(thing, "__qualname__", None) if callable(thing) and hasattr(thing, "__code__") else None
    return str(own or type(thing).__name__)[:NAME_LENGTH]
