"""``--set`` and ``--apply``: other settings for the loaders that a program trains from, or for a single one, put in as
it begins to iterate."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
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
from underfed.trainer.settings.tunable import NAMES, format_value, needs_workers
from underfed.trainer.settings.verified_sharding import VerifiedSharding
from underfed.trainer.settings.wanted import NOT_FOUND, Identity, Wanted, decode, labelled

PREFETCH_FACTOR = 2
"""What ``DataLoader.__init__`` takes where none is given, with workers."""

WhyUnshared = Callable[[Any, int], "str | None"]
"""Called with a loader of an iterable data set and a number of workers: why these must not be; ``None``: they may."""

Identify = Callable[[Any], "tuple[str, Identity] | None"]
"""Called with a loader that is about to be iterated: its name in the run, and what else it is known by. ``None``: it is
not recorded."""

NOT_YET = "no training loader was iterated"
MAY_NOT_START = "this process may not start others"
OF_ALL = ""
"""Reported to the launcher for settings of all training loaders, where a loader's name is for those of one."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What is applied and refused of the settings at one loader."""

    accepted: dict[str, Value] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    """Of the loader, as ``DataLoader.__init__`` would have set them."""


@dataclass(frozen=True, slots=True)
class AskedSettings:
    """What is asked of one loader."""

    settings: dict[str, Value]
    own: Wanted | None = None
    """The part of it that is asked of no other."""

    def label(self, name: str) -> str:
        """As ``--set`` names it."""
        return f"{self.own.loader}.{name}" if self.own is not None and name in self.own.settings else name


class Overrides:
    """For one process. Called on the training thread, before a loader creates or resets an iterator."""

    def __init__(self, settings: Mapping[str, Value], say: Say, wanted: Sequence[Wanted] = ()) -> None:
        """``settings``: of every loader that is trained from. ``wanted``: of single ones, beside these."""
        self.applied: dict[str, Value] = {}
        self.refused: dict[str, str] = dict.fromkeys(settings, NOT_YET)
        for each in wanted:
            self.refused |= dict.fromkeys(labelled(each.loader, each.settings), NOT_FOUND)
        self.changed: Callable[[], None] | None = None
        """Called when ``applied`` or ``refused`` have changed."""
        self.identify: Identify = lambda _loader: None
        self._settings = dict(settings)
        self._wanted = tuple(wanted)
        self._say = say
        self._said: set[str] = set()
        self._reported: set[str] = set()
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
            found = self._asked_of(loader)
            decision = self._settle(loader, found, was_iterated=is_known) if found is not None else None
            self._settled[id(loader)] = weakref.ref(loader), decision
        except Exception as error:
            let_through(error)
            decision = Decision(refused=dict.fromkeys(self._settings, f"{type(error).__name__}: {error}"))
            self._record(loader, AskedSettings(dict(self._settings)), decision, {})
            self._settings.clear()
            self._wanted = ()

    def set_of(self, loader: Any) -> Mapping[str, Value]:
        """What was set from outside of this loader."""
        settled = self._settled.get(id(loader))
        decision = settled[1] if settled is not None and settled[0]() is loader else None
        return decision.accepted if decision is not None else {}

    def sharding_of(self, loader: Any) -> Sharding | None:
        """What was verified of its data set; ``None``: nothing."""
        return self._sharding.found(dataset_of(loader))

    def _asked_of(self, loader: Any) -> AskedSettings | None:
        """``None``: nothing is asked of this one."""
        of_all = self._settings if self._settings and self._training.has(loader) else {}
        own = self._own_of(loader) if self._wanted else None
        if own is None:
            return AskedSettings(dict(of_all)) if of_all else None
        return AskedSettings({**of_all, **own.settings}, own)

    def _own_of(self, loader: Any) -> Wanted | None:
        """What is wanted of this one alone. Says why where only its name is the one that is meant."""
        known = self.identify(loader)
        own = next((each for each in self._wanted if known is not None and each.loader == known[0]), None)
        why = own.why_not(known[1]) if own is not None and known is not None else None
        if own is None or why is None:
            return own
        self._say_once(f"{why}: nothing is set")
        self.refused |= dict.fromkeys(labelled(own.loader, own.settings), why)
        self._report_settled(own.loader)
        self._report_changed()
        return None

    def _settle(self, loader: Any, asked: AskedSettings, *, was_iterated: bool) -> Decision:
        decision = decide(loader, asked.settings, self._sharding.why_not, was_iterated=was_iterated)
        before = {name: vars(loader).get(name) for name in decision.attributes}
        vars(loader).update(decision.attributes)
        self._record(loader, asked, decision, before)
        return decision

    def _record(self, loader: Any, asked: AskedSettings, decision: Decision, before: Mapping[str, Value]) -> None:
        known = dict(self.applied), self.refused
        self.applied |= {asked.label(name): value for name, value in decision.accepted.items()}
        done = {asked.label(name) for name in asked.settings}
        left = {name: why for name, why in self.refused.items() if why not in (NOT_YET, NOT_FOUND) or name not in done}
        self.refused = left | {asked.label(name): why for name, why in decision.refused.items()}
        for name, why in decision.refused.items():
            self._say_once(f"--set {asked.label(name)}={format_value(asked.settings[name])} is refused: {why}")
        accepted = decision.accepted.items()
        changes = [f"{name} {_was(before, name, value)}{format_value(value)}" for name, value in accepted]
        if changes:
            over = type(loader.dataset).__name__
            who = f"the loader of {over} trains" if asked.own is None else f"{asked.own.loader}, over {over}, is used"
            self._say_once(f"{who} with {', '.join(changes)}")
        self._report_settled(asked.own.loader if asked.own is not None else OF_ALL)
        if known != (self.applied, self.refused):
            self._report_changed()

    def _report_settled(self, of: str) -> None:
        if of not in self._reported:
            self._reported.add(of)
            launch.report(os.environ, launch.SETTLED, of)

    def _report_changed(self) -> None:
        if self.changed is not None:
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
    encoded = environ.get(launch.SET)
    if not encoded:
        return None
    of_all, wanted = decode(encoded)
    return Overrides(of_all, first_rank_only(environ, say), wanted)


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
    """Without what torch refuses where there are none, also where a framework creates the loader again."""
    contexts = [name for name in vars(loader) if name.endswith("__multiprocessing_context")]
    return {"prefetch_factor": None, "persistent_workers": False, "timeout": 0, **dict.fromkeys(contexts)}


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
        return None
    if not loader.num_workers and current_process().daemon:
        return MAY_NOT_START
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
