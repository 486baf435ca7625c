"""What a program of these tests does: the same training bare, with ``watch()``, and recorded automatically.

It runs in a process of its own, one for a framework, since importing one takes seconds. One sample in each data set is
slow: the wait that the record has for its step is at least as long as that.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import Dataset, IterableDataset, get_worker_info

import underfed
from underfed.launcher.autoload import TRAINER, hook_trainer
from underfed.trainer import control

Watch = Callable[..., Any]
"""Called with a loader and its name: ``underfed.watch``, or a function that does nothing."""

Training = Callable[[Watch], Any]
"""Returns what it saw, in types that JSON has."""

SAMPLES, SLOW = 8, 5
SLOW_S = 0.06
WORK_S = 0.002
BARE, WATCHED, AUTOMATIC = "bare", "watched", "automatic"
PAGE = "page"
"""Of the training that is on the framework's page in docs/frameworks."""
LOGGED = "logged"
"""Of the one that logs, if it is asked for."""
COVERED = ("torchdata.stateful_dataloader.stateful_dataloader",)


class Samples(Dataset[Tensor]):
    """Numbers, of which one takes long to load."""

    def __init__(self, length: int = SAMPLES, slow: int = SLOW) -> None:
        self.length = length
        self.slow = slow

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(SLOW_S if index == self.slow else 0)
        return torch.tensor([float(index)])


class Checks(Samples):
    """For validation."""

    def __init__(self) -> None:
        super().__init__(3, 1)


class Stream(IterableDataset[Tensor]):
    """The same without a length."""

    def __iter__(self) -> Iterator[Tensor]:
        worker = get_worker_info()
        start, step = (worker.id, worker.num_workers) if worker is not None else (0, 1)
        samples = Samples()
        return (samples[index] for index in range(start, SAMPLES, step))


class Steps:
    """Notes when a training loop got a batch and when it was done with it: how long it waited for each."""

    def __init__(self) -> None:
        self.waits_s: list[float] = []
        self._done_s = time.perf_counter()

    def begin(self) -> None:
        """Before an epoch."""
        self._done_s = time.perf_counter()

    def has_batch(self) -> None:
        self.waits_s.append(time.perf_counter() - self._done_s)

    def is_done(self) -> None:
        self._done_s = time.perf_counter()


def draw(loader: Any, work_s: float = WORK_S) -> dict[str, Any]:
    """A plain training loop: its batches, and how long it waited for each."""
    steps, batches = Steps(), []
    steps.begin()
    for batch in loader:
        steps.has_batch()
        batches.append(_plain(batch))
        time.sleep(work_s)
        steps.is_done()
    return {"batches": batches, "waits_s": steps.waits_s}


def main(
    trainings: Mapping[str, Training],
    page: Callable[[], None] | None = None,
    logging: Callable[[str], list[Any]] | None = None,
) -> None:
    """Print what each training saw each time, after its name and one of ``BARE``, ``WATCHED``, ``AUTOMATIC``.

    All that are watched are one run, in which loaders have their training's name before their own. ``page`` runs after
    them, and last ``logging``, which returns what the training's own logger stored in a directory.
    """
    seen = {name: {BARE: training(leave)} for name, training in trainings.items()}
    os.environ["UNDERFED_RUN_ID"] = WATCHED
    for name, training in trainings.items():
        seen[name][WATCHED] = training(partial(watch_as, name))
    underfed.finish()
    for name, training in trainings.items():
        os.environ["UNDERFED_RUN_ID"] = f"{AUTOMATIC}-{name}"
        with recording_everything():
            seen[name][AUTOMATIC] = training(leave)
    if page is not None:
        os.environ["UNDERFED_RUN_ID"] = f"{AUTOMATIC}-{PAGE}"
        page()
        seen[PAGE] = {}
    if logging is not None:
        os.environ["UNDERFED_RUN_ID"] = f"{AUTOMATIC}-{LOGGED}"
        with recording_everything(), TemporaryDirectory() as directory:
            seen[LOGGED] = {AUTOMATIC: logging(directory)}
    print(json.dumps(seen))


def leave(loader: Any, name: str) -> Any:
    """Leave the loader as it is."""
    return loader


def watch_as(training: str, loader: Any, name: str) -> Any:
    return underfed.watch(loader, name=f"{training}-{name}")


@contextmanager
def recording_everything() -> Iterator[None]:
    """As ``underfed run`` does it."""
    control.watch_all()
    for module in filter(None, map(sys.modules.get, COVERED)):
        control.watch_module(module)
    if TRAINER in sys.modules:
        hook_trainer(sys.modules[TRAINER])
    yield
    underfed.finish()
    control._state.watches_all = False


def _plain(batch: Any) -> Any:
    if isinstance(batch, Tensor):
        return batch.tolist()
    if isinstance(batch, Mapping):
        return {name: _plain(part) for name, part in batch.items()}
    return [_plain(part) for part in batch] if isinstance(batch, (list, tuple)) else batch
