"""Loaders, their iterators and torch's own functions look, copy and go away with the agent as they do without."""

from __future__ import annotations

import copy
import inspect
import pickle
import sys
import weakref
from multiprocessing import active_children
from typing import Any

import pytest
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

import underfed
from tests.agent.indistinguishable.twice import Loader, Zeros, assert_same, attempt

LOADERS: dict[str, dict[str, Any]] = {
    "no workers": {},
    "workers": {"num_workers": 2},
    "persistent": {"num_workers": 2, "persistent_workers": True},
}


def anatomy(thing: object) -> dict[str, Any]:
    """Names and types of a thing's attributes; our one entry in an iterator's dictionary is known."""
    return {name: type(value) for name, value in vars(thing).items() if name != "_underfed"}


def see_objects(loader: Loader) -> list[Any]:
    seen: list[Any] = [type(loader), len(loader), anatomy(loader)]
    iterator = iter(loader)
    seen += [type(iterator), len(iterator), iter(iterator) is iterator, anatomy(iterator), anatomy(loader)]
    next(iterator)
    return [*seen, anatomy(iterator), [type(base) for base in type(iterator).__mro__]]


@pytest.mark.parametrize("settings", LOADERS.values(), ids=LOADERS.keys())
def test_loaders_and_iterators_have_the_same_types_lengths_and_attributes(settings: dict[str, Any]) -> None:
    assert_same(lambda: DataLoader(Zeros(), batch_size=4, **settings), see_objects)


def see_copies(loader: Loader) -> list[Any]:
    seen: list[Any] = [attempt(lambda: pickle.dumps(loader)), anatomy(copy.copy(loader))]
    seen.append(attempt(lambda: anatomy(copy.deepcopy(loader))))
    iterator = iter(loader)
    next(iterator)
    seen += [attempt(lambda: len(pickle.dumps(iterator))), attempt(lambda: len(pickle.dumps(loader)))]
    seen += [attempt(lambda: type(copy.deepcopy(loader))), attempt(lambda: type(copy.deepcopy(iterator)))]
    return [*seen, attempt(lambda: type(copy.copy(iterator))), len(list(copy.copy(loader)))]


@pytest.mark.parametrize("settings", [{}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}])
def test_pickling_and_copying_give_the_same_or_fail_the_same(settings: dict[str, Any]) -> None:
    seen = assert_same(lambda: DataLoader(Zeros(), batch_size=4, **settings), see_copies)
    assert any("cannot be pickled" in str(each) for each in seen)


def see_life(loader: Loader) -> list[Any]:
    """Whether things go when the last name for them does."""
    iterator = iter(loader)
    batch = next(iterator)
    seen: list[Any] = [sys.getrefcount(batch), sys.getrefcount(iterator)]
    of_batch, of_iterator, of_loader = weakref.ref(batch), weakref.ref(iterator), weakref.ref(loader)
    del batch
    seen.append(of_batch() is None)
    del iterator
    seen.append(of_iterator() is None)
    del loader
    return [*seen, len(active_children()), of_loader() is None]


@pytest.mark.parametrize("num_workers", [0, 2])
def test_batches_iterators_and_workers_are_let_go_at_the_same_moment(num_workers: int) -> None:
    def make() -> Loader:
        return DataLoader(Zeros(), batch_size=4, num_workers=num_workers)

    assert_same(make, see_life)


def test_what_inspect_finds_of_torch_is_the_same() -> None:
    def inspected() -> list[Any]:
        functions: list[Any] = [
            DataLoader.__init__,
            DataLoader.__iter__,
            _BaseDataLoaderIter.__next__,
            _BaseDataLoaderIter._reset,
        ]
        return [(str(inspect.signature(each)), inspect.getsource(each), inspect.getfile(each)) for each in functions]

    bare = inspected()
    underfed.watch(DataLoader(Zeros()))
    assert inspected() == bare
