"""Which loaders are watched: known by identity and held weakly, so that nothing is added to a loader."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from underfed.hooks.session import WatchedLoader

WATCHED_LOADERS = 32
"""8 MB of rings. A program that watches more re-creates them faster than it lets go of them."""

Make = Callable[[int, str], WatchedLoader]
"""Called with a loader's number and name."""


@dataclass(frozen=True, slots=True)
class Entry:
    """``asked``: the name the user gave, or the line that watched a nameless one; the same again is the same job."""

    asked: tuple[str, str]
    loader_id: int
    loader: weakref.ref[Any]
    dataset: weakref.ref[Any] | None
    collate_id: int
    watched: WatchedLoader


class Registry:
    """Names and finds watched loaders. Threads may watch at the same time."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._by_id: dict[int, Entry] = {}
        self._lock = threading.Lock()

    def find(self, loader: Any) -> WatchedLoader | None:
        """Also for a loader that a framework made anew from a watched one which has drawn nothing itself.

        Lightning and Accelerate do so to put in a sampler of theirs: same data set, same collate function, and the
        original is never iterated.
        """
        entry = self._by_id.get(id(loader))
        if entry is not None and entry.loader() is loader:
            return entry.watched
        return self._adopt(loader) if self._entries else None

    def watch(self, loader: Any, name: str | None, site: str, make: Make) -> WatchedLoader | None:
        """The loader's numbering: its own, that of a gone loader it replaces, or a new one.

        A loader that a program makes anew for each epoch goes on where the last one ended, so there is one
        ``train`` and not a hundred. ``None``: too many are watched.
        """
        with self._lock:
            known = self._by_id.get(id(loader))
            if known is not None and known.loader() is loader:
                return known.watched
            asked = ("name", name) if name is not None else ("site", site)
            gone = next((entry for entry in self._entries if entry.asked == asked and entry.loader() is None), None)
            if gone is not None:
                self._forget(gone)
            elif len(self._entries) >= WATCHED_LOADERS:
                return None
            watched = gone.watched if gone is not None else make(self._free_index(), self._free_name(name))
            self._remember(make_entry(asked, loader, watched))
            return watched

    def _adopt(self, loader: Any) -> WatchedLoader | None:
        with self._lock:
            original = next((entry for entry in self._entries if _is_made_from(loader, entry)), None)
            if original is None:
                return None
            self._forget(original)
            self._remember(make_entry(original.asked, loader, original.watched))
            return original.watched

    def _remember(self, entry: Entry) -> None:
        self._entries.append(entry)
        self._by_id[entry.loader_id] = entry

    def _forget(self, entry: Entry) -> None:
        self._entries.remove(entry)
        self._by_id.pop(entry.loader_id, None)

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


def make_entry(asked: tuple[str, str], loader: Any, watched: WatchedLoader) -> Entry:
    """A data set that cannot be held weakly, such as a plain list, is not known again."""
    try:
        attributes = object.__getattribute__(loader, "__dict__")  # a stand-in has none, and would give the original's
        dataset = weakref.ref(attributes["dataset"])
    except (AttributeError, KeyError, TypeError):
        attributes, dataset = {}, None
    return Entry(asked, id(loader), weakref.ref(loader), dataset, id(attributes.get("collate_fn")), watched)


def _is_made_from(loader: Any, entry: Entry) -> bool:
    if entry.dataset is None or entry.watched.iterators:
        return False
    dataset = entry.dataset()
    return dataset is not None and dataset is loader.dataset and id(loader.collate_fn) == entry.collate_id
