"""Steps and epochs: a step ends at the next request, a pause is nobody's step, sums stay exact."""

from __future__ import annotations

from dataclasses import fields

from underfed.collector.reading.steps import PATIENCE, LoaderSteps, OpenEpoch, Request
from underfed.collector.wire import LONGEST_US, STEPS, Epoch, Steps
from underfed.exchange.ring_format import LATER_COLUMNS


def never(_left_us: int, _ended_us: int) -> bool:
    return False


def begun(epoch_index: int = 0, start_us: int = 0, first_step_index: int = 0) -> OpenEpoch:
    return OpenEpoch(epoch_index, start_us, iterator_us=5, first_step_index=first_step_index, last_us=start_us)


def request(index: int, entered_us: int, wait_us: int = 10, depth: int = 1, batch_index: int | None = None) -> Request:
    return Request(index, index if batch_index is None else batch_index, entered_us, entered_us + wait_us, depth)


def steps_of(loader: LoaderSteps) -> Steps:
    (steps,) = loader.take_steps()
    return steps


def epoch_of(loader: LoaderSteps) -> Epoch:
    (epoch,) = loader.take_epochs()
    return epoch


def test_a_step_is_the_time_from_one_request_to_the_next() -> None:
    loader = LoaderSteps("train", never)
    loader.begin_epoch(begun())
    for index, entered_us in enumerate((100, 150, 270)):
        loader.step(0, request(index, entered_us))
    steps = steps_of(loader)
    assert (steps.step_us, steps.data_wait_us, steps.start_us) == ([50, 120], [10, 10], 100)
    assert (steps.first_step_index, steps.first_batch_index, steps.batch_index) == (0, 0, None)


def test_the_step_that_goes_on_is_in_the_next_window() -> None:
    loader = LoaderSteps("train", never)
    loader.begin_epoch(begun())
    loader.step(0, request(0, 100))
    assert loader.take_steps() == []
    loader.step(0, request(1, 150))
    assert steps_of(loader).step_us == [50]
    loader.step(0, request(2, 190))
    steps = steps_of(loader)
    assert (steps.first_step_index, steps.start_us, steps.step_us) == (1, 150, [40])


def test_exhaustion_ends_a_step_and_is_none() -> None:
    loader = LoaderSteps("train", never)
    loader.begin_epoch(begun())
    loader.step(0, request(0, 100))
    loader.end_epoch(0, 180, 185, "exhausted")
    assert steps_of(loader).step_us == [80]
    epoch = epoch_of(loader)
    assert (epoch.steps, epoch.ended, epoch.end_us, epoch.ending_us) == (1, "exhausted", 185, 5)


def test_start_up_is_from_the_iterators_beginning_to_the_first_batch() -> None:
    loader = LoaderSteps("train", never)
    loader.begin_epoch(begun(start_us=40))
    assert epoch_of(loader) == Epoch("train", 0, 40, 5, None, 0, None, None, None)
    loader.step(0, request(0, 100))
    assert epoch_of(loader).startup_us == 70
    loader.step(0, request(1, 150))
    assert loader.take_epochs() == []


def test_a_new_iterator_leaves_the_old_ones_last_step_open() -> None:
    loader = LoaderSteps("train", never)
    loader.begin_epoch(begun())
    loader.step(0, request(0, 100))
    loader.step(0, request(1, 150))
    loader.begin_epoch(begun(1, 500, first_step_index=2))
    assert steps_of(loader).step_us == [50, None]
    broken, new = loader.take_epochs()
    assert (broken.ended, broken.end_us, broken.steps) == ("broken_off", 160, 2)
    assert (new.epoch_index, new.ended, new.first_step_index) == (1, None, 2)


def test_each_epoch_begins_a_new_object() -> None:
    loader = LoaderSteps("train", never)
    for epoch in (0, 1):
        loader.begin_epoch(begun(epoch, epoch * 1000, epoch * 2))
        for index in (0, 1):
            loader.step(epoch, request(epoch * 2 + index, epoch * 1000 + 100 + index * 50, batch_index=index))
        loader.end_epoch(epoch, epoch * 1000 + 200, epoch * 1000 + 200, "exhausted")
    first, second = loader.take_steps()
    assert (first.epoch_index, first.first_step_index, first.first_batch_index) == (0, 0, 0)
    assert (second.epoch_index, second.first_step_index, second.first_batch_index) == (1, 2, 0)


def test_an_epoch_that_goes_on_under_other_settings_stays_the_programs_own() -> None:
    loader = LoaderSteps("train", never)
    loader.begin_epoch(begun(0))
    loader.begin_epoch(begun(1))
    loader.goes_on(1)
    loader.begin_epoch(begun(2))
    loader.begin_epoch(begun(3))
    loader.goes_on(3)
    program_epochs = {epoch.epoch_index: epoch.program_epoch for epoch in loader.take_epochs()}
    assert program_epochs == {0: None, 1: 0, 2: 1, 3: 1}


