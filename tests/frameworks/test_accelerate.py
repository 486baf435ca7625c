"""Accelerate's loaders request one batch ahead: each wait is recorded for the step in which the loop waited."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from torch.utils.data import DataLoader

from tests.frameworks.conftest import Ran
from tests.frameworks.pages import STEPS, run_page
from tests.frameworks.program import SAMPLES, SLOW, SLOW_S, Checks, Samples, Stream, Watch, draw, main
from tests.frameworks.tracked import logged_by, require_figures

pytestmark = pytest.mark.long

# The program


def shard(watch: Watch) -> Any:
    loader = accelerator().prepare(watch(DataLoader(Samples()), name="train"))
    return [draw(loader), draw(loader)]


def shard_with_workers(watch: Watch) -> Any:
    return draw(accelerator().prepare(watch(DataLoader(Samples(), num_workers=2), name="train")))


def prepared_before(watch: Watch) -> Any:
    loader = watch(accelerator().prepare(DataLoader(Samples())), name="train")
    return [draw(loader), draw(loader)]


def dispatched(watch: Watch) -> Any:
    """What Accelerate does with an iterable data set."""
    return draw(accelerator().prepare(watch(DataLoader(Stream()), name="train")))


def resumed(watch: Watch) -> Any:
    from accelerate import skip_first_batches

    loader = accelerator().prepare(watch(DataLoader(Samples()), name="train"))
    return [draw(skip_first_batches(loader, 2)), draw(loader)]


def skipping(watch: Watch) -> Any:
    """Not prepared by Accelerate: only skips batches."""
    from accelerate import skip_first_batches

    return draw(skip_first_batches(watch(DataLoader(Stream()), name="train"), 2))


def nested(watch: Watch) -> Any:
    """Each sample takes a batch of another loader, whose batches are not requested ahead."""
    inner = watch(DataLoader(Checks()), name="inner")
    return draw(accelerator().prepare(watch(DataLoader(Outer(inner)), name="outer")))


class Outer(Samples):
    def __init__(self, inner: Any) -> None:
        super().__init__(2, -1)
        self.inner = inner

    def __getitem__(self, index: int) -> Any:
        return super().__getitem__(index) + sum(batch.sum() for batch in self.inner)


def accelerator() -> Any:
    from accelerate import Accelerator

    return Accelerator(cpu=True)


TRAININGS = {
    training.__name__: training
    for training in (shard, shard_with_workers, prepared_before, dispatched, resumed, skipping, nested)
}

if __name__ == "__main__":
    main(TRAININGS, lambda: run_page("accelerate"), partial(logged_by, "accelerate"))

# The tests


@pytest.mark.parametrize("training", TRAININGS)
def test_the_batches_are_those_without_the_agent(ran: Ran, training: str) -> None:
    assert ran.same(training)


@pytest.mark.parametrize("training", ["shard", "prepared_before"])
def test_the_first_the_slow_and_the_last_wait_are_those_of_the_loop(ran: Ran, training: str) -> None:
    for received, seen in zip(ran.both(training, "train", "Samples"), ran.recorded(training), strict=True):
        assert received.places == [(epoch, batch) for epoch in range(2) for batch in range(SAMPLES)]
        for epoch, passed in enumerate(seen):
            waits, last = received.waits_us[epoch * SAMPLES :][:SAMPLES], received.steps[(epoch + 1) * SAMPLES - 1]
            assert min(received.wait_s(epoch, SLOW - 1), passed["waits_s"][SLOW - 1]) >= SLOW_S
            assert all(wait <= 1e6 * there + 1 for wait, there in zip(waits, passed["waits_s"], strict=True))
            assert last.step_us is None  # the last batch has no later request that would end its step


def test_with_workers_every_batch_says_how_it_was_loaded(ran: Ran) -> None:
    for received in ran.both("shard_with_workers", "train", "Samples"):
        assert received.places == [(0, batch) for batch in range(SAMPLES)]
        assert set(received.batches) == set(received.places)
        assert {batch["worker"] for batch in received.batches.values()} == {0, 1}
        assert received.batches[0, SLOW]["load_us"] >= SLOW_S * 1e6


def test_a_dispatcher_requests_ahead_too(ran: Ran) -> None:
    for received in ran.both("dispatched", "train", "Stream"):
        assert received.facts["dispatched"] is False  # there is one rank
        assert received.places == [(0, batch) for batch in range(SAMPLES)]
        assert received.wait_s(0, SLOW - 1) >= SLOW_S


def test_a_resumed_loader_and_its_original_are_one(ran: Ran) -> None:
    for received in ran.both("resumed", "train", "Samples"):
        assert received.places == [(0, batch) for batch in range(SAMPLES - 2)] + [
            (1, batch) for batch in range(SAMPLES)
        ]


def test_a_loader_that_only_skips_batches_does_not_request_ahead(ran: Ran) -> None:
    for received in ran.both("skipping", "train", "Stream"):
        assert len(received.steps) == SAMPLES
        assert received.waits_us[SLOW] >= SLOW_S * 1e6


def test_nor_does_a_data_set_that_iterates_another_loader(ran: Ran) -> None:
    for received in ran.both("nested", "inner", "Checks"):
        assert received.places == [(epoch, batch) for epoch in range(2) for batch in range(3)]
        assert min(received.wait_s(epoch, 1) for epoch in range(2)) >= SLOW_S


def test_the_program_of_its_page_is_recorded(ran: Ran) -> None:
    assert ran.steps_of_page() == STEPS["accelerate"]


def test_figures_are_logged_beside_the_trainings_own(ran: Ran) -> None:
    require_figures(ran.logged())
    configs = [window["run"]["config"] for window in ran.service.windows if "run" in window]
    assert configs[-1] == {"learning_rate": 0.01}
