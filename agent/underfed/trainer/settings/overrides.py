"""``--set``: other settings for the loader that a program trains from, put in as it begins to iterate."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing import current_process
from typing import Any

from underfed.exchange import launch
from underfed.exchange.config import Value
from underfed.exchange.guard import Guard
from underfed.exchange.launch import Say, first_rank_only
from underfed.host.signal_handlers import let_through
from underfed.trainer.settings.loader_parts import dataset_of
from underfed.trainer.settings.sharding import Sharding
from underfed.trainer.settings.training_loaders import TrainingLoaders
from underfed.trainer.settings.tunable import NAMES, format_value, needs_workers, parse_settings
from underfed.trainer.settings.verified_sharding import VerifiedSharding

PREFETCH_FACTOR = 2
"""What ``DataLoader.__init__`` takes where none is given, with workers."""

WhyUnshared = Callable[[Any, int], "str | None"]
"""Called with a loader of an iterable data set and a number of workers: why these must not be; ``None``: they may."""

NOT_YET = "no training loader was iterated"


@dataclass(frozen=True, slots=True)
class Decision:
    """What is applied and refused of the settings at one loader."""

    accepted: dict[str, Value] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    """Of the loader, as ``DataLoader.__init__`` would have set them."""


class Overrides:
    """For one process. Called on the training thread, before a loader creates or resets an iterator."""

    def __init__(self, settings: Mapping[str, Value], say: Say) -> None:
        self.applied: dict[str, Value] = {}
        self.refused: dict[str, str] = dict.fromkeys(settings, NOT_YET)
        self.changed: Callable[[], None] | None = None
        """Called when ``applied`` or ``refused`` have changed."""
        self._settings = dict(settings)
        self._say = say
        self._said: set[str] = set()
        self._training = TrainingLoaders()
        self._sharding = VerifiedSharding()
        self._settled: dict[int, tuple[weakref.ref[Any], Decision | None]] = {}

    def before_iter(self, loader: Any) -> None:
        """Apply the settings once to each loader, before its first iterator. Raises nothing."""
        settled = self._settled.get(id(loader))
        is_known = settled is not None and settled[0]() is loader
        if settled is not None and is_known and settled[1] is not None:
            return
        try:
            is_training = self._training.has(loader)
            decision = self._settle(loader, was_iterated=is_known) if is_training else None
            self._settled[id(loader)] = weakref.ref(loader), decision
        except Exception as error:
            let_through(error)
            decision = Decision(refused=dict.fromkeys(self._settings, f"{type(error).__name__}: {error}"))
            self._record(loader, decision, {})
            self._settings.clear()

    def threads_for(self, loader: Any) -> int | None:
        """How many threads each worker of this loader may use; ``None``: what torch gives it."""
        settled = self._settled.get(id(loader))
        decision = settled[1] if settled is not None and settled[0]() is loader else None
        count = decision.accepted.get("threads_per_worker") if decision is not None else None
        return count if isinstance(count, int) else None

    def sharding_of(self, loader: Any) -> Sharding | None:
        """What was verified of its data set; ``None``: nothing."""
        return self._sharding.found(dataset_of(loader))

    def _settle(self, loader: Any, *, was_iterated: bool) -> Decision:
        decision = decide(loader, self._settings, self._sharding.why_not, was_iterated=was_iterated)
        before = {name: vars(loader).get(name) for name in decision.attributes}
        vars(loader).update(decision.attributes)
        self._record(loader, decision, before)
        return decision

    def _record(self, loader: Any, decision: Decision, before: Mapping[str, Value]) -> None:
        known = dict(self.applied), self.refused
        self.applied |= decision.accepted
        self.refused = {name: why for name, why in self.refused.items() if why != NOT_YET} | decision.refused
        for name, why in decision.refused.items():
            self._say_once(f"--set {name}={format_value(self._settings[name])} is refused: {why}")
        accepted = decision.accepted.items()
        changes = [f"{name} {_was(before, name, value)}{format_value(value)}" for name, value in accepted]
        if changes:
            self._say_once(f"the loader of {type(loader.dataset).__name__} trains with {', '.join(changes)}")
        launch.report(os.environ, launch.SETTLED)
        if self.changed is not None and known != (self.applied, self.refused):
            try:
                self.changed()
            except Exception as error:
                let_through(error)
                Guard().failed("overrides", error)

    def _say_once(self, line: str) -> None:
        """A program may create its loader again for each epoch."""
        if line not in self._said:
            self._said.add(line)
            self._say(line)


def read_overrides(environ: Mapping[str, str], say: Say) -> Overrides | None:
    """The launcher's options, which it validated; ``None`` without ``--set`` and ``--apply``."""
    words = environ.get(launch.SET)
    return Overrides(parse_settings(words.split(",")), first_rank_only(environ, say)) if words else None