def test_a_pause_is_no_steps_time() -> None:
    loader = LoaderSteps("train", lambda left_us, ended_us: left_us < 1_000 < ended_us)
    loader.begin_epoch(begun())
    for index, entered_us in enumerate((100, 150, 9_000, 9_050)):
        loader.step(0, request(index, entered_us))
    before, after = loader.take_steps()
    assert before.step_us == [50, None]
    assert (after.step_us, after.start_us, after.first_step_index) == ([50], 9_000, 2)


def test_a_step_too_long_for_a_column_is_not_measured() -> None:
    loader = LoaderSteps("train", never)
    loader.begin_epoch(begun())
    loader.step(0, request(0, 100))
    loader.step(0, request(1, 100 + LONGEST_US + 1, wait_us=LONGEST_US + 7))
    loader.end_epoch(0, 3 * LONGEST_US, 3 * LONGEST_US, "exhausted")
    first, second = loader.take_steps()
    assert first.step_us == [None]
    assert (second.step_us, second.data_wait_us) == ([None], [LONGEST_US])


def test_overwritten_steps_are_counted_and_not_bridged() -> None:
    loader = LoaderSteps("train", never)
    loader.begin_epoch(begun())
    for index, entered_us in ((0, 100), (1, 150), (7, 500), (8, 540)):
        loader.step(0, request(index, entered_us))
    before, after = loader.take_steps()
    assert loader.dropped_steps == 5
    assert before.step_us == [50, None]
    assert (after.first_step_index, after.step_us) == (7, [40])
    loader.end_epoch(0, 600, 600, "exhausted")
    assert [epoch.steps for epoch in loader.take_epochs()] == [9]


def test_steps_of_an_epoch_whose_beginning_was_overwritten_are_kept() -> None:
    loader = LoaderSteps("train", never)
    loader.step(3, request(70, 100, batch_index=20))
    loader.step(3, request(71, 150, batch_index=21))
    steps = steps_of(loader)
    assert (steps.epoch_index, steps.first_step_index, steps.first_batch_index) == (3, 70, 20)
    assert loader.take_epochs() == []
    assert loader.dropped_steps == 70


