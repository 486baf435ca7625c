"""What each pass costs beside its steps counts: in what is kept, and in what is reported as gained."""

from __future__ import annotations

import re

import pytest

from tests.agent.tuning.training_loop import FOUR, MS, NONE, TWO, Loop, workers
from underfed.exchange import tuning
from underfed.exchange.facts import SourceLine
from underfed.trainer.tuning.conductor import WENT_BACK
from underfed.trainer.tuning.costs import gained
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.report import end_lines, kept_line


def loop_of(start_ms: float, *, pass_ms: float, end_ms: float = 0.0, pass_steps: int = 25) -> Loop:
    """Steps of 60 ms, or of 20 ms with workers, which each pass starts."""
    return Loop(
        {NONE: 50, TWO: 10},
        candidates=workers(2),
        start_ms=start_ms,
        pass_steps=pass_steps,
        pass_ms={TWO: pass_ms},
        end_ms={TWO: end_ms},
    )


def test_faster_steps_are_not_kept_where_starting_workers_in_each_pass_takes_longer() -> None:
    loop = loop_of(1200, pass_ms=1200)
    loop.run(600)
    assert loop.in_use == NONE
    assert loop.conductor.status == tuning.LEFT_ALONE


def test_what_is_reported_counts_the_start_of_each_pass() -> None:
    loop = loop_of(250, pass_ms=250)
    while loop.conductor.status != tuning.KEPT and loop.step < 600:
        loop.run(1)
    assert loop.in_use == TWO
    assert loop.conductor.speedup == pytest.approx(60 / (20 + 250 / 25), rel=0.03)
    assert str(kept_line(loop.conductor)).startswith("num_workers 0 → 2: 2 × as fast")


def test_what_is_gained_is_what_a_stop_watch_shows() -> None:
    loop = loop_of(250, pass_ms=250, end_ms=50)
    while loop.conductor.status != tuning.KEPT and loop.step < 600:
        loop.run(1)
    began_ns, began = loop.now_ns, loop.step
    loop.run(2000)
    gain = gained(loop.conductor.searches, loop.conductor.began_with, loop.conductor.since)
    assert gain is not None
    assert gain.ns == pytest.approx((loop.step - began) * 60 * MS - (loop.now_ns - began_ns), rel=0.03)


def test_what_is_kept_is_given_up_where_its_passes_turn_out_slower_as_a_whole() -> None:
    """As where more is to be started in each pass than at the first switch."""
    loop = loop_of(250, pass_ms=1200, pass_steps=200)
    loop.run(120)
    assert loop.in_use == TWO
    loop.pass_steps = 25
    loop.run(2000)
    assert loop.in_use == NONE
    assert loop.conductor.reason == WENT_BACK


def test_what_loads_more_ahead_than_half_a_pass_is_tried_with_fewer_workers() -> None:
    loop = Loop({NONE: 50, FOUR: 1}, candidates=workers(8), pass_steps=16)
    loop.run(600)
    assert loop.in_use == FOUR


def test_a_queue_that_is_set_and_that_no_pass_fills_is_not_tried() -> None:
    eight = LoaderSetting(8, 2)
    loop = Loop({LoaderSetting(1, 2): 50, eight: 1}, candidates=workers(8), pass_steps=16, fixed={"prefetch_factor": 2})
    loop.run(600)
    assert loop.in_use == LoaderSetting(1, 2)
    (trial,) = loop.conductor.searches[0].trials[1:]
    assert trial.reason == "a pass of 16 steps ends while its queue of 16 batches is still being filled"


def test_starts_of_all_passes_that_are_left_are_compared_with_what_may_be_gained() -> None:
    loop = loop_of(100, pass_ms=100)
    loop.length, loop.conductor.start_ns, loop.conductor.is_limited = 1000, 2_000_000_000, False
    loop.run(600)
    assert loop.in_use == NONE
    assert "in all passes" in str(loop.conductor.searches[0].trials[1].reason)


@pytest.mark.parametrize(("pass_ms", "is_said"), [(2000, True), (10, False)])
def test_who_has_workers_that_each_pass_starts_is_shown_how_to_keep_them(pass_ms: float, is_said: bool) -> None:
    one, two = LoaderSetting(1, 2), TWO
    loop = Loop(
        {one: 50, two: 49.9},
        candidates=workers(2),
        pass_steps=25,
        pass_ms={one: pass_ms, two: pass_ms},
        start_ms=pass_ms,
    )
    loop.run(600)
    assert loop.conductor.status == tuning.LEFT_ALONE
    *_, last = end_lines(loop.conductor, None)
    found = re.search(
        r"^--tune: starting and ending workers took (\d+\.\d) s, 2 s in each of (\d+) passes; if the program does not "
        r"change its data set between passes, to write into the script: persistent_workers=True,$",
        last,
    )
    assert (found is not None) == is_said
    if found is not None:
        assert float(found[1]) == pytest.approx(2 * float(found[2]), abs=0.1)
        assert int(found[2]) >= 15


def test_who_keeps_workers_is_shown_what_starting_them_takes_beside_what_was_kept() -> None:
    one = LoaderSetting(1, 2)
    loop = Loop({one: 50, TWO: 10}, candidates=workers(2), pass_steps=25, pass_ms={one: 200, TWO: 200}, start_ms=200)
    loop.run(800)
    assert loop.in_use == TWO
    *_, kept, starts = end_lines(loop.conductor, SourceLine("DataLoader", "train.py", 8))
    assert kept == "--tune, to write into the script (train.py:8): num_workers=2,"
    assert starts.endswith("to write into the script (train.py:8): persistent_workers=True,")


def test_workers_that_persist_are_not_said_to_take_time_in_each_pass() -> None:
    stays = LoaderSetting(1, 2, persistent_workers=True)
    loop = Loop({stays: 50}, candidates=[], pass_steps=25, pass_ms={stays: 200})
    loop.run(800)
    assert not any("persistent_workers=True" in line for line in end_lines(loop.conductor, None))
