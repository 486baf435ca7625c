"""Iterators of torch's that load for the program's own one, under other settings: constructed, used again, and ended.

One takes over the sampler's iterator where another stopped asking it. Until then its own is empty, so that constructing
it loads nothing, and what fails there has lost nothing. No random number of the training process is used.

None is ever garbage in a reference cycle while its workers run, as one of the program's may become by an exception that
it keeps: Python then closes queues and pipes before the iterator tells its workers to end, and torch waits for ever.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from underfed.host.clock import now_ns
from underfed.host.signal_handlers import passing
from underfed.trainer.attached import attach, detach
from underfed.trainer.hooks.session import KEY, Session, take_number
from underfed.trainer.loading.worker import planned
from underfed.trainer.settings.overrides import has_accelerator
from underfed.trainer.tuning.loader_setting import LoaderSetting

EMPTY: Iterator[Any] = iter(())
"""Stands for a sampler's iterator that is asked no more."""

SEED_STEP = 1 << 20
"""Between the seeds of two such iterators' workers: further than a host has workers."""


OF_THE_LOADER = (
    "worker_init_fn", "multiprocessing_context", "pin_memory_device", "in_order", "_IterableDataset_len_called",
)  # fmt: skip
"""What no iterator keeps: the program may have dropped its loader when another iterator is constructed."""


class _Unrecorded:
    """In a session's place while an iterator is constructed that is not in use yet."""

    times_sampler = False
    is_constructed = False


UNRECORDED = _Unrecorded()


class _NoIndices:
    """In the index sampler's place."""

    def __iter__(self) -> Iterator[Any]:
        return EMPTY


class _View:
    """What torch's iterators read of a loader: that of the loader itself, but for what is given."""

    def __init__(self, loader: weakref.ref[Any], given: Mapping[str, Any]) -> None:
        vars(self).update(given, _loader=loader)

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_loader"](), name)


@dataclass(slots=True, eq=False)
class Feeder:
    """One iterator. ``iterator`` ``None``: the program's own, which holds this and must not be held by it."""

    setting: LoaderSetting
    iterator: Any = None
    session: Session | None = None
    number: int = 0
    """Of its workers' rings."""
    lifeline: weakref.finalize[[Any, int], Any] | None = None
    """Holds the iterator while its workers run, and ends them with the program's own iterator."""
    asked_before: int = 0
    """How often the sampler was asked before it: by those that loaded for the same iterator."""

    def of(self, own: Any) -> Any:
        return own if self.iterator is None else self.iterator

    def has_given_all(self, own: Any) -> bool:
        """Nothing that it was asked for is still to be handed out."""
        return not self.setting.num_workers or not self.of(own)._task_info

    def ahead(self, own: Any) -> int | None:
        """Batches that it has loaded and not handed out; ``None``: not known."""
        if not self.setting.num_workers:
            return 0
        session, iterator = self.session, self.of(own)
        if session is None or session.qsize is None:
            return None
        return max(0, session.qsize(iterator) + session.arrived - int(iterator._num_yielded))

    def is_usable(self, own: Any) -> bool:
        """Whether it may be used again: all of its workers live."""
        if not self.setting.num_workers:
            return True
        iterator = self.of(own)
        return not iterator._shutdown and all(worker.is_alive() for worker in iterator._workers)


