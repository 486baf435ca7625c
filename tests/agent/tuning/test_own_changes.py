"""A data set that changes itself while it is read is found by its attributes, and given no first workers."""

from __future__ import annotations

import functools
import random
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset

import underfed
from tests.agent.tuning.switching_plans import facts_now
from tests.fakes.datasets import Numbers
from underfed.exchange import tuning
from underfed.trainer import control
from underfed.trainer.tuning.own_changes import MOST_ATTRIBUTES, changed_attribute, look_at
from underfed.trainer.tuning.tuner import TuneOptions, Tuner


class Plain(Dataset[int]):
    """Holds all that may be held unchanged."""

    def __init__(self) -> None:
        self.paths, self.rates, self.name = [str(each) for each in range(2_000)], np.zeros(9), "a" * 200
        self.share, self.nothing, self.transform = float("nan"), None, torch.nn.Linear(2, 2)
        self.random = random.Random(1)

    def __len__(self) -> int:
        return 400

    def __getitem__(self, index: int) -> int:
        return index + len(self.paths[index])


class Growing(Plain):
    def __init__(self) -> None:
        super().__init__()
        self.cache: OrderedDict[int, int] = OrderedDict()

    def __getitem__(self, index: int) -> int:
        return self.cache.setdefault(index, index)


class Counting(Plain):
    count = 0

    def __getitem__(self, index: int) -> int:
        self.count += 1
        return index


class Cached(Plain):
    @functools.lru_cache  # noqa: B019
    def load(self, index: int) -> int:
        return index

    def __getitem__(self, index: int) -> int:
        return self.load(index)


@functools.cache
def loaded(index: int) -> int:
    return index


class CachedOutside(Plain):
    def __getitem__(self, index: int) -> int:
        return loaded(index)


class Inner:
    def __init__(self) -> None:
        self.kept: list[int] = []


class Held(Plain):
    def __init__(self) -> None:
        super().__init__()
        self.store = Inner()

    def __getitem__(self, index: int) -> int:
        self.store.kept.append(index)
        return index


class Lazy(Plain):
    """Sets itself up with the first sample."""

    def __getitem__(self, index: int) -> int:
        if not hasattr(self, "table"):
            self.table = [1, 2]
        return index


CHANGING: dict[str, tuple[Callable[[], Dataset[int]], str]] = {
    "cache": (Growing, "cache"),
    "counter": (Counting, "count"),
    "lru_cache": (Cached, "load"),
    "lru_cache of a module": (CachedOutside, "__getitem__: loaded"),
    "held": (Held, "store.kept"),
    "subset": (lambda: Subset(Growing(), range(300)), "dataset.cache"),
    "joined": (lambda: ConcatDataset([Plain(), Counting()]), "datasets.count"),
}


@pytest.mark.parametrize("kind", CHANGING)
def test_what_changes_is_named(kind: str) -> None:
    make, name = CHANGING[kind]
    loader = DataLoader(make())
    for index in (0, -1):
        loader.dataset[index]
    before = look_at(loader)
    assert changed_attribute(before, look_at(loader)) is None
    for index in (1, 2, -2):
        loader.dataset[index]
    assert changed_attribute(before, look_at(loader)) == name


@pytest.mark.parametrize("make", [Plain, Lazy])
def test_one_that_is_only_read_stays_as_it_is(make: Callable[[], Dataset[int]]) -> None:
    loader = DataLoader(make())
    loader.dataset[0]
    before = look_at(loader)
    for index in range(1, 9):
        loader.dataset[index]
    assert changed_attribute(before, look_at(loader)) is None


def test_the_cost_is_bounded_and_a_circle_ends() -> None:
    wide = Plain()
    vars(wide).update({f"field_{index}": index for index in range(5_000)}, own=wide)
    assert len(look_at(DataLoader(wide))) == MOST_ATTRIBUTES


class Slow(Numbers):
    def __init__(self) -> None:
        super().__init__(400, sleep_s=0.002)
        self.cache: dict[int, Any] = {}

    def __getitem__(self, index: int) -> Any:
        self.cache[index] = super().__getitem__(index)
        return self.cache[index]


@pytest.mark.usefixtures("quick")
def test_it_is_left_without_workers_and_the_reason_names_the_attribute() -> None:
    loader = DataLoader(Slow())
    control._state.tuner = Tuner(TuneOptions(most_steps=60), print)
    underfed.watch(loader, tune=True)
    assert len(list(loader)) == 400
    facts = facts_now()
    assert (facts.status, facts.reason) == (
        tuning.LEFT_ALONE,
        "its data set changes `cache` while it is read: each worker would have its own; it could have workers if "
        "reading a sample changed nothing that later ones need",
    )
