"""The contents of windows: several loaders together, pauses between them, and no window over its limits."""

from __future__ import annotations

from underfed.collector.reading.overhead import Overhead
from underfed.collector.reading.rank_content import RankContent
from underfed.collector.reading.rank_rings import Drained
from underfed.exchange import ring_format
from underfed.exchange.facts import LoaderFacts
from underfed.exchange.ring_format import NOT_MEASURED, Record, head
from underfed.exchange.run_files import RingName
from underfed.host.clock import to_us

TRAIN, VAL = RingName(0), RingName(1)


def rec(kind: int, epoch: int, *fields: int) -> Record:
    a, b, c, d, e, f = (*fields, *([0] * (6 - len(fields))))
    return head(kind, epoch), a, b, c, d, e, f, 1


def epoch(index: int, start_us: int, first_step: int = 0) -> Record:
    return rec(ring_format.EPOCH, index, index, 0, start_us * 1000, start_us * 1000, first_step)


def step(index: int, entered_us: int) -> Record:
    return rec(ring_format.STEP, 0, entered_us * 1000, (entered_us + 1) * 1000, 0, index, index, -1)


def content() -> RankContent:
    return RankContent(0, ["train", "val"].__getitem__, {})


def test_a_validation_within_a_step_is_a_pause() -> None:
    rank = content()
    train = [epoch(0, 5), step(0, 10), step(1, 20), step(2, 500), step(3, 510)]
    val = [
        epoch(0, 30),
        *(step(index, 40 + 10 * index) for index in range(3)),
        rec(ring_format.EXHAUSTED, 0, 70_000, 71_000),
    ]
    rank.feed([Drained(TRAIN, train, 0), Drained(VAL, val, 0)])
    (taken,) = rank.take()
    assert [(steps.loader, steps.step_us) for steps in taken.steps] == [
        ("train", [10, None]),
        ("train", [10]),
        ("val", [10, 10, 10]),
    ]


def test_two_loaders_that_are_drawn_from_in_each_step_do_not_pause_each_other() -> None:
    rank = content()
    train = [epoch(0, 1), *(step(index, 10 + 10 * index) for index in range(4))]
    val = [epoch(0, 2), *(step(index, 15 + 10 * index) for index in range(4))]
    rank.feed([Drained(TRAIN, train, 0), Drained(VAL, val, 0)])
    (taken,) = rank.take()
    assert [steps.step_us for steps in taken.steps] == [[10, 10, 10], [10, 10, 10]]


def test_a_fast_loop_is_cut_into_windows_that_may_be_sent() -> None:
    rank = content()
    for start in range(0, 9000, 3000):
        rank.feed([Drained(TRAIN, [step(index, 10 * index) for index in range(start, start + 3000)], 0)])
    contents = rank.take()
    sizes = [sum(len(steps.step_us) for steps in each.steps) for each in contents]
    assert sum(sizes) == 8_999
    assert max(sizes) <= 4_096


def test_batches_are_cut_into_windows_that_may_be_sent() -> None:
    rank = content()
    for start in range(0, 20_000, 2_000):
        rank.feed([Drained(TRAIN, [epoch(0, 5)], 0)])
        records = []
        for index in range(start, start + 2_000):
            records += [
                rec(ring_format.BATCH, 0, index, 0, 1000, 5, 5, 0),
                rec(ring_format.BATCH_DETAIL, 0, index, 5, 0, 0, 1, 0),
            ]
        rank.feed([Drained(RingName(0, 0, 0), records, 0)])
    rank.finish()
    sizes = [sum(len(batches.load_us) for batches in each.batches) for each in rank.take()]
    assert sum(sizes) == 20_000
    assert max(sizes) <= 16_384


def test_lost_records_of_workers_are_lost_batches() -> None:
    rank = content()
    rank.feed([Drained(RingName(0, 0, 0), [], 5)])
    assert rank.losses().dropped_batches == 3


def test_what_is_read_and_in_no_window_is_known() -> None:
    rank = content()
    rank.feed([Drained(TRAIN, [epoch(0, 5), step(0, 10)], 0)])
    assert rank.unfinished().dropped_steps == 1


def test_a_step_that_waits_for_the_device_is_in_no_window_yet() -> None:
    rank = content()
    timed = rec(ring_format.STEP, 0, 10_000, 11_000, ring_format.pack_request(0, True, 0), 0, 0, -1)
    rank.feed([Drained(TRAIN, [epoch(0, 5), timed, step(1, 20)], 0)])
    (taken,) = rank.take()
    assert taken.steps == []
    assert rank.unfinished().dropped_steps == 2


def test_a_first_batch_completes_the_facts_of_its_loader() -> None:
    facts = LoaderFacts("train", {}, None, "Set", "map", 5, 5)
    rank = content()
    assert rank.completed(0, facts) == facts
    types = [rec(ring_format.BATCH_DTYPE, 0, place, 512) for place in (0, len(ring_format.DTYPES) - 1)]
    rank.feed([Drained(TRAIN, [rec(ring_format.BATCH_SHAPE, 0, 3, 1024, 1), *types], 0)])
    assert (rank.completed(0, facts).batch_tensors, rank.completed(0, facts).batch_bytes) == (3, 1024)
    assert rank.completed(0, facts).batch_dtypes == {"float32": 512, "other": 512}
    assert rank.completed(0, facts).batch_fits_uint8 is True
    rank.feed([Drained(TRAIN, [rec(ring_format.BATCH_SHAPE, 0, NOT_MEASURED, NOT_MEASURED)], 0)])
    assert rank.completed(0, facts).batch_tensors is None
    assert "batch_tensors" in rank.completed(0, facts).not_measured


def test_overhead_is_a_mean_over_all_steps() -> None:
    overhead = Overhead()
    assert overhead.take(100) is None
    for own_ns in (1_000, 2_000, 900_000):  # the last was preempted
        overhead.add(own_ns, 0, is_measured=False)
    assert (overhead.take(100), overhead.take(0)) == (2.0, None)


def test_what_a_close_look_costs_is_spread_over_the_steps_since_the_last_one() -> None:
    overhead = Overhead()
    overhead.add(2_000, 6_000, is_measured=False)
    overhead.add(2_000, 8_000, is_measured=False)
    overhead.add(2_000, 86_000, is_measured=True)
    assert overhead.take(100) == 3.0
    assert overhead.take(100) == 2.0
    overhead.add(2_000, 80_000, is_measured=True)
    assert overhead.take(0) is None
    assert overhead.take(83) == 3.0


def test_an_instant_is_rounded_to_the_nearest_microsecond() -> None:
    assert [to_us(ns, 0) for ns in (499, 500, 1_499, 1_500)] == [0, 1, 1, 2]
