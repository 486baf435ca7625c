"""From the records of a loader's rings to steps, epochs and batches."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from underfed.collector.reading.loader_records import LoaderRecords
from underfed.collector.reading.overhead import Overhead
from underfed.collector.reading.resume import LoaderResume, Resume, from_json
from underfed.collector.wire import LONGEST_US, Batches, as_json
from underfed.exchange import ring_format
from underfed.exchange.ring_format import NOT_MEASURED, Record, head
from underfed.exchange.run_files import RingName

STEPS = RingName(0)
WORKER = RingName(0, 0, 1)
ORIGIN_NS = 1_000_000


def at(us: int) -> int:
    return ORIGIN_NS + us * 1_000


def rec(kind: int, epoch: int, *fields: int) -> Record:
    a, b, c, d, e, f = (*fields, *([0] * (6 - len(fields))))
    return head(kind, epoch), a, b, c, d, e, f, 1


def epoch(
    index: int, iterator: int = 0, number: int = 0, start_us: int = 0, first_step: int = 0, packed: int = 0
) -> Record:
    return rec(ring_format.EPOCH, index, iterator, number, at(start_us), at(start_us + 5), first_step, packed)


def step(index: int, entered_us: int, received_us: int = -1, epoch_index: int = 0) -> Record:
    return rec(ring_format.STEP, epoch_index, at(entered_us), at(entered_us + 10), 1, index, index, at(received_us))


def load(index: int, number: int = 0) -> list[Record]:
    begun = rec(ring_format.BATCH, number, index, at(20), at(80), 40_000, 5_000, 7_000)
    return [begun, rec(ring_format.BATCH_DETAIL, number, index, 41_000, 4096, 512, 8, 900_000)]


def loader(is_pause: bool = False, resume: LoaderResume | None = None) -> LoaderRecords:
    return LoaderRecords("train", ORIGIN_NS, lambda _a, _b: is_pause, Overhead(), resume)


def taken(records: LoaderRecords) -> Sequence[Batches]:
    return records.batches.take()


def test_a_workers_batch_gets_the_time_it_was_received() -> None:
    records = loader()
    records.feed(STEPS, [epoch(4)])
    records.feed(WORKER, load(0))
    records.feed(STEPS, [step(0, 90, received_us=95, epoch_index=4)])
    (batches,) = taken(records)
    assert (batches.epoch_index, batches.worker, batches.received_us) == (4, [1], [95])
    assert (batches.start_us, batches.load_us, batches.collate_us) == ([20], [60], [7])
    assert (batches.asked_bytes, batches.read_bytes, batches.samples) == ([4096], [512], [8])
    assert records.workers_cpu_us == {WORKER: 900}


def test_a_batch_that_came_early_has_its_own_time() -> None:
    records = loader()
    records.feed(STEPS, [epoch(0)])
    records.feed(WORKER, [*load(0), *load(1)])
    early = rec(ring_format.ARRIVAL, 0, 1, at(91))
    records.feed(STEPS, [early, step(0, 90, received_us=95), step(1, 110, received_us=95)])
    (batches,) = taken(records)
    assert dict(zip(batches.batch_index, batches.received_us or [], strict=True)) == {1: 91, 0: 95}


@pytest.mark.parametrize("arguments", [(0, False, False, 1), (-1, True, False, 2), (5 << 40, True, True, 1024)])
def test_what_is_known_of_a_pass_is_packed_into_a_number(arguments: tuple[int, bool, bool, int]) -> None:
    packed = ring_format.pack_pass(*arguments)
    assert ring_format.unpack_pass(packed) == arguments
    assert abs(packed) < 1 << 63


def dispatched(ranks: int, requests: int, first_step: int = 0) -> LoaderRecords:
    """One rank takes a batch for each, and works 80 µs on them."""
    records, packed = loader(), ring_format.pack_pass(0, True, False, ranks)
    records.steps.next_step = first_step
    records.feed(STEPS, [epoch(0, first_step=first_step, packed=packed)])
    for index in range(requests):
        entered_us = 100 + 10 * index + 80 * (index // ranks)
        asked = rec(
            ring_format.STEP, 0, at(entered_us), at(entered_us + 10), 1, index, first_step + index, at(entered_us)
        )
        records.feed(WORKER, load(index))
        records.feed(STEPS, [asked])
    records.feed(STEPS, [rec(ring_format.EXHAUSTED, 0, at(10_000), at(10_001))])
    return records


@pytest.mark.parametrize("first_step", [0, 7])
def test_what_one_rank_requests_for_several_is_one_step(first_step: int) -> None:
    records = dispatched(2, 8, first_step)
    (steps,) = records.steps.take_steps()
    assert (steps.first_step_index, steps.start_us, steps.batch_index) == (first_step, 100, None)
    assert (steps.step_us[:3], steps.data_wait_us) == ([100, 100, 100], [20, 20, 20, 20])
    (ended,) = records.steps.take_epochs()
    assert (ended.steps, ended.first_step_index, records.steps.dropped_steps) == (4, first_step, 0)


def test_what_came_for_one_step_is_one_batch() -> None:
    (batches,) = taken(dispatched(2, 8))
    assert (batches.batch_index, batches.load_us, batches.samples) == ([0, 1, 2, 3], [120] * 4, [16] * 4)
    assert (batches.cpu_us, batches.collate_us, batches.asked_bytes) == ([80] * 4, [14] * 4, [8192] * 4)
    assert batches.received_us == [110, 210, 310, 410]


def test_the_last_step_may_have_fewer_requests() -> None:
    records = dispatched(4, 9)
    (steps,) = records.steps.take_steps()
    assert steps.data_wait_us == [40, 40, 10]
    assert [batch for each in taken(records) for batch in each.batch_index] == [0, 1]


def test_a_step_of_which_a_request_was_lost_is_dropped() -> None:
    records = loader()
    records.feed(STEPS, [epoch(0, packed=ring_format.pack_pass(0, True, False, 2))])
    records.feed(STEPS, [step(index, 100 * index) for index in (0, 1, 2, 4, 5, 6, 7)])
    steps = records.steps.take_steps()
    assert [each.first_step_index for each in steps] == [0, 2]
    assert records.steps.dropped_steps == 1


def test_a_collector_that_takes_over_goes_on_with_steps_of_several_requests() -> None:
    records = loader()
    records.feed(STEPS, [epoch(0, packed=ring_format.pack_pass(0, True, False, 2))])
    records.feed(STEPS, [step(index, 100 * index) for index in range(5)])
    resume = Resume(loaders={0: records.resume()})
    after = loader(resume=from_json(json.loads(json.dumps(as_json(resume)))).loaders[0])
    after.feed(STEPS, [step(index, 100 * index) for index in range(6, 12)])
    (steps,) = after.steps.take_steps()
    assert (steps.first_step_index, len(steps.step_us)) == (3, 2)


def test_batches_wait_for_the_record_of_their_iterator() -> None:
    records = loader()
    records.feed(WORKER, load(0))
    records.feed(STEPS, [epoch(2), step(0, 90, received_us=95, epoch_index=2)])
    assert [batches.epoch_index for batches in taken(records)] == [2]


def test_a_kept_iterators_passes_are_epochs_of_the_loader() -> None:
    records = loader()
    kept = rec(ring_format.EPOCH, 1, 0, 1, at(200), NOT_MEASURED, 1)
    records.feed(STEPS, [epoch(0), step(0, 90), rec(ring_format.EXHAUSTED, 0, at(120), at(121)), kept])
    records.feed(WORKER, load(0, number=1))
    records.feed(STEPS, [step(1, 300, received_us=302, epoch_index=1)])
    records.finish()
    assert [batches.epoch_index for batches in taken(records)] == [1]
    epochs = {each.epoch_index: each for each in records.steps.take_epochs()}
    assert (epochs[0].iterator_us, epochs[1].iterator_us, epochs[1].startup_us) == (5, None, 110)


def test_without_workers_the_batch_is_received_when_it_is_loaded() -> None:
    records = loader()
    detail = rec(ring_format.BATCH_DETAIL, 0, 0, 41_000, 0, 0, 8)
    records.feed(STEPS, [epoch(0), step(0, 20), load(0)[0], detail])
    (batches,) = taken(records)
    assert (batches.worker, batches.received_us, batches.samples) == (None, [80], [8])


def test_a_batch_whose_second_record_was_overwritten_is_kept_without_it() -> None:
    records = loader()
    records.feed(STEPS, [epoch(0)])
    records.feed(WORKER, [load(0)[0], *load(1)])
    records.finish()
    (both,) = taken(records)
    assert (both.batch_index, both.samples, both.cpu_us) == ([0, 1], [None, 8], [40, 40])


def short(index: int) -> Record:
    return rec(ring_format.SHORT_BATCH, 0, index, at(100), at(140), 30_000, 8)


def test_of_a_short_batch_it_is_known_when_it_was_loaded_and_its_time_on_a_cpu() -> None:
    records = loader()
    records.feed(STEPS, [epoch(0)])
    records.feed(WORKER, [load(0)[0], short(1), *load(2), short(3)])
    for index in range(4):
        records.feed(STEPS, [step(index, 150 + index, received_us=155 + index)])
    (batches,) = taken(records)
    assert (batches.batch_index, batches.worker) == ([0, 1, 2, 3], [1, 1, 1, 1])
    assert (batches.start_us, batches.load_us) == ([20, 100, 20, 100], [60, 40, 60, 40])
    assert batches.received_us == [155, 156, 157, 158]
    assert (batches.cpu_us, batches.collate_us) == ([40, 30, 40, 30], [7, None, 7, None])
    assert (batches.runqueue_us, batches.blocked_us) == ([5, None, 5, None], [15, None, 15, None])
    assert (batches.process_cpu_us, batches.samples) == ([None, None, 41, None], [None, 8, 8, 8])


def test_each_lost_record_of_short_batches_is_a_lost_batch() -> None:
    records = loader()
    records.feed(WORKER, [short(0)])
    records.feed(WORKER, load(9), lost=8)
    assert records.dropped_batches == 8
    records.feed(WORKER, [], lost=8)
    assert records.dropped_batches == 12


def test_a_batch_whose_first_record_was_overwritten_is_left_out() -> None:
    records = loader()
    records.feed(STEPS, [epoch(0)])
    records.feed(WORKER, [load(0)[1]], lost=1)
    records.finish()
    assert (taken(records), records.dropped_batches) == ([], 1)


def test_unreadable_clocks_are_not_measured() -> None:
    records = loader()
    begun = rec(ring_format.BATCH, 0, 0, at(20), at(80), 40_000, NOT_MEASURED, 0)
    detail = rec(ring_format.BATCH_DETAIL, 0, 0, 41_000, NOT_MEASURED, NOT_MEASURED, 8, 0)
    records.feed(STEPS, [epoch(0)])
    records.feed(WORKER, [begun, detail])
    records.finish()
    (batches,) = taken(records)
    assert (batches.runqueue_us, batches.blocked_us, batches.asked_bytes, batches.read_bytes) == (None,) * 4
    assert batches.cpu_us == [40]


def test_the_parts_of_a_load_add_up_to_it_though_clocks_differ() -> None:
    records = loader()
    records.feed(STEPS, [epoch(0)])
    for index, (cpu_us, runqueue_us) in enumerate([(130, 10), (95, 30), (0, 0)]):
        begun = rec(ring_format.BATCH, 0, index, at(0), at(100), cpu_us * 1_000, runqueue_us * 1_000, 0)
        records.feed(WORKER, [begun])
    records.finish()
    (joined,) = taken(records)
    assert joined.cpu_us is not None
    assert joined.runqueue_us is not None
    assert joined.blocked_us is not None
    parts = list(zip(joined.cpu_us, joined.runqueue_us, joined.blocked_us, strict=True))
    assert parts == [(100, 0, 0), (95, 5, 0), (0, 0, 100)]


def test_the_next_collector_knows_epochs_and_passes() -> None:
    first = loader()
    shape = rec(ring_format.BATCH_SHAPE, 0, 2, 4096, 0)
    dtype = rec(ring_format.BATCH_DTYPE, 0, ring_format.DTYPES.index("int64"), 4096)
    first.feed(STEPS, [epoch(0, start_us=3), step(0, 90), shape, dtype, rec(ring_format.GRAPH, 0, 1)])
    kept = from_json(json.loads(json.dumps(as_json(Resume(loaders={0: first.resume()}))))).loaders[0]
    assert (kept.open_epochs[0].pending, first.steps.open[0].pending is None) == (None, False)
    second = loader(resume=kept)
    second.feed(WORKER, load(1))
    second.feed(STEPS, [step(1, 130, received_us=135), rec(ring_format.EXHAUSTED, 0, at(150), at(151))])
    assert [batches.epoch_index for batches in taken(second)] == [0]
    (ended,) = second.steps.take_epochs()
    assert (ended.start_us, ended.steps, ended.ended) == (3, 2, "exhausted")
    assert (ended.grad_enabled, ended.graph_built) == (False, True)
    assert (second.steps.dropped_steps, second.shape) == (0, (2, 4096))
    assert (second.dtypes, second.fits_uint8) == ({"int64": 4096}, False)


def test_a_later_column_is_reported_in_the_unit_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {ring_format.DEVICE: ("gpu_idle_us", "gpu_work_us", "made_bytes")}
    monkeypatch.setattr(ring_format, "LATER_COLUMNS", columns)
    received: list[dict[str, int | None]] = []
    records = loader()
    monkeypatch.setattr(records.steps, "later", lambda _, times: received.append(times))
    megabytes, hours_ns = 38_535_168, 2 * 3_600_000_000_000
    records.feed(STEPS, [rec(ring_format.DEVICE, 0, 7, hours_ns, 4_500, megabytes)])
    records.feed(STEPS, [rec(ring_format.DEVICE, 0, 8, NOT_MEASURED, 0, NOT_MEASURED)])
    assert received == [
        {"gpu_idle_us": LONGEST_US, "gpu_work_us": 5, "made_bytes": megabytes},
        {"gpu_idle_us": None, "gpu_work_us": 0, "made_bytes": None},
    ]
