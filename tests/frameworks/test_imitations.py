"""Imitations of the iterators of NVIDIA DALI and FFCV, which need a GPU or a compiler, and of fastai's loader."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.data import get_worker_info
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter

import underfed
from tests.fakes.received import Place, agent_errors, names, received
from tests.fakes.recording import recording
from tests.frameworks.program import SAMPLES, Samples
from underfed.trainer import control
from underfed.trainer.hooks.install import LOADING_FACTS
from underfed.trainer.hooks.iterable import NO_DATALOADER

BATCHES, SLOW = 4, 2
SLOW_S = 0.05
Dictionaries = list[dict[str, Tensor]]


class DALIGenericIterator:
    """As ``nvidia.dali.plugin.pytorch`` has it: its own iterator, exhausted until it is reset."""

    def __init__(self) -> None:
        self.position = 0
        self.resets = 0

    def __iter__(self) -> DALIGenericIterator:
        return self

    def __len__(self) -> int:
        return BATCHES

    def __next__(self) -> Dictionaries:
        if self.position == BATCHES:
            raise StopIteration
        time.sleep(SLOW_S if self.position == SLOW else 0)
        self.position += 1
        return [{"data": torch.full((2,), self.position), "label": torch.zeros(2)}]

    def next(self) -> Dictionaries:
        return self.__next__()

    def reset(self) -> None:
        self.position = 0
        self.resets += 1


class Loader:
    """As ``ffcv.loader`` has it: a new iterator for each epoch, which it counts."""

    def __init__(self) -> None:
        self.next_epoch = 0

    def __len__(self) -> int:
        return BATCHES

    def __iter__(self) -> EpochIterator:
        self.next_epoch += 1
        return EpochIterator()


class EpochIterator:
    def __init__(self) -> None:
        self.batches = iter(range(BATCHES))

    def __iter__(self) -> EpochIterator:
        return self

    def __next__(self) -> tuple[Tensor, ...]:
        batch = next(self.batches)
        time.sleep(SLOW_S if batch == SLOW else 0)
        return torch.tensor([batch]), torch.zeros(1)


def epochs(number: int) -> list[Place]:
    return [(epoch, batch) for epoch in range(number) for batch in range(BATCHES)]


def first_values(batches: Iterator[Dictionaries]) -> list[int]:
    return [int(batch[0]["data"][0]) for batch in batches]


def test_a_dali_iterator_is_iterated_and_reset() -> None:
    with recording() as service:
        watched = underfed.watch(DALIGenericIterator(), name="train")
        assert (isinstance(watched, DALIGenericIterator), len(watched)) == (True, BATCHES)
        for _ in range(3):
            assert first_values(watched) == [1, 2, 3, 4]
            watched.reset()
        assert watched.resets == 3
    seen = received(service, "train")
    assert seen.places == epochs(3)
    assert [epoch["ended"] for epoch in seen.epochs.values()] == ["exhausted"] * 3
    assert min(seen.wait_s(epoch, SLOW) for epoch in range(3)) >= SLOW_S
    assert {fact for fact, reason in seen.not_measured.items() if reason == NO_DATALOADER} == set(LOADING_FACTS)
    assert seen.batches == {}


def test_a_dali_iterator_is_asked_for_each_batch() -> None:
    with recording() as service:
        watched: Any = underfed.watch(DALIGenericIterator(), name="train")
        for ask in (watched.next, lambda: next(watched)):
            assert first_values(ask() for _ in range(BATCHES)) == [1, 2, 3, 4]
            assert next(watched, None) is None
            watched.reset()
    assert received(service, "train").places == epochs(2)
    assert agent_errors(service) == 0


def test_an_ffcv_loader_begins_an_epoch_each_time() -> None:
    with recording() as service:
        watched = underfed.watch(Loader(), name="train")
        assert [[int(batch[0]) for batch in watched] for _ in range(2)] == [[0, 1, 2, 3]] * 2
        assert watched.next_epoch == 2
    seen = received(service, "train")
    assert seen.places == epochs(2)
    assert min(seen.wait_s(epoch, SLOW) for epoch in range(2)) >= SLOW_S
    assert seen.facts["dataset_type"] == "Loader"


def is_of_worker(worker: int) -> None:
    info: Any = get_worker_info()
    info.dataset.d.share = slice(info.id, None, info.num_workers)


class StandIn:
    """As ``fastai.data.load._FakeLoader``: has what torch's iterators read, and is its own data set."""

    _IterableDataset_len_called, _auto_collation, in_order, drop_last = None, False, True, False
    _index_sampler, generator, prefetch_factor, _dataset_kind = range(10**9), None, 2, 1
    pin_memory_device, pin_memory, timeout, persistent_workers = "", False, 0, False
    worker_init_fn = staticmethod(is_of_worker)

    def __init__(self, loader: Any, num_workers: int) -> None:
        self.dataset, self.d, self.num_workers = self, loader, num_workers

    def __iter__(self) -> Iterator[Any]:
        return (self.d.dataset[index] for index in range(len(self.d.dataset))[self.d.share])

    def collate_fn(self, batch: Any) -> Any:
        return batch

    def _get_shared_seed(self) -> None:
        return None

    @property
    def multiprocessing_context(self) -> Any:
        return multiprocessing if self.num_workers else None


