"""Which loaders are watched: known by identity and held weakly, so that nothing is added to a loader."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from underfed.trainer.hooks.watched_loader import WatchedLoader
from underfed.trainer.settings.loader_parts import attributes_of, dataset_of, described, samplers_of, weakly

WATCHED_LOADERS = 32
"""Most loaders of a run: 8 MB of rings. A loader that a program creates again replaces the one before."""

Make = Callable[[int, str], WatchedLoader]
"""Called with a loader's number and name."""

Job = tuple[str | None, str, str]
"""What a loader is for: the name that the user chose, else the line that watched it and what it loads. Loaders with
equal ones continue each other."""


@dataclass(slots=True)
class Entry:
    job: Job
    watched: WatchedLoader
    dataset: weakref.ref[Any] | None
    collate_id: int
    loaders: dict[int, weakref.ref[Any]]
    """Loaders by identity: the one watched last, and earlier ones that still exist."""
    iterators: int
    """Iterators that earlier loaders had."""
    copies: dict[int, weakref.ref[Any]] = field(default_factory=dict)
    """Loaders that a framework created from the one watched last."""

    @property
    def was_iterated(self) -> bool:
        """Whether the loader watched last was iterated itself."""
        return not self.copies and self.watched.iterators > self.iterators

    def has(self, loader: Any) -> bool:
        known = self.loaders.get(id(loader)) or self.copies.get(id(loader))
        return known is not None and known() is loader

    def living(self) -> dict[int, weakref.ref[Any]]:
        return {known: loader for known, loader in {**self.loaders, **self.copies}.items() if loader() is not None}


