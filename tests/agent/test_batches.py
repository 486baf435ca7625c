"""Batches: loading and arrival are joined whichever is seen first, and the parts of a load add up to it."""

from __future__ import annotations

from dataclasses import replace

from underfed.collector.reading.batches import WAITING, Load, LoaderBatches
from underfed.collector.wire import Batches
from underfed.exchange.ring_format import NOT_MEASURED

LOAD = Load(
    epoch_index=0,
    batch_index=0,
    worker=1,
    start_us=1_000,
    end_us=1_100,
    cpu_us=60,
    runqueue_us=10,
    collate_us=20,
    process_cpu_us=70,
    asked_bytes=4096,
    read_bytes=0,
    samples=8,
)


def only(batches: LoaderBatches) -> Batches:
    (taken,) = batches.take()
    return taken


def test_load_then_arrival() -> None:
    batches = LoaderBatches("train")
    batches.loaded(LOAD)
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
    batches.loaded(LOAD)
    assert only(batches).received_us == [1_150]


def test_a_batch_that_was_never_used_says_so() -> None:
    batches = LoaderBatches("train")
    batches.loaded(LOAD)
    batches.end_epoch(0)
    assert only(batches).received_us is None
    batches.loaded(replace(LOAD, batch_index=1))
    assert (only(batches).batch_index, batches.waiting) == ([1], 0)


def test_the_parts_of_a_load_add_up_to_it_though_clocks_differ() -> None:
    batches = LoaderBatches("train")
    for index, (cpu_us, runqueue_us) in enumerate([(130, 10), (95, 30), (0, 0)]):
        batches.loaded(replace(LOAD, batch_index=index, cpu_us=cpu_us, runqueue_us=runqueue_us))
    batches.finish()
    joined = only(batches)
    assert joined.runqueue_us is not None
    assert joined.blocked_us is not None
    parts = list(zip(joined.cpu_us, joined.runqueue_us, joined.blocked_us, strict=True))
    assert parts == [(100, 0, 0), (95, 5, 0), (0, 0, 100)]


def test_a_column_is_measured_for_all_or_for_none() -> None:
    batches = LoaderBatches("train")
    batches.loaded(LOAD)
    batches.loaded(replace(LOAD, batch_index=1, samples=NOT_MEASURED))
    batches.loaded(replace(LOAD, batch_index=2, runqueue_us=NOT_MEASURED))
    batches.loaded(replace(LOAD, batch_index=3, worker=NOT_MEASURED))
    batches.finish()
    full, no_samples, no_runqueue, no_worker = batches.take()
    assert (full.samples, no_samples.samples) == ([8], None)
    assert (no_runqueue.runqueue_us, no_runqueue.blocked_us) == (None, None)
    assert (full.worker, no_worker.worker) == ([1], None)


def test_zero_bytes_are_measured() -> None:
    batches = LoaderBatches("train")
    batches.loaded(LOAD)
    batches.finish()
    assert only(batches).read_bytes == [0]


def test_what_waits_is_bounded() -> None:
    batches = LoaderBatches("train")
    for index in range(WAITING + 10):
        batches.loaded(replace(LOAD, batch_index=index))
    assert batches.waiting == WAITING
    assert only(batches).batch_index == list(range(10))


def test_arrivals_that_wait_are_bounded() -> None:
    batches = LoaderBatches("train")
    for index in range(WAITING + 10):
        batches.arrived(0, index, 1_150)
    batches.loaded(LOAD)
    batches.loaded(replace(LOAD, batch_index=10))
    assert only(batches).batch_index == [10]


def test_what_pinning_took_comes_with_the_batch() -> None:
    batches = LoaderBatches("train")
    batches.pinned(0, 0, 12)
    batches.arrived(0, 0, 1_150)
    batches.loaded(LOAD)
    batches.loaded(replace(LOAD, batch_index=1))
    batches.arrived(0, 1, 1_160)
    taken = {each.batch_index[0]: each.pin_us for each in batches.take()}
    assert taken == {0: [12], 1: None}
