"""Which loader of a run a loader is: itself, one that it continues, or another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

from tests.fakes.datasets import Numbers, Stream
from underfed.exchange.guard import Guard
from underfed.trainer.hooks.registry import Registry
from underfed.trainer.hooks.watched_loader import WatchedLoader

pytestmark = pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")

STATE = {"_num_yielded": 3}


class Watching:
    """Watches loaders that a program does not name, each iterated by a line of its own."""

    def __init__(self, tmp_path: Path) -> None:
        self.registry = Registry()
        self._directory = tmp_path
        self._lines = 0

    def __call__(self, loader: Any, name: str | None = None) -> str:
        """The name that the loader has; it is then iterated."""
        self._lines += 1
        watched = self.registry.find(loader) or self.registry.watch(loader, name, f"train.py:{self._lines}", self._make)
        assert watched is not None
        watched.steps += 1
        watched.iterators += 1
        return watched.name

    def _make(self, index: int, name: str) -> WatchedLoader:
        return WatchedLoader(index, name, self._directory, Guard(), lambda: None)


@pytest.fixture
def watch(tmp_path: Path) -> Watching:
    return Watching(tmp_path)


def resumed(*arguments: Any, **settings: Any) -> Any:
    loader = StatefulDataLoader(*arguments, **settings)
    loader.load_state_dict(STATE)
    return loader


def test_a_resumed_loader_is_the_one_that_was_left(watch: Watching) -> None:
    data = Numbers()
    left, again, new_data = StatefulDataLoader(data), resumed(data), resumed(Numbers())
    assert [watch(each) for each in (left, again, new_data)] == ["loader-1"] * 3


def test_a_loader_without_a_state_is_another(watch: Watching) -> None:
    left, other, plain = StatefulDataLoader(Numbers()), StatefulDataLoader(Numbers()), DataLoader(Numbers())
    assert [watch(each) for each in (left, other, plain)] == ["loader-1", "loader-2", "loader-3"]


def test_each_of_two_resumed_loaders_is_its_own_again(watch: Watching) -> None:
    left = StatefulDataLoader(Numbers(), batch_size=4), StatefulDataLoader(Numbers(), batch_size=8)
    again = resumed(Numbers(), batch_size=4), resumed(Numbers(), batch_size=8)
    assert [watch(each) for each in (*left, *again)] == ["loader-1", "loader-2", "loader-1", "loader-2"]


def test_of_two_alike_it_is_the_one_over_the_same_data_or_neither(watch: Watching) -> None:
    one, other = Numbers(), Numbers()
    left = StatefulDataLoader(one), StatefulDataLoader(other)
    again = resumed(other), resumed(Numbers())
    assert [watch(each) for each in (*left, *again)] == ["loader-1", "loader-2", "loader-2", "loader-3"]


def test_a_name_that_the_program_gave_decides(watch: Watching) -> None:
    left, again, other = StatefulDataLoader(Numbers()), resumed(Numbers()), resumed(Stream())
    assert [watch(left, "train"), watch(again, "train"), watch(other, "val")] == ["train", "train", "val"]
