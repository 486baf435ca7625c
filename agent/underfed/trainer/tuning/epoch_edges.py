"""Where a loader begins a pass: the setting in use is put into it, so that torch itself constructs its iterator so.

Constructing an iterator takes a random number for its workers' seeds. Where torch would have used the workers that
there were, no number is taken from the program's generator.

Where the script has no workers, torch asks the sampler first at the program's first request, and a sampler draws its
random numbers then. So such a pass begins as the script has it, and the workers take over at that request.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from underfed.host.signal_handlers import let_through, passing
from underfed.trainer.settings.loader_parts import attributes_of
from underfed.trainer.tuning.feeders import Feeder, attributes_for, close, hand_over
from underfed.trainer.tuning.loader_setting import LoaderSetting, setting_of
from underfed.trainer.tuning.own_errors import copied
from underfed.trainer.tuning.switching import Switched, forget, switched_of

WARNS = "check_worker_number_rationality"
NOTHING = object()

MAP_STYLE = 0
"""Torch's ``_DatasetKind.Map``."""

REMEMBERED = 8
"""Loaders: a program may construct one for each epoch."""


class _Own:
    """How the program constructed a loader."""

    def __init__(self, loader: Any) -> None:
        self.loader = weakref.ref(loader)
        self.workers: int = loader.num_workers
        self.persistent = bool(loader.persistent_workers)
        self.context = loader.multiprocessing_context
        self.has_begun = False
        """Its first pass: from then on torch uses persistent workers again."""


class AskedOnce:
    """A sampler's iterator that was asked once already. What it raised by that it raises at the first request."""

    def __init__(self, sampler: Iterator[Any]) -> None:
        self._sampler = sampler
        self._given: list[Any] = []
        self._raised: Exception | None = None
        try:
            self._given.append(copied(next(sampler)))
        except Exception as error:
            let_through(error)
            self._raised = error

    def __iter__(self) -> AskedOnce:
        return self

    def __next__(self) -> Any:
        if self._given:
            return self._given.pop()
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised
        return next(self._sampler)


class EpochEdges:
    """Of one tuned loader, and those that the program constructs in its place."""

    def __init__(self) -> None:
        self._own: dict[int, _Own] = {}
        self._iterating: weakref.ref[Any] | None = None
        self._lent: list[tuple[weakref.ref[Any], str, Any]] = []
        """Attributes of a loader while torch constructs its iterator, and what stood there."""

    def iterating(self) -> Any:
        """The loader that began a pass last; ``None``: it is gone."""
        return self._iterating() if self._iterating is not None else None

    def asked_once(self, loader: Any, iterator: Any) -> None:
        """Where the script has workers torch asks the sampler ahead as a pass begins, and a sampler draws its random
        numbers then. So it does where the pass begins without workers."""
        if self._own_of(loader).workers and not iterator._num_workers and iterator._dataset_kind == MAP_STYLE:
            iterator._sampler_iter = AskedOnce(iterator._sampler_iter)

    def begin(self, loader: Any, setting: LoaderSetting | None) -> None:
        """Before torch creates or resets an iterator. ``setting`` ``None``: as the program has it."""
        self.begun()
        own = self._own_of(loader)
        was_begun, own.has_begun = own.has_begun, True
        self._iterating = weakref.ref(loader)
        if setting is None or (not own.workers and loader._dataset_kind == MAP_STYLE):
            return
        kept = attributes_of(loader).get("_iterator")
        iterator = self._iterator_for(kept, setting) if kept is not None else None
        vars(loader).update(changed_attributes(loader, own, setting))
        if kept is not None and iterator is not kept:
            loader._iterator = iterator
        if own.persistent and was_begun and iterator is None:
            self._lend(loader, "generator", _own_generator())
        if setting.num_workers > own.workers:
            # Torch would warn of more workers than cores. They are measured, and no line of the program asks for them.
            self._lend(loader, WARNS, _warns_of_nothing)

    def begun(self) -> None:
        """The iterator is constructed, or will not be."""
        lent, self._lent = self._lent, []
        for known, name, value in lent:
            if (loader := known()) is None:
                continue
            if value is NOTHING:
                vars(loader).pop(name, None)
            else:
                vars(loader)[name] = value

    def _own_of(self, loader: Any) -> _Own:
        own = self._own.get(id(loader))
        if own is None or own.loader() is not loader:
            self._own.pop(id(loader), None)
            while len(self._own) >= REMEMBERED:
                del self._own[next(iter(self._own))]
            own = self._own[id(loader)] = _Own(loader)
        return own

    def _iterator_for(self, kept: Any, setting: LoaderSetting) -> Any:
        """Of the persistent iterators of the pass before, the one that has this setting; the others end."""
        switched = switched_of(kept)
        if switched is None:
            known = [Feeder(setting_of(kept, setting.threads_per_worker), kept)]
        else:
            known = feeders_of(switched, kept)
            forget(kept)
        # One that has handed out nothing yet has no session that goes on.
        begun = [each for each in known if each.session is not None or each.iterator is kept]
        fitting = [each for each in begun if each.setting == setting and each.setting.num_workers]
        chosen = next((each for each in fitting if each.is_usable(kept)), None)
        for each in known:
            if each is not chosen:
                close(each)
        if chosen is None:
            return None
        forget(chosen.iterator)
        hand_over(chosen)
        return chosen.iterator

    def _lend(self, loader: Any, name: str, value: Any) -> None:
        self._lent.append((weakref.ref(loader), name, vars(loader).get(name, NOTHING)))
        vars(loader)[name] = value


def _own_generator() -> Any:
    import torch

    return torch.Generator()


def _warns_of_nothing() -> None:
    """In place of a method of the loader's."""


def feeders_of(switched: Switched, own: Any) -> list[Feeder]:
    """All that load or have loaded for an iterator, which is one of them."""
    active, successor, _ = switched.state
    found = {
        id(each): each for each in (successor, active, *switched.parked.values(), switched.own) if each is not None
    }
    for each in found.values():
        each.iterator = each.of(own)
    return list(found.values())


def changed_attributes(loader: Any, own: _Own, setting: LoaderSetting) -> dict[str, Any]:
    """Those of the loader that are to be others. What its class computes stays."""
    wanted = attributes_for(setting)
    del wanted["in_order"]
    if setting.pin_memory == bool(loader.pin_memory):
        wanted["pin_memory"] = loader.pin_memory
    wanted["persistent_workers"] = own.persistent and setting.num_workers > 0
    context = wanted.pop("multiprocessing_context", own.context)
    contexts = [name for name in vars(loader) if name.endswith("__multiprocessing_context")]
    wanted |= dict.fromkeys(contexts, context)
    return {name: value for name, value in wanted.items() if not isinstance(_of_class(loader, name), property)}


def _of_class(loader: Any, name: str) -> Any:
    with passing(Exception):
        return getattr(type(loader), name, None)
    return None
