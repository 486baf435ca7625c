"""torchdata's ``StatefulDataLoader``: one stops in the middle of an epoch, and another continues from its state."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.received import Received
from tests.frameworks.conftest import Ran
from tests.frameworks.pages import STEPS, run_page
from tests.frameworks.program import SAMPLES, Samples, Stream, Watch, draw, main

pytestmark = pytest.mark.long

LEFT_AT = 3

# The program


def resume(watch: Watch, data_set: Any, **settings: Any) -> Any:
    from torchdata.stateful_dataloader import StatefulDataLoader

    first = watch(StatefulDataLoader(data_set(), **settings), name="first")
    iterator = iter(first)
    seen = [next(iterator).tolist() for _ in range(LEFT_AT)]
    state = first.state_dict()
    del iterator
    second = StatefulDataLoader(data_set(), **settings)
    second.load_state_dict(state)
    watch(second, name="second")
    return [seen, draw(second), draw(second)]


def without_workers(watch: Watch) -> Any:
    return resume(watch, Samples)


def with_workers(watch: Watch) -> Any:
    return resume(watch, Samples, num_workers=2)


def stream(watch: Watch) -> Any:
    return resume(watch, Stream)


def stream_with_workers(watch: Watch) -> Any:
    return resume(watch, Stream, num_workers=2)


TRAININGS = {training.__name__: training for training in (without_workers, with_workers, stream, stream_with_workers)}
DATA_SETS = {
    "without_workers": "Samples",
    "with_workers": "Samples",
    "stream": "Stream",
    "stream_with_workers": "Stream",
}

if __name__ == "__main__":
    main(TRAININGS, lambda: run_page("torchdata"))

# The tests


@pytest.mark.parametrize("training", TRAININGS)
def test_it_continues_with_the_same_batches(ran: Ran, training: str) -> None:
    assert ran.same(training)
    first, second, third = ran.seen[training]["watched"]
    assert (len(first), len(second["batches"]), len(third["batches"])) == (LEFT_AT, SAMPLES - LEFT_AT, SAMPLES)


@pytest.mark.parametrize("training", TRAININGS)
def test_each_batch_that_was_asked_for_is_a_step(ran: Ran, training: str) -> None:
    first, second = ran.received(training, "first"), ran.received(training, "second")
    assert first.places == [(0, batch) for batch in range(LEFT_AT)]
    assert [epoch for epoch, _ in second.places] == [0] * (SAMPLES - LEFT_AT) + [1] * SAMPLES
    assert len(set(second.places)) == len(second.places)
    for received in (first, second):
        check(received, resumed=0)


@pytest.mark.parametrize("training", TRAININGS)
def test_a_resumed_loader_goes_on_as_the_one_that_was_left(ran: Ran, training: str) -> None:
    """Without names: the one is iterated in another line than the other, over another data set of that class."""
    (received,) = ran.automatic_all(training)
    assert received.facts["dataset_type"] == DATA_SETS[training]
    assert [epoch for epoch, _ in received.places] == [0] * LEFT_AT + [1] * (SAMPLES - LEFT_AT) + [2] * SAMPLES
    assert sorted(received.steps) == list(range(2 * SAMPLES))
    check(received, resumed=1)


def check(received: Received, resumed: int) -> None:
    """Each batch has its load and its worker; also its arrival, unless that was during construction of the iterator of
    the resumed epoch."""
    assert set(received.places) <= set(received.batches)
    has_workers = received.facts["settings"]["num_workers"] > 0
    for place, step in zip(received.places, received.steps.values(), strict=True):
        assert ("worker" in received.batches[place]) == has_workers
        assert "received_us" in received.batches[place] or place[0] == resumed
        assert step.sampler_us is not None
    assert not {"data_wait_us", "step_us", "load_us", "sampler_us"} & set(received.not_measured)


def test_batches_that_are_skipped_to_get_there_are_no_steps(ran: Ran) -> None:
    """Its workers fast-forward what has no state, during iterator construction."""
    received = ran.received("stream_with_workers", "second")
    skipped = sorted(set(received.batches) - set(received.places))
    assert skipped == [(0, batch) for batch in range(LEFT_AT)]
    assert all("received_us" not in received.batches[place] for place in skipped)


def test_the_program_of_its_page_is_recorded(ran: Ran) -> None:
    assert ran.steps_of_page() == STEPS["torchdata"]
