"""On the ``torch.utils.data`` of other releases a watched loader gives what a bare one gives, and all is measured."""

from __future__ import annotations

import pytest

from tests.torch_versions.conftest import Run
from tests.torch_versions.drawing import count_batches
from underfed.exchange.ring_format import LATER_COLUMNS

pytestmark = pytest.mark.long

DEVICE = {name for names in LATER_COLUMNS.values() for name in names}
"""What they need is a matter of the machine, not of the release."""

NO_LENGTH = {"dataset_length", "batches_per_epoch"}
NO_QUEUE = {"queue_depth"}
KNOWN = {
    "no workers": NO_QUEUE | {"constructor_call"},  # the first one is constructed before it can be seen
    "collate, no workers": NO_QUEUE,
    "failing, no workers": NO_QUEUE,
    "pinned, no workers": NO_QUEUE,
    "samples": NO_QUEUE,
    "stream": NO_LENGTH,
    "stream, no workers": NO_LENGTH | NO_QUEUE,
}
"""What is not measured of these loaders on any release."""


def test_it_is_that_release_that_runs(run: Run) -> None:
    assert run.is_served
    assert count_batches(run.bare["fork"]) == 12


def test_a_watched_loader_gives_what_a_bare_one_gives(run: Run) -> None:
    """Batches, order, random state, and errors with every line of their tracebacks."""
    for name, seen in run.bare.items():
        assert run.watched[name] == seen, name


def test_spawned_workers_give_what_forked_ones_give(run: Run) -> None:
    assert run.watched["spawn"] == run.bare["one worker"]


def test_afterwards_nothing_is_left(run: Run) -> None:
    assert run.left == []
    for name, seen in run.after.items():
        assert run.bare[name] == seen, name


def test_every_step_is_recorded(run: Run) -> None:
    assert run.steps == {name: count_batches(seen) for name, seen in run.watched.items()}


def test_how_every_batch_was_loaded_is_recorded(run: Run) -> None:
    assert run.batches == {name: count_batches(seen) for name, seen in run.watched.items()}
    assert {name: count for name, count in run.pinned.items() if count} == {"pinned": 12, "pinned, no workers": 12}
    assert run.failures == 0


def test_nothing_is_missing(run: Run) -> None:
    assert {name: set(reasons) - DEVICE for name, reasons in run.not_measured.items()} == {
        name: KNOWN.get(name, set()) for name in run.watched
    }