class Feeders:
    """Constructs the iterators that load for one iterator of the program."""

    def __init__(self, own: Any, loader: Any, session: Session) -> None:
        self._loader = weakref.ref(loader)
        self._session = session
        self._seed: int = own._base_seed
        self._count = 0
        self._given: dict[str, Any] = {
            "dataset": own._dataset,
            "collate_fn": own._collate_fn,
            "drop_last": own._drop_last,
            "timeout": own._timeout,
            "_dataset_kind": own._dataset_kind,
            "_auto_collation": own._auto_collation,
            "_index_sampler": _NoIndices(),
            **{name: getattr(loader, name) for name in OF_THE_LOADER if hasattr(loader, name)},
        }

    @property
    def view(self) -> Any:
        """Data set, ``collate_fn`` and start method of the loader, which the program may have dropped."""
        return _View(self._loader, self._given)

    def construct(self, setting: LoaderSetting, own: Any) -> Feeder:
        """Its workers are started, and wait.

        Raises:
            Exception: whatever torch raises where it cannot start them.
        """
        import torch
        from torch.utils.data import dataloader

        self._count += 1
        generator = torch.Generator()
        generator.manual_seed((self._seed + self._count * SEED_STEP) & (1 << 63) - 1)
        view = _View(self._loader, {**self._given, **attributes_for(setting), "generator": generator})
        multiple = setting.num_workers > 0
        kind = dataloader._MultiProcessingDataLoaderIter if multiple else dataloader._SingleProcessDataLoaderIter
        number = take_number(self._session.loader)
        iterator: Any = kind.__new__(kind)
        attach(iterator, KEY, UNRECORDED)
        with self._planned(number, setting.threads_per_worker):
            iterator.__init__(view)
        attach(iterator, KEY, None)
        iterator._index_sampler = own._index_sampler
        lifeline = None
        if multiple:
            lifeline = weakref.finalize(own, _shut_down, iterator, os.getpid())
            lifeline.atexit = False  # torch and multiprocessing have their own way there
        return Feeder(setting, iterator, number=number, lifeline=lifeline)

    def reuse(self, feeder: Feeder, own: Any) -> None:
        """Begin another pass with the workers it has.

        Raises:
            Exception: whatever torch raises where one of them does not answer.
        """
        iterator = feeder.of(own)
        if not feeder.setting.num_workers:
            iterator._num_yielded = 0
            return
        sampler = iterator._index_sampler
        attach(iterator, KEY, None)
        iterator._index_sampler = _NoIndices()
        try:
            iterator._reset(_View(self._loader, self._given))
        finally:
            iterator._index_sampler = sampler

    def begin(self, feeder: Feeder, own: Any) -> None:
        """It hands out from now on: its steps are recorded, as another pass over the data."""
        iterator, first = feeder.of(own), self._session
        if first.loader.ring is None:
            return
        if feeder.session is None:
            feeder.session = Session(
                first.loader, first.ring, feeder.number, first.fetches_ahead, first.requests_a_step
            )
            attach(iterator, KEY, feeder.session)
            feeder.session.constructed(iterator, True, now_ns())
        else:
            attach(iterator, KEY, feeder.session)
            feeder.session.resetting()
            feeder.session.reset()
        feeder.session.record_continuation()

    def end(self, feeder: Feeder) -> None:
        """It has handed out the last batch that it was asked for."""
        if feeder.session is not None:
            now = now_ns()
            feeder.session.ended(is_over=True, entered_ns=now, left_ns=now)

    @contextmanager
    def _planned(self, number: int, threads: int | None) -> Iterator[None]:
        before = planned.plan
        planned.plan = replace(self._session.worker_plan(number), threads=threads)
        try:
            yield
        finally:
            planned.plan = before


def attributes_for(setting: LoaderSetting) -> dict[str, Any]:
    """Of a loader, as ``DataLoader.__init__`` would have set them. One without an accelerator pins nothing, and is not
    to be warned of again."""
    given: dict[str, Any] = {
        "num_workers": setting.num_workers,
        "prefetch_factor": setting.prefetch_factor,
        "persistent_workers": setting.persistent_workers,
        "pin_memory": setting.pin_memory and has_accelerator(),
        "in_order": setting.in_order,
    }
    if not setting.num_workers:
        given["multiprocessing_context"] = None
    return given


def close(feeder: Feeder) -> None:
    """End its workers. Raises nothing but what a signal handler of the program raises meanwhile."""
    if feeder.iterator is None or not feeder.setting.num_workers:
        return
    detach(feeder.iterator, KEY)
    hand_over(feeder)
    _shut_down(feeder.iterator, os.getpid())


def hand_over(feeder: Feeder) -> None:
    """Its workers do not end with the program's iterator, as where it becomes that itself."""
    if feeder.lifeline is not None:
        feeder.lifeline.detach()


def _shut_down(iterator: Any, process: int) -> None:
    """In a process forked since it is a copy, whose end is not to end the other's workers."""
    if process != os.getpid():
        iterator._shutdown = True
        return
    with passing(Exception):
        iterator._shutdown_workers()
