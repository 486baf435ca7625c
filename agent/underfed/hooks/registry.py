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


@dataclass(frozen=True, slots=True)
class Entry:
    """``asked``: the name the user gave, or the line that watched a nameless one; the same again is the same job."""

    asked: tuple[str, str]
    loader_id: int
    loader: weakref.ref[Any]
    watched: WatchedLoader


class Registry:
    """Names and finds watched loaders. Threads may watch at the same time."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._by_id: dict[int, Entry] = {}
        self._lock = threading.Lock()

    def find(self, loader: Any) -> WatchedLoader | None:
        entry = self._by_id.get(id(loader))
        return entry.watched if entry is not None and entry.loader() is loader else None

    def watch(
        self, loader: Any, name: str | None, site: str, make: Callable[[int, str], WatchedLoader]
    ) -> WatchedLoader | None:
        """The loader's numbering: its own, that of a gone loader it replaces, or a new one.

        A loader that a program makes anew for each epoch goes on where the last one ended, so there is one
        ``train`` and not a hundred. ``None``: too many are watched.
        """
        with self._lock:
            if (known := self.find(loader)) is not None:
                return known
            asked = ("name", name) if name is not None else ("site", site)
            gone = next((entry for entry in self._entries if entry.asked == asked and entry.loader() is None), None)
            if gone is not None:
                self._entries.remove(gone)
                self._by_id.pop(gone.loader_id, None)
            elif len(self._entries) >= WATCHED_LOADERS:
                return None
            watched = gone.watched if gone is not None else make(len(self._entries), self._free_name(name))
            entry = Entry(asked, id(loader), weakref.ref(loader), watched)
            self._entries.append(entry)
            self._by_id[id(loader)] = entry
            return watched

    def _free_name(self, name: str | None) -> str:
        """``loader-1``, ``loader-2`` …; a name that is taken gets a number: ``train``, ``train-2``."""
        taken = {entry.watched.name for entry in self._entries}
        if name is None:
            candidates = (f"loader-{number}" for number in range(1, WATCHED_LOADERS + 2))
        else:
            candidates = (name if number == 1 else f"{name}-{number}" for number in range(1, WATCHED_LOADERS + 2))
        return next(candidate for candidate in candidates if candidate not in taken)
