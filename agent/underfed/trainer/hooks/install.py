"""The changes to torch's DataLoader: installed where this torch has what they change, and undone."""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from underfed.exchange.facts import SourceLine
from underfed.exchange.guard import Guard
from underfed.host.signal_handlers import let_through
from underfed.trainer.attached import attached
from underfed.trainer.call_sites import Site
from underfed.trainer.hooks.callbacks import Callbacks, OpenSession
from underfed.trainer.hooks.requests import Requests
from underfed.trainer.hooks.session import KEY
from underfed.trainer.hooks.uncompiled import LeftUncompiled, leave_ours_uncompiled, leave_uncompiled
from underfed.trainer.hooks.watched_loader import COPY_FACTS, DEVICE_FACTS
from underfed.trainer.loading.collate import splice_fetchers
from underfed.trainer.loading.worker import ARGUMENTS, WorkerEntry, parameter_names
from underfed.trainer.settings.constructions import source_line
from underfed.trainer.splice import Added, Around, AtCall, Replaced, Spliced, add, splice, wrap
from underfed.trainer.tuning.switching import TUNED

if TYPE_CHECKING:
    from underfed.trainer.replay import Replay
    from underfed.trainer.settings.overrides import Overrides
    from underfed.trainer.tuning.tuner import Tuner

STEP_FACTS = ("data_wait_us", "step_us")
PROC_FACTS = ("runqueue_us", "blocked_us", "asked_bytes", "read_bytes")
WORKER_FACTS = ("load_us", "cpu_us", *PROC_FACTS, "samples", "collate_us")
LOADING_FACTS = (*WORKER_FACTS, "queue_depth", "received_us", "sampler_us", "pin_us")
"""What is recorded of a batch before the training loop has it."""

FREE_THREADED = (
    "this Python is a free-threaded build: another thread may run torch's functions while they are changed, "
    "and our counters rely on the interpreter lock"
)

NEXT = Around(("self",), "entered", "left", "stopped", is_taken_over=True)
NEXT_IN_REPLAY = Around(("self",), "entered", "left_in_replay", "stopped", instead="instead")
NEXT_IN_TUNING = Around(
    ("self",), "entered", "left_in_tuning", "stopped_in_tuning", instead="instead_in_tuning", is_boxed=True
)
INIT = Around(("self", "loader"), "constructing", "constructed", "not_constructed")
RESET = Around(("self",), "resetting", "reset", "not_reset")
RECEIVE = Around(("self",), "receiving", "received", is_taken_over=True)
SAMPLE = Around(("self",), "sampler_entered", "sampler_left", "sampler_raised", is_taken_over=True)
ITERATE = Around(("self",), "iterating")
CONSTRUCT = Around(("self", "dataset"), "constructing_loader")
PIN_HERE = AtCall("_utils.pin_memory.pin_memory", ("self",), "pinning_here", "pinned")
PIN_THREAD = AtCall("pin_memory", ("in_queue", "idx"), "pinning", "pinned")

WITH_ITERATOR: tuple[tuple[str, str, Around | AtCall, tuple[str, ...]], ...] = (
    ("_BaseDataLoaderIter", "__next__", NEXT, STEP_FACTS),
    ("_BaseDataLoaderIter", "_next_index", SAMPLE, ("sampler_us",)),
    ("_SingleProcessDataLoaderIter", "__init__", INIT, STEP_FACTS),
    ("_SingleProcessDataLoaderIter", "_next_data", PIN_HERE, ("pin_us",)),
    ("_MultiProcessingDataLoaderIter", "__init__", INIT, STEP_FACTS),
    ("_MultiProcessingDataLoaderIter", "_reset", RESET, ("epochs",)),
    ("_MultiProcessingDataLoaderIter", "_get_data", RECEIVE, ("received_us", "queue_depth")),
)
"""Class in torch.utils.data.dataloader, its method, the seam, and the facts that are not measured without it."""


Change = Spliced | Replaced | Added | LeftUncompiled

WRAPPED = "wrapped"
"""Among what is not measured: what stands there instead."""


