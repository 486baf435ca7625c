"""What trials may lose in time, by a training loop of known speeds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.agent.tuning.training_loop import FOUR, MS, NONE, TWO, Loop, workers
from underfed.exchange import tuning
from underfed.trainer.tuning.allowance import SECOND, Allowance, Rest, distinguished, starts_of
from underfed.trainer.tuning.blocks import Block
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.report import facts_of
from underfed.trainer.tuning.search import UNPROVEN, Candidate, Search, Trial


def loop_of(start_ms: float, *, length: int, is_limited: bool = True, pass_steps: int = 25) -> Loop:
    """Steps of 60 ms, or of 20 ms with workers, which each pass starts."""
    return Loop(
        {NONE: 50, TWO: 10},
        candidates=workers(2),
        start_ms=start_ms,
        pass_steps=pass_steps,
        pass_ms={TWO: start_ms},
        length=length,
        is_limited=is_limited,
    )


def test_trials_end_as_soon_as_they_have_lost_what_they_may() -> None:
    loop = loop_of(25_000, length=2000)
    loop.run(600)
    (search,) = loop.conductor.searches
    assert [order.setting for order in loop.requested] == [TWO, NONE]
    assert loop.conductor.status == tuning.WAITING
    assert search.cut == search.trials[1:]
    assert str(search.trials[1].reason).startswith("trials would lose 74.2 s, by a start of workers and the 24.6 s ")
    assert loop.conductor.reason == search.trials[1].reason


def test_the_block_by_which_a_search_lost_what_it_may_is_reported_with_its_cost() -> None:
    loop = loop_of(25_000, length=2000)
    loop.run(600)
    watched: Any = SimpleNamespace(name="train")
    facts = facts_of(loop.conductor, watched, 0)
    (block,) = facts.trials[1].blocks
    assert block.steps > 0
    assert block.end_us - block.start_us > 24_800_000
    assert facts.lost_us == pytest.approx(24_800_000, rel=0.01)


def test_what_is_reported_as_lost_is_what_a_stop_watch_shows() -> None:
    """Where nothing is kept: a slower setting, whose workers each pass starts and ends."""
    loop = Loop(
        {NONE: 50, TWO: 80},
        candidates=workers(2),
        start_ms=300,
        pass_steps=25,
        pass_ms={TWO: 300},
        end_ms={TWO: 100},
        length=5000,
    )
    loop.run(600)
    assert loop.in_use == NONE
    assert loop.conductor.lost_ns / MS == pytest.approx(loop.lost_ms(SECOND, 0, 60), rel=0.05)


def test_what_was_cut_short_is_tried_again_once_more_of_the_run_is_known() -> None:
    loop = loop_of(4000, length=400, pass_steps=200)
    loop.run(150)
    assert loop.in_use == NONE
    (search,) = loop.conductor.searches
    used_steps = search.used_steps
    loop.length = 100_000
    loop.run(150)
    assert loop.in_use == TWO
    assert loop.conductor.status == tuning.KEPT
    assert loop.conductor.searches == [search]
    assert search.used_steps > used_steps


def test_blocks_stay_measured_while_a_search_waits_for_more_of_the_run_to_be_known() -> None:
    start, other = Trial(Candidate(NONE), [_block(60)]), Candidate(TWO)
    search = Search(start, [other], 400)
    search.begin()
    search.measured(_block(20), None)
    search.cut_short("too dear")
    assert search.is_over
    assert search.best is start
    assert search.trials[1].reason == UNPROVEN
    search.go_on(search.cut[:], _block(60))
    assert search.current is search.trials[1]
    search.measured(_block(20), None)
    assert search.best is search.trials[1]
    assert [len(trial.blocks) for trial in search.trials] == [2, 2]


def test_what_is_put_off_gives_others_their_turn() -> None:
    search = Search(Trial(Candidate(NONE), [_block(60)]), [Candidate(TWO), Candidate(FOUR)], 400)
    search.begin()
    first = search.current
    search.put_off("too dear")
    assert search.current is not first
    assert search.cut == [first]
    assert first.reason == "too dear"


def test_two_numbers_that_differ_are_never_written_alike() -> None:
    assert distinguished(0.52, 0.48) == ("0.52", "0.48")
    assert distinguished(3.0, 2.9) == ("3.0", "2.9")
    assert distinguished(0.50004, 0.50001) == ("0.50004", "0.50001")


def _block(step_ms: int) -> Block:
    return Block(0, 0, requests_ns=[each * step_ms * 1_000_000 for each in range(25)], unit_ns=[step_ms * 1e6] * 12)


def test_a_start_that_is_known_to_take_too_long_is_not_made() -> None:
    loop = loop_of(300, length=500)
    loop.conductor.start_ns = 5 * SECOND
    loop.run(300)
    assert loop.requested == []
    assert str(loop.conductor.reason).startswith(
        "trials would lose 5.0 s, by a start of workers, more than the 1.3 s that they may: "
    )


def test_who_asked_for_a_number_of_steps_has_set_the_only_limit() -> None:
    loop = loop_of(500, length=400, is_limited=False)
    loop.run(200)
    assert loop.in_use == TWO


def losing(seconds: float = 0.0) -> Allowance:
    """Trials lost so much, by a turn from the first step on."""
    allowance = Allowance()
    allowance.candidate_began(0, 0, 0.1 * SECOND)
    allowance.turn_ended(round(seconds * SECOND), 0)
    return allowance


def test_what_the_program_does_between_passes_is_no_loss() -> None:
    allowance = Allowance()
    allowance.rest = Rest(100 * SECOND, 0)
    allowance.run_began(0)
    allowance.candidate_began(0, 0, 0.1 * SECOND)
    allowance.pass_ended(SECOND)
    allowance.pass_began(62 * SECOND, last_ns=SECOND)
    assert allowance.why_no_further(63 * SECOND, 10) is None
    assert allowance.why_no_further(65 * SECOND, 10) is not None


def test_a_loss_is_measured_against_the_steps_before_and_after_it() -> None:
    """The host was half as fast before: by that alone nothing would be lost."""
    allowance = Allowance()
    allowance.candidate_began(0, 0, 0.2 * SECOND)
    allowance.turn_ended(2 * SECOND, 10)
    assert allowance.lost_by(9 * SECOND, 50) == 0
    allowance.usual_again(0.1 * SECOND)
    assert allowance.lost_by(9 * SECOND, 50) == pytest.approx(0.5 * SECOND)


def test_steps_of_the_setting_in_use_are_no_loss_however_slow() -> None:
    assert losing(2).lost_by(100 * SECOND, 1) == 2 * SECOND


def test_what_a_trial_gains_is_taken_off() -> None:
    allowance = losing(2)
    allowance.candidate_began(10 * SECOND, 100, 0.1 * SECOND)
    assert allowance.lost_by(11 * SECOND, 120) == pytest.approx(SECOND)


def test_workers_that_end_after_a_trial_are_a_loss_too() -> None:
    allowance = losing(2)
    allowance.workers_ended(SECOND)
    assert allowance.lost_by(10 * SECOND, 10) == 3 * SECOND
    allowance.candidate_began(10 * SECOND, 10, 0.1 * SECOND)
    allowance.workers_ended(SECOND)
    assert allowance.lost_by(12 * SECOND, 10) == 5 * SECOND  # once, by the length of the turn


def test_a_search_ends_before_the_way_back_loses_more_than_it_may() -> None:
    allowance = Allowance()
    allowance.rest = Rest(100 * SECOND, 0)
    for began in (0, 10):
        allowance.candidate_began(began * SECOND, 0, 0.1 * SECOND)
        assert allowance.why_no_further(began * SECOND + SECOND // 4, 0) is None
        allowance.goes_back(began * SECOND, 0)
        allowance.turn_ended(began * SECOND + SECOND // 2, 0)
    allowance.candidate_began(20 * SECOND, 0, 0.1 * SECOND)
    assert allowance.why_no_further(20 * SECOND + SECOND // 4, 0) is None
    assert allowance.why_no_further(20 * SECOND + SECOND * 3 // 4, 0) is not None


def test_no_more_is_known_of_a_run_than_what_has_passed_and_this_pass() -> None:
    """Steps are three times as slow as they were: by their number a rest of 90 s."""
    allowance = Allowance()
    allowance.run_began(SECOND)
    allowance.waited(10 * SECOND)
    rest = allowance.rest_of(Rest(90 * SECOND, 45 * SECOND), 6 * SECOND, 31 * SECOND, 100)
    assert rest == Rest(36 * SECOND, 13 * SECOND)


def test_what_trials_lost_says_nothing_of_how_long_a_run_is() -> None:
    allowance = losing(4)
    allowance.run_began(0)
    assert allowance.rest_of(Rest(90 * SECOND, 0), 6 * SECOND, 30 * SECOND, 100).left_ns == 32 * SECOND


def test_workers_that_were_never_started_are_expected_to_cost_something_each() -> None:
    eight = LoaderSetting(8, 2)
    why = Allowance().why_no_trial(eight, 2, 0, Rest(39 * SECOND, 0), 0)
    assert str(why).startswith(
        "trials would lose 0.80 s, by 2 starts of workers, more than the 0.78 s that they may: 2 % of the 39 s"
    )
    assert Allowance().why_no_trial(eight, 1, 0, Rest(39 * SECOND, 0), 0) is None


def test_workers_are_expected_to_cost_as_much_each_as_at_the_last_start() -> None:
    one, rest = LoaderSetting(1, 2), Rest(50 * SECOND, 0)
    allowance = Allowance()
    assert allowance.why_no_trial(FOUR, 1, 0, rest, 0) is None
    allowance.candidate_began(0, 0, SECOND)
    allowance.started(one, 0.3 * SECOND)
    assert str(allowance.why_no_trial(FOUR, 1, 0, rest, 0)).startswith("trials would lose 1.2 s, by a start of workers")
    assert allowance.why_no_trial(TWO, 1, 0, rest, 0) is None


def test_a_start_that_was_cut_short_shows_what_workers_cost_at_least() -> None:
    allowance = Allowance()
    allowance.candidate_began(0, 0, SECOND)
    allowance.candidate_was_cut(TWO, SECOND, 0)
    assert allowance.why_no_trial(FOUR, 1, 0, Rest(99 * SECOND, 0), 0) is not None
    assert allowance.why_no_trial(FOUR, 1, 0, Rest(101 * SECOND, 0), 0) is None


def test_the_more_there_is_to_gain_the_more_may_be_lost() -> None:
    assert Allowance().why_no_trial(TWO, 1, 3 * SECOND, Rest(50 * SECOND, 20 * SECOND), 0) is None
    why = Allowance().why_no_trial(TWO, 1, 3 * SECOND, Rest(50 * SECOND, 19 * SECOND), 0)
    assert str(why) == (
        "trials would lose 3.0 s, by a start of workers, more than the 2.9 s that they may: 2 % of the 50 s that are "
        "known to be left of the run, and a tenth of the 19 s that it would wait in these"
    )


def test_what_was_lost_counts_in_the_next_search() -> None:
    lost_ns = losing(2).lost_by(9 * SECOND, 0)
    why = Allowance().why_no_trial(TWO, 1, SECOND, Rest(100 * SECOND, 0), lost_ns)
    assert str(why).startswith("trials would lose 3.0 s, by a start of workers and the 2.0 s that they had lost before")
    assert Allowance().why_no_trial(TWO, 1, SECOND, Rest(200 * SECOND, 0), lost_ns) is None


def test_workers_start_once_more_in_each_pass_that_a_block_takes() -> None:
    assert starts_of(TWO, 40, 24) == 2
    assert starts_of(TWO, 40, None) == 1
    assert starts_of(LoaderSetting(2, 2, persistent_workers=True), 40, 24) == 1
    assert starts_of(NONE, 40, 24) == 0


def test_the_part_of_a_pass_that_is_left_may_be_too_short_for_a_block() -> None:
    assert starts_of(TWO, 16, 24, left_of_pass=24) == 1
    assert starts_of(TWO, 16, 24, left_of_pass=19) == 2
    assert starts_of(TWO, 16, 24, left_of_pass=0) == 2


def test_what_a_worker_costs_is_shown_by_a_process_that_ends_at_once_which_is_lost_too() -> None:
    allowance, rest = Allowance(), Rest(50 * SECOND, 0)
    assert allowance.why_no_trial(FOUR, 1, 0, rest, 0) is None
    allowance.probed(SECOND // 5)
    assert allowance.lost_by(SECOND, 0) == SECOND // 5
    why = allowance.why_no_trial(FOUR, 1, 0, rest, allowance.lost_by(SECOND, 0))
    assert str(why).startswith("trials would lose 1.8 s, by a start of workers and the 0.2 s that they had lost before")


def test_the_way_back_is_expected_to_cost_what_it_has_cost() -> None:
    allowance = Allowance()
    allowance.candidate_began(0, 0, 0.1 * SECOND)
    allowance.goes_back(0, 0)
    allowance.turn_ended(SECOND // 2, 0)
    assert allowance.why_no_trial(TWO, 1, SECOND, Rest(99 * SECOND, 0), SECOND // 2) is not None
    assert allowance.why_no_trial(TWO, 1, SECOND, Rest(101 * SECOND, 0), SECOND // 2) is None
