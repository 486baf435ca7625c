"""What is no DataLoader: its stand-in is all that the original is, and how long training waits for it arrives."""

from __future__ import annotations

import copy
import pickle
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

import underfed
from tests.fakes.service import Service, wait_until
from tests.fakes.traces import patched_attributes


class Pipeline:
    """Iterates anew each time, has a length, attributes and a setter."""

    def __init__(self, batches: int = 5, wait_s: float = 0.0, fails_at: int = -1) -> None:
        self.batches = batches
        self.wait_s = wait_s
        self.fails_at = fails_at
        self.epoch = 0

    def __iter__(self) -> Iterator[int]:
        for index in range(self.batches):
            time.sleep(self.wait_s)
            if index == self.fails_at:
                raise ValueError("broken")
            yield index

    def __len__(self) -> int:
        return self.batches

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch


class OwnIterator:
    """Is its own iterator, and must be reset: as DALI's iterators are."""

    def __init__(self) -> None:
        self.position = 0

    def __iter__(self) -> OwnIterator:
        return self

    def __next__(self) -> int:
        if self.position == 4:
            raise StopIteration
        self.position += 1
        return self.position

    def reset(self) -> None:
        self.position = 0


def arrived(service: Service) -> None:
    underfed.finish()
    wait_until(service.ends, "the end arrives")


def test_the_same_batches_in_every_epoch() -> None:
    watched = underfed.watch(Pipeline(), name="train")
    assert [list(watched), list(watched)] == [[0, 1, 2, 3, 4]] * 2
    assert patched_attributes() == []


def test_it_is_the_original_to_whoever_asks() -> None:
    original = Pipeline()
    watched = underfed.watch(original)
    assert isinstance(watched, Pipeline)
    assert isinstance(watched, Iterable)
    assert not isinstance(watched, Iterator)
    assert (len(watched), watched.batches, repr(watched)) == (5, 5, repr(original))
    watched.set_epoch(3)
    watched.batches = 2
    assert (original.epoch, original.batches, list(watched)) == (3, 2, [0, 1])
    del watched.epoch
    assert not hasattr(original, "epoch")
    assert not hasattr(underfed.watch(OwnIterator()), "__len__")
    assert underfed.watch(watched) is watched


def test_another_process_gets_the_original() -> None:
    watched = underfed.watch(Pipeline(3))
    assert type(pickle.loads(pickle.dumps(watched))) is Pipeline
    assert list(copy.copy(watched)) == [0, 1, 2]


def test_what_is_its_own_iterator_is_asked_either_way(service: Service) -> None:
    watched = underfed.watch(OwnIterator(), name="train")
    assert [next(watched), next(watched)] == [1, 2]
    assert list(watched) == [3, 4]
    watched.reset()
    assert list(watched) == [1, 2, 3, 4]
    arrived(service)
    assert service.count_steps() == 8


def test_a_generator_is_watched(service: Service) -> None:
    watched = underfed.watch((number * number for number in range(4)), name="train")
    assert list(watched) == [0, 1, 4, 9]
    arrived(service)
    assert service.count_steps() == 4


def test_wait_and_step_arrive_and_the_rest_says_why_not(service: Service) -> None:
    for _ in underfed.watch(Pipeline(6, wait_s=0.02), name="train"):
        time.sleep(0.01)
    arrived(service)
    waits = [wait for steps in service.steps() for wait in steps["data_wait_us"]]
    assert len(waits) == 6
    assert min(waits) >= 20_000
    assert not {"queue_depth", "sampler_us"} & set(service.steps()[0])
    facts = service.loaders()["train"]
    assert {"load_us", "blocked_us", "queue_depth", "sampler_us"} <= {
        name for name, reason in facts["not_measured"].items() if reason == "not a torch DataLoader"
    }
    assert facts["dataset_type"] == "Pipeline"
    assert service.epochs()["train", 0]["ended"] == "exhausted"


def test_an_exception_passes_through_and_ends_the_epoch(service: Service) -> None:
    watched = underfed.watch(Pipeline(fails_at=2), name="train")
    with pytest.raises(ValueError, match="broken"):
        list(watched)
    arrived(service)
    assert service.count_steps() == 2
    assert service.epochs()["train", 0]["ended"] == "error"


def test_disabled_it_comes_back_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERFED_DISABLED", "1")
    original: Any = Pipeline()
    assert underfed.watch(original) is original