def decide(loader: Any, settings: Mapping[str, Value], why_unshared: WhyUnshared, *, was_iterated: bool) -> Decision:
    """Decide for a loader that is trained from. Changes nothing of it."""
    kept = why_kept(loader, was_iterated=was_iterated)
    if kept is not None:
        return Decision(refused=dict.fromkeys(settings, kept))
    decision = Decision()
    workers = loader.num_workers
    # The number of workers first, since other settings depend on it.
    for name in sorted(settings, key=NAMES.index):
        value = settings[name]
        why = why_refused(loader, name, value, workers, why_unshared)
        if why is not None:
            decision.refused[name] = why
            continue
        decision.accepted[name] = value
        if name == "num_workers":
            workers = value
        if name != "threads_per_worker":
            decision.attributes[name] = value
    if "num_workers" in decision.accepted and not workers:
        decision.attributes.update(without_workers(loader))
    elif "num_workers" in decision.accepted:
        decision.attributes.setdefault("prefetch_factor", loader.prefetch_factor or PREFETCH_FACTOR)
    return decision


def without_workers(loader: Any) -> dict[str, Value]:
    """A start method without workers would be refused where a framework creates the loader again."""
    contexts = [name for name in vars(loader) if name.endswith("__multiprocessing_context")]
    return {"prefetch_factor": None, "persistent_workers": False, **dict.fromkeys(contexts)}


def why_kept(loader: Any, *, was_iterated: bool) -> str | None:
    from torch.utils.data.dataloader import _BaseDataLoaderIter

    if any(isinstance(value, _BaseDataLoaderIter) for value in vars(loader).values()):
        return f"this {type(loader).__name__} keeps an iterator that was created before"
    return "the loader was iterated before, without gradients" if was_iterated else None


def why_refused(loader: Any, name: str, value: Any, workers: int, why_unshared: WhyUnshared) -> str | None:
    """``workers``: as many as the loader will have."""
    if isinstance(getattr(type(loader), name, None), property):
        return f"{type(loader).__name__} computes it itself"
    if name == "num_workers":
        return why_not_so_many(loader, value, why_unshared)
    if not workers and needs_workers(name, value):
        return "the loader has no workers"
    if name == "in_order" and not hasattr(loader, "in_order"):
        return f"torch {sys.modules['torch'].__version__} has no in_order, 2.6 has"
    if name == "pin_memory" and value and not has_accelerator():
        return "there is no accelerator to copy to"
    return None


def why_not_so_many(loader: Any, workers: int, why_unshared: WhyUnshared) -> str | None:
    from torch.utils.data import IterableDataset

    if not workers:
        return "its timeout needs workers" if loader.timeout else None
    if not loader.num_workers and current_process().daemon:
        return "this process may not start others"
    # One worker loads the same as none.
    if workers > max(loader.num_workers, 1) and isinstance(loader.dataset, IterableDataset):
        return why_unshared(loader, workers)
    return None


def has_accelerator() -> bool:
    """As torch's iterators ask before they pin."""
    import torch

    accelerator = getattr(torch, "accelerator", None)
    return bool(accelerator.is_available() if accelerator is not None else torch.cuda.is_available())


def _was(before: Mapping[str, Value], name: str, value: Value) -> str:
    was = before.get(name)
    return f"{format_value(was)} → " if name in before and was != value else ""
