"""Loaders that change their setting while they are iterated, by a plan, as ``--tune`` would have it."""

from __future__ import annotations

import atexit
import random
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

import underfed
from underfed.exchange import tuning
from underfed.exchange.parts import read_part
from underfed.exchange.tuning import TuningFacts
from underfed.trainer import control
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.switching import Switched, switched_of
from underfed.trainer.tuning.tuner import Tuner


class Indices(Dataset[int]):
    """Each sample is its index."""

    def __init__(self, length: int, bad: int | None = None) -> None:
        self.length = length
        self.bad = bad

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> int:
        if index == self.bad:
            raise ValueError(f"sample {index}")
        return index


class Pairs(Sampler[list[int]]):
    """A batch sampler of a program's own, of batches that differ in size. Takes random numbers as it goes."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __iter__(self) -> Iterator[list[int]]:
        generator = torch.Generator().manual_seed(self.length)
        left = torch.randperm(self.length, generator=generator).tolist()
        while left:
            size = int(torch.randint(1, 4, (), generator=generator))
            yield left[:size]
            left = left[size:]


@dataclass(slots=True)
class Plan:
    """When to switch, and to what. ``None``: never."""

    random: random.Random | None
    chance: float = 0.25
    most_workers: int = 2
    switches: int = 0

    def carry_out(self, iterator: Any) -> None:
        switched = switched_of(iterator)
        if self.random is None or switched is None or switched.is_switching or self.random.random() > self.chance:
            return
        setting = self._setting(switched)
        if setting != switched.setting:
            self.switches += 1
            switch(iterator, setting)

    def _setting(self, switched: Switched) -> LoaderSetting:
        assert self.random is not None
        workers = self.random.randint(0, self.most_workers)
        factor = self.random.randint(1, 3) if workers else None
        return switched.own.setting.changed({"num_workers": workers, "prefetch_factor": factor})


def switch(iterator: Any, setting: LoaderSetting) -> None:
    """As an order of the conductor is carried out; the next pass begins so, too."""
    switched, tuner = switched_of(iterator), control._state.tuner
    assert switched is not None
    assert tuner is not None
    switched.begin(iterator, setting)
    use_from_now_on(tuner, setting)


def use_from_now_on(tuner: Tuner, setting: LoaderSetting) -> None:
    """Also in the passes that begin after this."""
    tuner._setting = tuner._keep = setting
    if tuner.conductor is not None:
        tuner.conductor.setting = setting


def tuned(loader: DataLoader[Any]) -> DataLoader[Any]:
    """Watched, and the one that is tuned from now on. What the conductor would order is left out."""
    if control._state.tuner is not None:
        atexit.unregister(control._state.tuner.reporter.end)  # else it would print after the last test
    control._state.tuner = None
    underfed.watch(loader, name="train", tune=True)
    return loader


def facts_now() -> TuningFacts:
    recording = control._state.recording
    assert recording is not None
    return read_part(recording.directory / tuning.FILE, TuningFacts)


def seen(loader: DataLoader[Any], plan: Plan, passes: int = 1, leave_at: int | None = None) -> list[Any]:
    """All batches of the passes, the errors among them, and after each pass a random number of the training's.

    ``leave_at``: so many batches are taken of each pass.
    """
    found: list[Any] = []
    has_workers = loader.num_workers > 0
    for _ in range(passes):
        iterator, taken = iter(loader), 0
        while leave_at is None or taken < leave_at:
            try:
                batch = next(iterator)
            except StopIteration:
                break
            except ValueError as error:
                # A worker's says where it came from, too.
                batch = str(error).split()[-1] if has_workers else (type(error), error.args)
                # Torch's frame that raises it holds it, and by that the iterator, which a forked process would end.
                traceback.clear_frames(error.__traceback__)
            taken += 1
            found.append(batch.tolist() if isinstance(batch, Tensor) else batch)
            plan.carry_out(iterator)
        found.append(float(torch.rand(())))
    return found


def alike(make: Callable[[], DataLoader[Any]], plan: Plan, **how: Any) -> tuple[list[Any], list[Any]]:
    """What a program sees of a plain loader, and of one that switches."""
    underfed.finish()  # the tuner of the plan before would take the plain one for its own
    control._state.tuner = None
    torch.manual_seed(0)
    plain = seen(make(), Plan(None), **how)
    torch.manual_seed(0)
    return plain, seen(tuned(make()), plan, **how)
