"""What each pass over a loader shows of its use: whether gradients were enabled, and whether a graph was built."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

import underfed
from tests.fakes.datasets import Numbers
from tests.fakes.received import received
from tests.fakes.service import Service, Window, wait_until

MODEL = nn.Linear(3, 1)
BATCHES = 12

Use = Callable[[Any], Any]


def train(batch: Any) -> None:
    MODEL(batch).sum().backward()


def evaluate(batch: Any) -> None:
    with torch.no_grad():
        MODEL(batch)


def train_each(batches: Iterable[Any]) -> None:
    for batch in batches:
        train(batch)


def accumulate(batches: Iterable[Any]) -> None:
    """The batches of one update are requested together, as Hugging Face's Trainer does."""
    held = []
    for batch in batches:
        held.append(batch)
        if len(held) == 4:
            for each in held:
                train(each)
            held = []


def passes(service: Service, name: str = "train") -> list[Window]:
    underfed.finish()
    wait_until(service.ends, "the end arrives")
    return [epoch for _, epoch in sorted(received(service, name).epochs.items())]


def gradients_of(epoch: Window) -> tuple[bool | None, bool | None]:
    return epoch.get("grad_enabled"), epoch.get("graph_built")


def in_a_thread(run: Callable[[], object]) -> None:
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize(
    ("context", "use", "expected"),
    [
        (nullcontext, train, (True, True)),
        (nullcontext, evaluate, (True, False)),
        (torch.no_grad, evaluate, (False, False)),
        (torch.inference_mode, evaluate, (False, False)),
    ],
)
def test_a_pass_reports_whether_gradients_were_on_and_a_graph_was_built(
    service: Service, context: Callable[[], Any], use: Use, expected: tuple[bool, bool], num_workers: int
) -> None:
    """Hugging Face's Trainer evaluates with gradients enabled around the loop, and disabled within each step."""
    loader = underfed.watch(DataLoader(Numbers(BATCHES), num_workers=num_workers), name="train")
    with context():
        for batch in loader:
            use(batch)
    (epoch,) = passes(service)
    assert gradients_of(epoch) == expected


def test_each_pass_shows_its_own_role_also_after_the_first_steps(service: Service) -> None:
    loader = underfed.watch(DataLoader(Numbers(40)), name="train")
    for use in (train, evaluate, train):
        for batch in loader:
            use(batch)
    assert [gradients_of(epoch)[1] for epoch in passes(service)] == [True, False, True]


def test_a_persistent_iterator_reports_it_of_each_pass(service: Service) -> None:
    loader = underfed.watch(DataLoader(Numbers(4), num_workers=1, persistent_workers=True), name="train")
    for batch in loader:
        train(batch)
    with torch.no_grad():
        for batch in loader:
            evaluate(batch)
    assert [gradients_of(epoch) for epoch in passes(service)] == [(True, True), (False, False)]


def test_batches_that_are_requested_before_any_is_used_build_their_graph_later(service: Service) -> None:
    accumulate(underfed.watch(DataLoader(Numbers(BATCHES)), name="train"))
    (epoch,) = passes(service)
    assert gradients_of(epoch) == (True, True)


class Featured(Numbers):
    """Loading runs a model, and forgets to disable gradients."""

    def __getitem__(self, index: int) -> Any:
        return MODEL(super().__getitem__(index)).detach()


def test_a_graph_that_loading_builds_is_not_the_loops(service: Service) -> None:
    for _ in underfed.watch(DataLoader(Featured(BATCHES)), name="train"):
        pass
    (epoch,) = passes(service)
    assert gradients_of(epoch) == (True, False)


def test_a_thread_that_only_fetches_does_not_say_that_nothing_was_built(service: Service) -> None:
    """A graph is counted in the thread that builds it."""
    loader = underfed.watch(DataLoader(Numbers(BATCHES)), name="train")
    in_a_thread(lambda: list(loader))
    (epoch,) = passes(service)
    assert gradients_of(epoch) == (True, None)
    assert epoch["in_background"] is True


def test_an_iterator_of_the_main_thread_that_another_one_reads_is_read_in_the_background(service: Service) -> None:
    """As MONAI's ThreadDataLoader reads its own."""
    iterator = iter(underfed.watch(DataLoader(Numbers(BATCHES)), name="train"))
    in_a_thread(lambda: list(iterator))
    (epoch,) = passes(service)
    assert epoch["in_background"] is True


@pytest.mark.parametrize("accumulates", [False, True])
def test_a_thread_that_trains_does_so_itself(service: Service, accumulates: bool) -> None:
    """As Ray Train calls a training function."""
    loader = underfed.watch(DataLoader(Numbers(BATCHES)), name="train")
    in_a_thread(lambda: (accumulate if accumulates else train_each)(loader))
    (epoch,) = passes(service)
    assert (*gradients_of(epoch), epoch["in_background"]) == (True, True, False)


def test_an_iterable_that_is_no_dataloader_reports_it_too(service: Service) -> None:
    for batch in underfed.watch([torch.zeros(3)] * BATCHES, name="train"):
        train(batch)
    (epoch,) = passes(service)
    assert gradients_of(epoch) == (True, True)


def test_a_pass_that_is_broken_off_after_two_batches_has_reported_it(service: Service) -> None:
    for batch, _ in zip(underfed.watch(DataLoader(Numbers(BATCHES)), name="train"), range(2), strict=False):
        evaluate(batch)
    (epoch,) = passes(service)
    assert gradients_of(epoch) == (True, False)
