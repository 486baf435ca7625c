"""Seeded batches and every random state are the same with the agent as without."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

import underfed
from tests.agent.indistinguishable.twice import Loader, assert_same
from tests.fakes.forkserver import ready_spawn


class Random(Dataset[list[float]]):
    """Every source of random numbers that torch seeds in a worker, and the seed."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> list[float]:
        worker = get_worker_info()
        seed = float(worker.seed % 1000) if worker is not None else -1.0
        return [float(index), random.random(), float(np.random.rand()), float(torch.rand(())), seed]


class RandomStream(IterableDataset[list[float]]):
    def __iter__(self) -> Iterator[list[float]]:
        samples = Random()
        return (samples[index] for index in range(10))


LOADERS: dict[str, dict[str, Any]] = {
    "no workers": {},
    "persistent": {"num_workers": 2, "persistent_workers": True},
    "new in each epoch": {"num_workers": 1, "prefetch_factor": 5},
}


def seed_all() -> None:
    random.seed(3)
    np.random.seed(3)
    torch.manual_seed(3)


def random_states() -> list[Any]:
    numpys: Any = np.random.get_state()
    return [random.getstate(), [str(part) for part in numpys], torch.get_rng_state().tolist()]


def draw_seeded(loader: Loader, epochs: int = 2) -> list[Any]:
    seed_all()
    batches = [[part.tolist() for part in batch] for _ in range(epochs) for batch in loader]
    return [*batches, *random_states()]


@pytest.mark.parametrize("settings", LOADERS.values(), ids=LOADERS.keys())
def test_random_numbers_are_the_same_in_workers_and_in_the_training_process(settings: dict[str, Any]) -> None:
    assert_same(lambda: DataLoader(Random(), batch_size=4, shuffle=True, **settings), draw_seeded)


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_random_numbers_are_the_same_in_workers_that_import(method: str) -> None:
    def make() -> Loader:
        return DataLoader(Random(), batch_size=4, shuffle=True, num_workers=1, multiprocessing_context=method)

    with ready_spawn():
        assert_same(make, lambda loader: draw_seeded(loader, epochs=1), repetitions=1)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_random_numbers_of_an_iterable_data_set_are_the_same(num_workers: int) -> None:
    assert_same(lambda: DataLoader(RandomStream(), batch_size=4, num_workers=num_workers), draw_seeded)


def test_watching_and_finishing_use_no_random_number() -> None:
    seed_all()
    before = random_states()
    underfed.watch(DataLoader(Random()))
    underfed.finish()
    assert random_states() == before