class Hooks:
    """Changes torch while anything may be recorded. An iterator has a session if ``open_session`` returns one for its
    loader."""

    def __init__(
        self,
        open_session: OpenSession,
        overrides: Overrides | None,
        replay: Replay | None,
        tuner: Tuner | None = None,
    ) -> None:
        self.not_measured: dict[str, str] = {}
        """What cannot be measured with this torch or on this system, with the reason."""
        self.is_installed = False
        self._callbacks = Callbacks(open_session, overrides, replay, tuner=tuner)
        self._requests = Requests(replay, tuner)
        self._changes_loaders = overrides is not None or replay is not None or tuner is not None
        self._changes: list[Change] = []
        self._spliced_modules: set[str] = set()

    def install(self) -> None:
        """Change nothing on a free-threaded build. Raises nothing where torch lacks something: ``not_measured`` has the
        reason for both.
        """
        self.not_measured = system_limits()
        if is_free_threaded():
            self.not_measured |= dict.fromkeys((*STEP_FACTS, *LOADING_FACTS, *DEVICE_FACTS, *COPY_FACTS), FREE_THREADED)
            return
        self.is_installed = True
        try:
            self._install()
        except BaseException:
            # A signal handler of the program broke it off: next time all of it.
            self.remove()
            raise

    def _install(self) -> None:
        from torch.utils.data import dataloader
        from torch.utils.data._utils import pin_memory, worker

        leave_ours_uncompiled()
        self._take_what_was_left()
        if (iterators := getattr(dataloader, "_BaseDataLoaderIter", None)) is not None:
            self._changes += [add(iterators, KEY, None), add(iterators, TUNED, None)]
        self._spliced_modules.add(dataloader.__name__)
        for kind, method, seam, facts in WITH_ITERATOR:
            self._splice(getattr(dataloader, kind, None), method, self._next() if seam is NEXT else seam, facts)
        self._callbacks.sees_arrivals = "received_us" not in self.not_measured
        self._splice(pin_memory, "_pin_memory_loop", PIN_THREAD, ("pin_us",))
        fetchers = splice_fetchers()
        self._changes += fetchers
        if len(fetchers) < 2:
            self._lacks("its fetchers", ("collate_us", "samples"))
        if not self._replace_loop(worker):
            self._lacks("_worker_loop", WORKER_FACTS)
        if self._changes_loaders:
            self._splice(dataloader.DataLoader, "__iter__", ITERATE, ("overrides",))
        # Nothing is put around it: without it a loader's call is looked for by the line that watches it.
        constructor = splice(vars(dataloader.DataLoader).get("__init__"), CONSTRUCT, self._callbacks)
        if constructor is not None:
            self._changes.append(constructor)

    def tune(self, tuner: Tuner) -> None:
        """From now on other settings are tried, also of loaders that are watched already."""
        from torch.utils.data import dataloader

        self._callbacks.tuner = self._requests.tuner = tuner
        if not self.is_installed:
            return
        for change in [each for each in self._changes if is_next(each)]:
            self._changes.remove(change)
            change.undo()
        self._splice(dataloader._BaseDataLoaderIter, "__next__", self._next(), STEP_FACTS)
        if not self._changes_loaders:
            self._changes_loaders = True
            self._splice(dataloader.DataLoader, "__iter__", ITERATE, ("overrides",))

    def _next(self) -> Around:
        if self._requests.tuner is not None:
            return NEXT_IN_TUNING
        return NEXT if self._requests.replay is None else NEXT_IN_REPLAY

    def _take_what_was_left(self) -> None:
        """Of hooks before these: iterators that they switched go on."""
        while _left:
            tuner, changes = _left.pop()
            for change in reversed(changes):
                change.undo()
            if tuner.has_switched and self._requests.tuner is None:
                self._requests.tuner = tuner

    def splice_module(self, module: ModuleType) -> None:
        """Another package's own iterators, such as torchdata's: classes of this module that derive from torch's."""
        if not self.is_installed or module.__name__ in self._spliced_modules:
            return
        self._spliced_modules.add(module.__name__)
        for kind in list(vars(module).values()):
            if not isinstance(kind, type) or kind.__module__ != module.__name__:
                continue
            for method, seam in seams_of(kind, self._changes_loaders):
                if method in vars(kind):
                    self._splice(kind, method, seam, ())
                    self._leave_uncompiled(vars(kind)[method])
        if "_worker_loop" in vars(module):
            self._replace_loop(module)

    def splice_modules_of(self, loader: Any) -> None:
        """The modules in which the loader's own classes are defined."""
        for kind in type(loader).__mro__:
            if issubclass(kind, _torch("DataLoader")) and not kind.__module__.startswith("torch."):
                module = sys.modules.get(kind.__module__)
                if module is not None and module.__name__ != "__main__":
                    self.splice_module(module)

    @property
    def notes(self) -> dict[str, str]:
        """What the run says of how it was measured."""
        return {WRAPPED: self.not_measured[WRAPPED]} if WRAPPED in self.not_measured else {}

    def reasons(self, loader: Any) -> dict[str, str]:
        """What will not be measured of this loader, and why."""
        kind = type(loader)
        getter = getattr(kind, "_get_iterator", None)
        is_torchs = getter is _torch("DataLoader")._get_iterator
        is_known = getter is None or is_torchs or getattr(getter, "__module__", "") in self._spliced_modules
        # Without one it hands itself to torch's iterators, as fastai's stand-in does.
        foreign = f"{kind.__name__} may create iterators that are not torch's own"
        return {**self.not_measured, **({} if is_known else dict.fromkeys(STEP_FACTS, foreign))}

    def source_line(self, loader: Any, watched: Site | None = None) -> SourceLine | None:
        """Where the call that constructed it is found; ``watched``: the line that watches it. Raises nothing."""
        try:
            return source_line(loader, self._callbacks.constructions.site_of(loader), watched, os.environ)
        except Exception as error:
            let_through(error)
            Guard().failed("constructor", error)
            return None

    def adopt(self, loader: Any) -> bool:
        """Record the iterators that the loader has already, from now on. Returns whether one has workers."""
        if not self.is_installed:
            return False
        kept = [each for each in vars(loader).values() if isinstance(each, _torch("_BaseDataLoaderIter"))]
        unknown = [iterator for iterator in kept if attached(iterator, KEY) is None]
        for iterator in unknown:
            self._callbacks.adopt(iterator, loader)
        return any(attached(iterator, KEY) and iterator._num_workers > 0 for iterator in unknown)

    def remove(self) -> None:
        """Undo every change; live iterators continue unrecorded."""
        tuner = self._requests.tuner
        # What another iterator loads is handed out by torch's next() with our call in it, to the last batch.
        kept = tuner is not None and tuner.has_switched
        left = [each for each in self._changes if kept and (is_next(each) or isinstance(each, Added))]
        if tuner is not None and left:
            _left.append((tuner, left))
        for change in reversed(self._changes):
            if change not in left:
                change.undo()
        self._changes.clear()
        self._spliced_modules.clear()
        self.is_installed = False
        self.forget()

    def forget(self) -> None:
        """Stop recording live iterators."""
        self._callbacks.forget()

    def keep_worker_loop(self) -> None:
        """litdata puts a loop of its own into torch's module whenever it constructs an iterator: ours goes around
        it."""
        from torch.utils.data._utils import worker

        if self.is_installed and not isinstance(vars(worker).get("_worker_loop"), WorkerEntry):
            self._replace_loop(worker)

    def _splice(self, owner: Any, name: str, seam: Around | AtCall, facts: tuple[str, ...]) -> None:
        function = vars(owner).get(name) if owner is not None else None
        hooks = self._requests if name == "__next__" else self._callbacks
        spliced = splice(function, seam, hooks)
        change = spliced or (wrap(owner, name, seam, hooks) if owner is not None and isinstance(seam, Around) else None)
        if change is not None:
            self._changes.append(change)
        elif facts:
            self._lacks(name, facts)
        if isinstance(change, Replaced):
            self._wraps(f"{owner.__name__}.{name}")

    def _leave_uncompiled(self, function: Any) -> None:
        left = leave_uncompiled(function) if isinstance(function, FunctionType) else None
        if left is not None:
            self._changes.append(left)

    def _replace_loop(self, module: ModuleType) -> bool:
        original = vars(module).get("_worker_loop")
        if not callable(original) or not set(ARGUMENTS) <= set(parameter_names(original)):
            return False
        entry = original if isinstance(original, WorkerEntry) else WorkerEntry(original)
        module._worker_loop = entry  # type: ignore[attr-defined]
        self._changes.append(Replaced(module, "_worker_loop", original, entry))
        return True

    def _wraps(self, method: str) -> None:
        """What the run's notes say of it."""
        earlier = self.not_measured.get(WRAPPED)
        methods = f"{earlier.partition(': ')[0]}, {method}" if earlier else method
        self.not_measured[WRAPPED] = (
            f"{methods}: no source beside it is that of the code that runs, so our function is around it: tracebacks "
            "through it show one frame more, its warnings name that one, and a call takes about a microsecond longer"
        )

    def _lacks(self, name: str, facts: tuple[str, ...]) -> None:
        import torch

        self.not_measured |= dict.fromkeys(facts, f"torch {torch.__version__} has no {name} as we know it")


