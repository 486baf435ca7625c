"""The patches on torch's DataLoader iterators: put in, checked against what this torch has, and taken out again."""

from __future__ import annotations

import platform
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from underfed.hooks.loader import KEY, wrap_get_data, wrap_init, wrap_next, wrap_reset
from underfed.hooks.registry import Registry
from underfed.hooks.session import Session
from underfed.hooks.worker import ARGUMENTS, WorkerEntry, parameter_names

BATCH_FACTS = ("load_us", "cpu_us", "runqueue_us", "blocked_us", "collate_us", "asked_bytes", "read_bytes", "samples")
PROC_FACTS = ("runqueue_us", "blocked_us", "asked_bytes", "read_bytes")


@dataclass(frozen=True, slots=True)
class Patch:
    """One attribute replaced."""

    owner: Any
    name: str
    original: Any
    replacement: Any

    def undo(self) -> None:
        """Not where someone has patched on top of us: theirs stays, and ours below it passes through."""
        if vars(self.owner).get(self.name) is self.replacement:
            setattr(self.owner, self.name, self.original)


class Hooks:
    """Installed while anything is watched. Only iterators of loaders in ``registry`` get a session."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.not_measured: dict[str, str] = {}
        """What this torch or system cannot tell, with the reason."""
        self.is_installed = False
        self._patches: list[Patch] = []
        self._recorded: weakref.WeakSet[Any] = weakref.WeakSet()

    def install(self) -> None:
        """Raises nothing for a torch that lacks something: that becomes a reason in ``not_measured``."""
        import torch
        from torch.utils.data import dataloader
        from torch.utils.data._utils import worker

        def wrap_first(original: Any) -> Any:
            return wrap_init(original, self._open)

        self.is_installed = True
        self.not_measured = system_limits()
        multiple = getattr(dataloader, "_MultiProcessingDataLoaderIter", None)
        single = getattr(dataloader, "_SingleProcessDataLoaderIter", None)
        wanted: list[tuple[Any, str, Callable[[Any], Any], tuple[str, ...]]] = [
            (getattr(dataloader, "_BaseDataLoaderIter", None), "__next__", wrap_next, ("data_wait_us", "step_us")),
            (single, "__init__", wrap_first, ("data_wait_us", "step_us")),
            (multiple, "__init__", wrap_first, ("data_wait_us", "step_us")),
            (multiple, "_reset", wrap_reset, ("epochs",)),
            (multiple, "_get_data", wrap_get_data, ("received_us",)),
            (worker, "_worker_loop", wrap_worker_loop, BATCH_FACTS),
        ]
        for owner, name, wrap, facts in wanted:
            if not self._patch(owner, name, wrap):
                reason = f"torch {torch.__version__} has no {name} as we know it"
                self.not_measured |= dict.fromkeys(facts, reason)

    def remove(self) -> None:
        """Everything as it was; live iterators go on unrecorded."""
        for patch in reversed(self._patches):
            patch.undo()
        self._patches.clear()
        for iterator in list(self._recorded):
            iterator.__dict__.pop(KEY, None)

    def _patch(self, owner: Any, name: str, wrap: Callable[[Any], Any]) -> bool:
        original = vars(owner).get(name) if owner is not None else None
        replacement = wrap(original) if callable(original) else None
        if replacement is None:
            return False
        if not isinstance(replacement, WorkerEntry):
            for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
                setattr(replacement, attribute, getattr(original, attribute, None))
            replacement.__wrapped__ = original
        setattr(owner, name, replacement)
        self._patches.append(Patch(owner, name, original, replacement))
        return True

    def _open(self, iterator: Any, loader: Any) -> Session | None:
        """A session for an iterator of a watched loader. Called on the training thread, outside its hot path."""
        watched = self.registry.find(loader)
        if watched is None:
            return None
        try:
            session = watched.open()
            iterator.__dict__[KEY] = session
            self._recorded.add(iterator)
        except Exception as error:
            iterator.__dict__.pop(KEY, None)
            watched.guard.failed("iterator start", error)
            return None
        return session


def wrap_worker_loop(original: Any) -> WorkerEntry | None:
    """``None`` for a loop without the parameters we rely on."""
    return WorkerEntry(original) if set(ARGUMENTS) <= set(parameter_names(original)) else None


def foreign_iterator(loader: Any) -> dict[str, str]:
    """Why nothing is recorded of a loader class that makes iterators of its own kind."""
    from torch.utils.data import DataLoader

    kind = type(loader)
    if getattr(kind, "_get_iterator", None) is getattr(DataLoader, "_get_iterator", None):
        return {}
    return dict.fromkeys(("data_wait_us", "step_us"), f"{kind.__name__} may make iterators that are not torch's own")


def system_limits() -> dict[str, str]:
    """What this operating system does not tell, whatever torch has."""
    limits: dict[str, str] = {}
    if not Path("/proc/thread-self/schedstat").exists():
        limits |= dict.fromkeys(PROC_FACTS, f"{platform.system()} has no /proc to read it from")
    if platform.system() == "Darwin":
        limits["queue_depth"] = "macOS cannot count the items of a queue"
    return limits
