"""torchdata's ``StatefulDataLoader``: left in the middle, and gone on with from its state by another one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.told import Told
from tests.frameworks.conftest import Ran
from tests.frameworks.program import SAMPLES, Samples, Stream, Watch, draw, main

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
    main(TRAININGS)

# The tests


@pytest.mark.parametrize("training", TRAININGS)
def test_it_goes_on_with_the_same_batches(ran: Ran, training: str) -> None:
    assert ran.same(training)
    first, second, third = ran.seen[training]["watched"]
    assert (len(first), len(second["batches"]), len(third["batches"])) == (LEFT_AT, SAMPLES - LEFT_AT, SAMPLES)


@pytest.mark.parametrize("training", TRAININGS)
def test_each_batch_that_was_asked_for_is_a_step(ran: Ran, training: str) -> None:
    first, second = ran.told(training, "first"), ran.told(training, "second")
    assert first.places == [(0, batch) for batch in range(LEFT_AT)]
    assert [epoch for epoch, _ in second.places] == [0] * (SAMPLES - LEFT_AT) + [1] * SAMPLES
    assert len(set(second.places)) == len(second.places)
    for told in (first, second):
        check(told)
    for told in ran.unasked_all(training):
        assert told.facts["dataset_type"] == DATA_SETS[training]
        check(told)


def check(told: Told) -> None:
    """Each was seen being loaded, and by whom; when it came, too, if that was not while its iterator was made."""
    assert set(told.places) <= set(told.batches)
    has_workers = told.facts["settings"]["num_workers"] > 0
    for place, step in zip(told.places, told.steps.values(), strict=True):
        assert ("worker" in told.batches[place]) == has_workers
        assert "received_us" in told.batches[place] or place[0] == 0
        assert step.sampler_us is not None
    assert not {"data_wait_us", "step_us", "load_us", "sampler_us"} & set(told.not_measured)


def test_batches_that_are_skipped_to_get_there_are_no_steps(ran: Ran) -> None:
    """Its workers fast-forward what has no state, within the making of the iterator."""
    told = ran.told("stream_with_workers", "second")
    skipped = sorted(set(told.batches) - set(told.places))
    assert skipped == [(0, batch) for batch in range(LEFT_AT)]
    assert all("received_us" not in told.batches[place] for place in skipped)