class Registry:
    """Names and finds watched loaders. Threads may watch at the same time."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._by_id: dict[int, Entry] = {}
        # A signal handler may raise before it is released: whoever tries again on that thread must not wait for itself.
        self._lock = threading.RLock()

    def find(self, loader: Any) -> WatchedLoader | None:
        """The entry of a loader, also of one that a framework created from a watched one which itself was not iterated.
        Called when the loader is about to be iterated.

        Lightning and Accelerate do so to put in a sampler of theirs, or to skip what an earlier run has seen: same data
        set, same collate function. One that resumes from a state is the loader that it was taken of, iterated or not.
        """
        entry = self._by_id.get(id(loader))
        if entry is None or not entry.has(loader):
            return self._adopt(loader) if self._entries else None
        if id(loader) in entry.loaders:
            entry.copies = {}  # copies of it were for something else, or are no longer used
        return entry.watched

    def watch(self, loader: Any, name: str | None, site: str, make: Make) -> WatchedLoader | None:
        """The loader's numbering: its own, that of a loader whose job it continues, or a new one.

        A loader that a program creates for each epoch continues where the last one ended, so there is one
        ``train`` and not a hundred. ``None``: too many are watched.
        """
        with self._lock:
            known = self._by_id.get(id(loader))
            if known is not None and known.has(loader):
                return known.watched
            job = (name, site, "" if name is not None else kind_of(loader))
            earlier = next((entry for entry in self._entries if _continues(loader, job, entry)), None)
            if earlier is None and is_resumed(loader):
                earlier = self._find_left(loader, job)
            if earlier is not None:
                self._forget(earlier)
            elif len(self._entries) >= WATCHED_LOADERS:
                return None
            watched = earlier.watched if earlier is not None else make(self._free_index(), self._free_name(name))
            self._remember(make_entry(job, loader, watched, earlier.living() if earlier is not None else {}))
            return watched

    def watched(self) -> list[WatchedLoader]:
        return [entry.watched for entry in self._entries]

    def _adopt(self, loader: Any) -> WatchedLoader | None:
        with self._lock:
            original = next((entry for entry in self._entries if _is_made_from(loader, entry)), None)
            if original is None:
                return None
            original.copies = {known: copy for known, copy in original.copies.items() if copy() is not None}
            original.copies[id(loader)] = weakref.ref(loader)
            self._by_id[id(loader)] = original
            return original.watched

    def _find_left(self, loader: Any, job: Job) -> Entry | None:
        """The loader whose state this one was given, which another line may have iterated, over a data set of the same
        kind. ``None``: there is none, or there are several."""
        name, _, kind = job
        left = [each for each in self._entries if each.watched.steps and (each.job[0], each.job[2]) == (name, kind)]
        left = [each for each in left if _loads_same_data(loader, each)] or left
        return left[0] if len(left) == 1 else None

    def _remember(self, entry: Entry) -> None:
        self._entries.append(entry)
        self._by_id |= dict.fromkeys(entry.loaders, entry)

    def _forget(self, entry: Entry) -> None:
        self._entries.remove(entry)
        self._by_id = {known: other for known, other in self._by_id.items() if other is not entry}

    def _free_index(self) -> int:
        return max((entry.watched.index for entry in self._entries), default=-1) + 1

    def _free_name(self, name: str | None) -> str:
        """``loader-1``, ``loader-2`` …; a name that is taken gets a number: ``train``, ``train-2``."""
        taken = {entry.watched.name for entry in self._entries}
        if name is None:
            candidates = (f"loader-{number}" for number in range(1, WATCHED_LOADERS + 2))
        else:
            candidates = (name if number == 1 else f"{name}-{number}" for number in range(1, WATCHED_LOADERS + 2))
        return next(candidate for candidate in candidates if candidate not in taken)


def make_entry(job: Job, loader: Any, watched: WatchedLoader, earlier: Mapping[int, weakref.ref[Any]]) -> Entry:
    """A data set that cannot be held weakly, such as a plain list, is not recognised again."""
    loaders = {**earlier, id(loader): weakref.ref(loader)}
    return Entry(job, watched, weakly(dataset_of(loader)), _collate_id(loader), loaders, watched.iterators)


def _continues(loader: Any, job: Job, entry: Entry) -> bool:
    """Whether the loader continues the entry's. Frameworks keep loaders that they no longer use: one that lives is
    replaced by one from the same line over the same data, if it has given batches."""
    if job == entry.job and entry.watched.steps and _loads_same_data(loader, entry):
        return True
    if entry.living():
        return False
    if job[0] is not None:
        return job[0] == entry.job[0]
    return job == entry.job and (_loads_same_data(loader, entry) or _dataset(entry) is None)


def _is_made_from(loader: Any, entry: Entry) -> bool:
    is_other = entry.was_iterated and not is_resumed(loader)
    return not is_other and _loads_same_data(loader, entry) and _collate_id(loader) == entry.collate_id


def is_resumed(loader: Any) -> bool:
    """Whether its next iterator goes on where another one was left: torchdata's, with the state of that one."""
    return attributes_of(loader).get("next_iter_state") is not None


def _collate_id(loader: Any) -> int:
    return id(attributes_of(loader).get("collate_fn"))


def _loads_same_data(loader: Any, entry: Entry) -> bool:
    dataset, loaded = _dataset(entry), dataset_of(loader)
    if type(loaded).__name__ == "IterableDatasetShard":  # Accelerate's, around the program's own
        loaded = attributes_of(loaded).get("dataset")
    return dataset is not None and dataset is loaded


def _dataset(entry: Entry) -> Any:
    return entry.dataset() if entry.dataset is not None else None


def kind_of(loader: Any) -> str:
    """Data set, order, batch size, and whether it is for training: what distinguishes the loaders that a
    framework iterates for one line of a program. None of the program's code runs."""
    import torch

    attributes = attributes_of(described(loader))
    dataset, sampler = type(attributes.get("dataset")).__qualname__, [None, *samplers_of(loader)][-1]
    shuffle = attributes_of(sampler).get("shuffle", attributes.get("shuffle"))
    size = attributes.get("batch_size", attributes.get("bs"))
    return f"{dataset} {type(sampler).__qualname__} {shuffle} {size} {torch.is_grad_enabled()}"
