"""Imitations of the iterators of NVIDIA DALI and FFCV, which need a GPU or a compiler."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

import underfed
from tests.fakes.received import Place, agent_errors, received
from tests.fakes.recording import recording
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