def test_two_iterators_that_take_turns_both_go_on() -> None:
    loader = LoaderSteps("train", never)
    loader.begin_epoch(begun(0))
    loader.begin_epoch(begun(1))
    for index in range(4):
        loader.step(index % 2, request(index, 100 + 10 * index, wait_us=1, batch_index=index // 2))
    loader.end_epoch(0, 200, 200, "exhausted")
    loader.end_epoch(1, 210, 210, "exhausted")
    # Numbered as they came, so each is reported by itself: the ones in between are the other's.
    taken = [(steps.first_step_index, steps.epoch_index, steps.step_us) for steps in loader.take_steps()]
    assert sorted(taken) == [(0, 0, [20]), (1, 1, [20]), (2, 0, [80]), (3, 1, [80])]
    assert {epoch.epoch_index: (epoch.ended, epoch.steps) for epoch in loader.take_epochs()} == {
        0: ("exhausted", 2),
        1: ("exhausted", 2),
    }


def test_a_loop_that_catches_a_loaders_error_goes_on() -> None:
    loader = LoaderSteps("train", never)
    loader.begin_epoch(begun())
    loader.step(0, request(0, 100))
    loader.end_epoch(0, 150, 155, "error")
    failed = epoch_of(loader)
    assert (failed.ended, failed.ending_us) == ("error", None), "what it took is no loader's ordinary end"
    loader.step(0, request(1, 160))
    loader.end_epoch(0, 190, 190, "exhausted")
    assert [steps.step_us for steps in loader.take_steps()] == [[50], [30]]
    assert (epoch_of(loader).ended, loader.dropped_steps) == ("exhausted", 0)


def test_asking_an_exhausted_iterator_again_says_nothing_new() -> None:
    loader = LoaderSteps("train", never)
    loader.begin_epoch(begun())
    loader.end_epoch(0, 100, 101, "exhausted")
    loader.take_epochs()
    loader.end_epoch(0, 200, 201, "exhausted")
    assert (loader.take_epochs(), loader.take_steps()) == ([], [])


def test_batches_out_of_order_are_named_one_by_one() -> None:
    loader = LoaderSteps("train", never)
    loader.begin_epoch(begun())
    for index, batch_index in enumerate((1, 0, 2)):
        loader.step(0, request(index, 100 + index, wait_us=0, batch_index=batch_index))
    loader.end_epoch(0, 103, 103, "exhausted")
    assert steps_of(loader).batch_index == [1, 0, 2]


def test_a_depth_that_cannot_be_read_is_not_measured() -> None:
    loader = LoaderSteps("train", never)
    loader.begin_epoch(begun())
    loader.step(0, request(0, 100, depth=-1))
    loader.finish()
    assert steps_of(loader).queue_depth is None


def test_no_object_is_longer_than_a_window() -> None:
    loader = LoaderSteps("train", never)
    loader.begin_epoch(begun())
    for index in range(STEPS + 2):
        loader.step(0, request(index, 100 + 20 * index))
    assert [len(steps.step_us) for steps in loader.take_steps()] == [STEPS, 1]


def test_the_parts_add_up_to_the_whole() -> None:
    loader = LoaderSteps("train", never)
    loader.begin_epoch(begun())
    instants = [100, 101, 173, 1_000, 1_001]
    for index, entered_us in enumerate(instants):
        loader.step(0, request(index, entered_us, wait_us=0))
    steps = steps_of(loader)
    lengths = [length for length in steps.step_us if length is not None]
    assert [steps.start_us + sum(lengths[:index]) for index in range(5)] == instants


def ahead(batches: int, *, waits_us: int = 10, work_us: int = 90) -> LoaderSteps:
    """A consumer that asks for batch k+1 before it hands out batch k: two requests, then one a step."""
    loader = LoaderSteps("train", never)
    epoch = begun()
    epoch.fetches_ahead = True
    loader.begin_epoch(epoch)
    at_us = 100
    for index in range(batches):
        loader.step(0, request(index, at_us, waits_us))
        at_us += waits_us + (work_us if index else 0)
    loader.end_epoch(0, at_us, at_us + 1, "exhausted")
    return loader


def test_a_request_ahead_belongs_to_the_step_that_waited_for_it() -> None:
    loader = ahead(4)
    steps = steps_of(loader)
    # The first step waits for two batches; the last one for the end of the epoch, and its own end is not recorded.
    assert steps.data_wait_us == [20, 10, 10, 1]
    assert steps.step_us == [110, 100, 100, None]
    assert (steps.start_us, steps.first_step_index, steps.batch_index) == (100, 0, None)
    epoch = epoch_of(loader)
    assert (epoch.steps, epoch.startup_us, epoch.ended) == (4, 120, "exhausted")


def test_one_batch_that_was_asked_for_ahead_is_one_step() -> None:
    loader = ahead(1)
    steps = steps_of(loader)
    assert (steps.data_wait_us, steps.step_us) == ([11], [None])
    assert epoch_of(loader).steps == 1


def test_a_loop_ahead_that_is_left_never_used_its_last_batch() -> None:
    loader = LoaderSteps("train", never)
    epoch = begun()
    epoch.fetches_ahead = True
    loader.begin_epoch(epoch)
    for index, entered_us in enumerate((100, 110, 200)):
        loader.step(0, request(index, entered_us))
    loader.begin_epoch(begun(1, 300, 3))
    assert steps_of(loader).step_us == [100, None]
    left, _ = loader.take_epochs()
    assert (left.steps, left.ended) == (2, "broken_off")


def timed(index: int, entered_us: int) -> Request:
    return Request(index, index, entered_us, entered_us + 10, 0, 0, is_timed=True)


def test_steps_wait_for_what_the_device_did_in_them() -> None:
    loader = LoaderSteps("train", never)
    loader.begin_epoch(begun())
    for index in range(3):
        loader.step(0, timed(index, 100 * index))
    loader.step(0, request(3, 300))
    loader.later(0, {"gpu_idle_us": 7, "gpu_work_us": None})
    assert steps_of(loader).gpu_idle_us == [7]
    assert loader.held == 2
    loader.later(1, {"gpu_idle_us": 8, "gpu_work_us": 60})
    loader.later(1, {"h2d_us": 5, "h2d_exposed_us": 2})
    loader.later(2, {"gpu_idle_us": 9, "gpu_work_us": None})
    steps = steps_of(loader)
    assert (steps.first_step_index, steps.start_us, steps.step_us) == (1, 100, [100, 100])
    assert (steps.gpu_idle_us, steps.gpu_work_us) == ([8, 9], [60, None])
    assert (steps.h2d_us, steps.h2d_exposed_us) == ([5, None], [2, None])
    assert loader.held == 0


def test_every_column_that_comes_later_has_its_place_on_the_wire() -> None:
    later = {name for names in LATER_COLUMNS.values() for name in names}
    assert later <= {field.name for field in fields(Steps)}


def test_a_device_that_says_nothing_is_not_waited_for_for_long() -> None:
    loader = LoaderSteps("train", never)
    loader.begin_epoch(begun())
    for index in range(3):
        loader.step(0, timed(index, 100 * index))
    taken = [loader.take_steps() for _ in range(PATIENCE + 1)]
    assert [len(each) for each in taken] == [0] * PATIENCE + [1]
    assert taken[-1][0].gpu_idle_us is None
    assert taken[-1][0].step_us == [100, 100]


def test_at_the_end_nothing_is_held_back() -> None:
    loader = LoaderSteps("train", never)
    loader.begin_epoch(begun())
    loader.step(0, timed(0, 100))
    loader.finish()
    assert steps_of(loader).step_us == [None]


def test_sampler_time_is_reported_per_step_unless_it_was_not_measured() -> None:
    loader = LoaderSteps("train", never)
    loader.begin_epoch(begun())
    for index in range(3):
        loader.step(0, Request(index, index, 100 * index, 100 * index + 10, 0, sampler_us=index))
    assert steps_of(loader).sampler_us == [0, 1]
    loader.step(0, request(3, 300))
    loader.step(0, request(4, 400))
    assert steps_of(loader).sampler_us is None