FastaisStandIn = type("_FakeLoader", (StandIn,), {"__module__": "fastai.data.load"})


class FastaiLoader:
    """As ``fastai.data.load.DataLoader``, which is no ``torch.utils.data.DataLoader``."""

    def __init__(self, dataset: Samples, bs: int, num_workers: int, stand_in: Any = FastaisStandIn) -> None:
        self.dataset, self.bs, self.indexed, self.drop_last, self.share = dataset, bs, True, False, slice(None)
        self.fake_l = stand_in(self, num_workers)

    def __iter__(self) -> Iterator[Any]:
        kind: Any = _MultiProcessingDataLoaderIter if self.fake_l.num_workers else _SingleProcessDataLoaderIter
        yield from kind(self.fake_l)


class Undescribed(StandIn):
    """Another library's, which nothing is known of, and whose data set refuses to be looked at."""

    def __len__(self) -> int:
        raise RuntimeError("not now")


def watched_all(loader: Any) -> None:
    control.watch_all()
    assert len(list(loader)) == SAMPLES


def watched(loader: Any) -> None:
    assert underfed.watch(loader, name="loader-1") is loader
    assert len(list(loader)) == SAMPLES


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("iterate", [watched_all, watched])
def test_fastais_loader_is_recorded_and_described(iterate: Callable[[Any], None], num_workers: int) -> None:
    with recording() as service:
        iterate(FastaiLoader(Samples(), 1, num_workers))
    seen = received(service, "loader-1")
    assert seen.places == [(0, batch) for batch in range(SAMPLES)]
    assert set(seen.batches) == set(seen.places)
    workers = {batch.get("worker") for batch in seen.batches.values()}
    assert workers == (set(range(num_workers)) if num_workers else {None})
    facts, settings = seen.facts, seen.facts["settings"]
    assert (facts["dataset_type"], facts["dataset_kind"], facts["dataset_length"]) == ("Samples", "map", SAMPLES)
    assert (settings["batch_size"], settings["num_workers"]) == (1, num_workers)
    assert "sampler_type" in seen.not_measured
    assert not {"data_wait_us", "step_us", "load_us"} & set(seen.not_measured)
    assert agent_errors(service) == 0


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_loader_that_cannot_be_described_is_recorded_and_names_what_is_missing(num_workers: int) -> None:
    with recording() as service:
        watched_all(FastaiLoader(Samples(), 1, num_workers, Undescribed))
    assert names(service) == ["loader-1"]
    seen = received(service, "loader-1")
    assert seen.places == [(0, batch) for batch in range(SAMPLES)]
    assert set(seen.batches) == set(seen.places)
    assert "has no attribute 'batch_size'" in seen.not_measured["batch_size"]
    assert {"sampler_type", "batch_size", "dataset_length"} <= set(seen.not_measured)
    assert "batch_size" not in seen.facts["settings"]
    assert seen.facts["settings"]["num_workers"] == num_workers
    assert agent_errors(service) == 0
