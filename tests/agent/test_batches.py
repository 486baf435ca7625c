"""Batches: loading and arrival are joined whichever is seen first."""

from __future__ import annotations

from underfed.collector.reading.batches import SAMPLED, WAITING, LoaderBatches
from underfed.collector.reading.dispatched import Row
from underfed.collector.wire import Batches

LOAD: Row = {
    "batch_index": 0,
    "worker": 1,
    "start_us": 1_000,
    "load_us": 100,
    "cpu_us": 60,
    "process_cpu_us": 70,
    "runqueue_us": 10,
    "blocked_us": 30,
    "collate_us": 20,
    "asked_bytes": 4096,
    "read_bytes": 0,
    "samples": 8,
}


def only(batches: LoaderBatches) -> Batches:
    (taken,) = batches.take()
    return taken


def test_load_then_arrival() -> None:
    batches = LoaderBatches("train")
    batches.loaded(0, LOAD)
    assert batches.take() == []
    assert batches.waiting == 1
    batches.arrived(0, 0, 1_150)
    joined = only(batches)
    assert (joined.batch_index, joined.worker, joined.received_us, joined.load_us) == ([0], [1], [1_150], [100])
    assert (joined.cpu_us, joined.runqueue_us, joined.blocked_us) == ([60], [10], [30])


def test_arrival_then_load() -> None:
    batches = LoaderBatches("train")
    batches.arrived(0, 0, 1_150)
    assert batches.take() == []
    batches.loaded(0, LOAD)
    assert only(batches).received_us == [1_150]


def test_a_batch_that_was_never_used_says_so() -> None:
    batches = LoaderBatches("train")
    batches.loaded(0, LOAD)
    batches.end_epoch(0)
    assert only(batches).received_us is None
    batches.loaded(0, {**LOAD, "batch_index": 1})
    assert (only(batches).batch_index, batches.waiting) == ([1], 0)


def test_a_column_that_is_not_sampled_is_measured_for_all_or_for_none() -> None:
    batches = LoaderBatches("train")
    batches.loaded(0, LOAD)
    batches.loaded(0, {**LOAD, "batch_index": 1, "samples": None})
    batches.loaded(0, {**LOAD, "batch_index": 2, "worker": None})
    batches.loaded(0, {**LOAD, "batch_index": 3, "runqueue_us": None, "blocked_us": None})
    batches.finish()
    of_a_worker, no_worker = batches.take()
    assert (of_a_worker.batch_index, of_a_worker.worker) == ([0, 1, 3], [1, 1, 1])
    assert (of_a_worker.samples, of_a_worker.blocked_us) == ([8, None, 8], [30, 30, None])
    assert (no_worker.batch_index, no_worker.worker) == ([2], None)


def test_a_sampled_column_of_which_nothing_was_measured_is_left_out() -> None:
    batches = LoaderBatches("train")
    batches.loaded(0, {**LOAD, **dict.fromkeys(SAMPLED)})
    batches.finish()
    taken = only(batches)
    assert (taken.load_us, taken.runqueue_us, taken.collate_us, taken.samples) == ([100], None, None, None)


def test_zero_bytes_are_measured() -> None:
    batches = LoaderBatches("train")
    batches.loaded(0, LOAD)
    batches.finish()
    assert only(batches).read_bytes == [0]


def test_what_waits_is_bounded() -> None:
    batches = LoaderBatches("train")
    for index in range(WAITING + 10):
        batches.loaded(0, {**LOAD, "batch_index": index})
    assert batches.waiting == WAITING
    assert only(batches).batch_index == list(range(10))


def test_arrivals_that_wait_are_bounded() -> None:
    batches = LoaderBatches("train")
    for index in range(WAITING + 10):
        batches.arrived(0, index, 1_150)
    batches.loaded(0, LOAD)
    batches.loaded(0, {**LOAD, "batch_index": 10})
    assert only(batches).batch_index == [10]


def test_what_pinning_took_comes_with_the_batch() -> None:
    batches = LoaderBatches("train")
    batches.pinned(0, 0, 12)
    batches.arrived(0, 0, 1_150)
    batches.loaded(0, LOAD)
    batches.loaded(0, {**LOAD, "batch_index": 1})
    batches.arrived(0, 1, 1_160)
    taken = {each.batch_index[0]: each.pin_us for each in batches.take()}
    assert taken == {0: [12], 1: None}
