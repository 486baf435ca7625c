"""Workers of an iterable data set that give the same batches are distinguished from those that share it out."""

from __future__ import annotations

from collections import UserDict, namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader

import underfed
from tests.fakes.datasets import Numbers, Stream, Unsharded
from tests.fakes.service import Service, wait_until
from underfed.collector.reading.repeats import LoaderRepeats, compare
from underfed.trainer.loading.first_batches import FIRST_BATCHES, LEAVES, PIECE_BYTES, PIECES, fingerprint, pieces

BATCHES = 12


class Zeros(Unsharded):
    """A stand-in for data: all batches are alike."""

    def __iter__(self) -> Iterator[Tensor]:
        return (torch.zeros(64) for _ in range(self.length))


class Drawn(Unsharded):
    """Made by each worker with random numbers of its own."""

    def __iter__(self) -> Iterator[Tensor]:
        return (torch.rand(64) for _ in range(self.length))


def facts(service: Service, dataset: Any, epochs: int = 1, **settings: Any) -> dict[str, Any]:
    """Of the loader, when the run is over."""
    loader = underfed.watch(DataLoader(dataset, batch_size=None, **settings), name="train")
    for _ in range(epochs):
        for _ in loader:
            pass
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    return service.loaders()["train"]


def compared(reported: dict[str, Any]) -> tuple[int | None, int | None]:
    return reported.get("compared_batches"), reported.get("repeated_batches")


@pytest.mark.parametrize(
    "settings",
    [{}, {"persistent_workers": True}, pytest.param({"multiprocessing_context": "spawn"}, marks=pytest.mark.soak)],
)
def test_batches_that_both_workers_gave_are_counted(service: Service, settings: dict[str, Any]) -> None:
    reported = facts(service, Unsharded(BATCHES), num_workers=2, epochs=2, **settings)
    assert compared(reported) == (2 * BATCHES, 2 * BATCHES)
    assert reported["shards"] is False
    assert reported["why_unsharded"] == "Unsharded does not ask get_worker_info(), so each worker would load all of it"


def test_a_data_set_that_is_shared_out_repeats_nothing(service: Service) -> None:
    reported = facts(service, Stream(24), num_workers=2)
    assert compared(reported) == (9 + 12, 0)
    assert (reported["shards"], "why_unsharded" in reported) == (True, False)


def test_what_each_worker_draws_for_itself_is_no_repetition(service: Service) -> None:
    reported = facts(service, Drawn(BATCHES), num_workers=2)
    assert compared(reported) == (2 * BATCHES, 0)


def test_a_worker_whose_batches_are_all_alike_says_nothing(service: Service) -> None:
    assert compared(facts(service, Zeros(BATCHES), num_workers=2)) == (0, 0)


@pytest.mark.parametrize("dataset", [Numbers(8), Unsharded(BATCHES)])
def test_where_nobody_could_repeat_nothing_is_compared(service: Service, dataset: Any) -> None:
    assert compared(facts(service, dataset, num_workers=2 if isinstance(dataset, Numbers) else 1)) == (None, None)


def test_only_the_first_batches_are_looked_at(service: Service) -> None:
    reported = facts(service, Unsharded(FIRST_BATCHES + 40), num_workers=2)
    assert compared(reported) == (2 * FIRST_BATCHES, 2 * FIRST_BATCHES)


# What is compared


def test_one_worker_in_three_that_repeats_another_is_found() -> None:
    assert compare([[1, 2, 3], [4, 5, 6], [2, 9]]) == (8, 2)
    assert compare([[1, 2, 3], [4, 4], [7, 8]]) == (5, 0)


def test_the_iterator_that_gave_most_decides() -> None:
    repeats = LoaderRepeats()
    for iterator, given in ((0, [1]), (1, [1, 2, 3]), (2, [5])):
        for worker in (0, 1):
            for each in given:
                repeats.add(iterator, worker, each if iterator == 1 else each + worker)
        repeats.compare()
    assert repeats.result == (6, 6)


def test_the_next_collector_goes_on_with_what_was_found() -> None:
    repeats = LoaderRepeats((128, 128))
    repeats.add(0, 1, 5)
    repeats.compare()
    assert repeats.result == (128, 128)


# Fingerprints

Pair = namedtuple("Pair", "image label")

IMAGES = torch.arange(3 * 64 * 64).reshape(3, 64, 64)


@pytest.mark.parametrize(
    ("batch", "other"),
    [
        (torch.ones(4), torch.zeros(4)),
        (torch.ones(4), torch.ones(5)),
        (torch.ones(2, 8), torch.ones(8, 2)),
        (torch.ones(4, dtype=torch.bfloat16), torch.zeros(4, dtype=torch.bfloat16)),
        ([IMAGES, torch.tensor([1])], [IMAGES, torch.tensor([2])]),
        ({"image": IMAGES, "label": 1}, {"image": IMAGES, "label": 2}),
        (Pair(IMAGES, 1), Pair(IMAGES, 2)),
        (UserDict(ids=torch.tensor([1])), UserDict(ids=torch.tensor([2]))),
        (np.arange(9), np.arange(1, 10)),
        (np.array(["2020"], dtype="datetime64"), np.array(["2021"], dtype="datetime64")),
        (["one", "two"], ["one", "three"]),
        ((b"one", 1.5), (b"one", 2.5)),
    ],
)
def test_batches_that_differ_are_distinguished(batch: Any, other: Any) -> None:
    assert fingerprint(batch) == fingerprint(batch) is not None
    assert fingerprint(batch) != fingerprint(other) is not None


def test_a_frame_of_one_colour_hides_nothing() -> None:
    """Images that differ in the middle alone, many in a batch."""
    images = torch.zeros(64, 3, 64, 64)
    other = images.clone()
    other[:, :, 8:56, 8:56] = torch.rand(64, 3, 48, 48)
    assert fingerprint(images) != fingerprint(other)


def test_little_is_read_however_large_the_batch() -> None:
    large = torch.rand(1 << 20)
    content = large.numpy().tobytes()
    read = pieces(large.data_ptr(), len(content))
    assert sum(map(len, read)) == PIECES * PIECE_BYTES
    assert (read[0], read[-1]) == (content[:PIECE_BYTES], content[-PIECE_BYTES:])
    first = [large] * LEAVES
    assert fingerprint([*first, 1]) == fingerprint([*first, 2])


class Own(Tensor):
    """A class of the user's, which notes every question."""

    @classmethod
    def __torch_function__(cls, *_arguments: Any, **_named: Any) -> Any:
        raise AssertionError("code of the user's ran")


class Container(dict[str, Any]):
    def values(self) -> Any:
        raise AssertionError("code of the user's ran")


@pytest.mark.parametrize(
    "batch",
    [
        torch.ones(4).as_subclass(Own),
        Container(image=torch.ones(4)),
        torch.ones(4, device="meta"),
        torch.ones(4).to_sparse(),
        torch.ones(4, 4).T[1:],
        np.array([object()]),
        object(),
        None,
        [],
    ],
)
def test_what_is_not_understood_is_not_touched(batch: Any) -> None:
    assert fingerprint(batch) is None


def test_a_batch_that_holds_itself_ends() -> None:
    batch: list[Any] = []
    batch += [batch, batch]
    assert fingerprint(batch) is None