_left: list[tuple[Tuner, list[Change]]] = []
"""What hooks that are gone still need in torch."""


def is_next(change: Change) -> bool:
    """Whether it is in torch's ``next()``."""
    named = change.function.__qualname__ if isinstance(change, Spliced) else getattr(change, "name", "")
    return named.rpartition(".")[2] == "__next__"


def seams_of(kind: type, changes_loaders: bool) -> Iterator[tuple[str, Around | AtCall]]:
    """Which methods are spliced of a class that another package derived from torch's."""
    if issubclass(kind, _torch("_BaseDataLoaderIter")):
        # In its __init__ litdata replaces torch's worker loop: where torch's __init__ follows, ours runs after that.
        if not issubclass(kind, (_torch("_SingleProcessDataLoaderIter"), _torch("_MultiProcessingDataLoaderIter"))):
            yield "__init__", INIT
        yield "_reset", RESET
        yield "_get_data", RECEIVE
        yield "_next_data", PIN_HERE
    elif issubclass(kind, _torch("DataLoader")) and changes_loaders:
        yield "__iter__", ITERATE


def is_free_threaded() -> bool:
    """Whether this Python is a free-threaded build, even if its interpreter lock is enabled."""
    return bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def system_limits() -> dict[str, str]:
    """What cannot be measured on this operating system, whatever torch has."""
    if Path("/proc/thread-self/schedstat").exists():
        return {}
    return dict.fromkeys(PROC_FACTS, f"{platform.system()} has no /proc to read it from")


def _torch(name: str) -> Any:
    from torch.utils.data import dataloader

    return getattr(dataloader, name)
