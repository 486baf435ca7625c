"""What trials may lose in time, by a training loop of known speeds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.agent.tuning.training_loop import FOUR, NONE, TWO, Loop, workers
from underfed.exchange import tuning
from underfed.trainer.tuning.allowance import SECOND, Allowance, Rest, starts_of, told_apart
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
    assert [order.setting for order in loop.orders] == [TWO, NONE]
    assert loop.conductor.status == tuning.WAITING
    assert search.cut == search.trials[1:]
    assert str(search.trials[1].reason).startswith("trials would lose 74.4 s, by a start of workers and the 24.8 s ")
    assert loop.conductor.reason == search.trials[1].reason


def test_the_block_by_which_a_search_lost_what_it_may_is_told_with_its_cost() -> None:
    loop = loop_of(25_000, length=2000)
    loop.run(600)
    watched: Any = SimpleNamespace(name="train")
    facts = facts_of(loop.conductor, watched, 0)
    (block,) = facts.trials[1].blocks
    assert block.steps > 0
    assert block.end_us - block.start_us > 24_800_000
    assert facts.lost_us == pytest.approx(24_800_000, rel=0.01)


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
    assert search.go_on(search.cut[:], _block(60)) is search.trials[1]
    search.measured(_block(20), None)
    assert search.best is search.trials[1]
    assert [len(trial.blocks) for trial in search.trials] == [2, 2]


def test_what_is_put_off_gives_others_their_turn() -> None:
    search = Search(Trial(Candidate(NONE), [_block(60)]), [Candidate(TWO), Candidate(FOUR)], 400)
    first = search.begin()
    assert search.put_off("too dear") is not first
    assert search.cut == [first]
    assert first.reason == "too dear"


def test_two_numbers_that_differ_are_never_written_alike() -> None:
    assert told_apart(0.52, 0.48) == ("0.52", "0.48")
    assert told_apart(3.0, 2.9) == ("3.0", "2.9")
    assert told_apart(0.50004, 0.50001) == ("0.50004", "0.50001")


def _block(step_ms: int) -> Block:
    return Block(0, 0, requests_ns=[each * step_ms * 1_000_000 for each in range(25)], unit_ns=[step_ms * 1e6] * 12)


def test_a_start_that_is_known_to_take_too_long_is_not_made() -> None:
    loop = loop_of(300, length=500)
    loop.conductor.start_ns = 5 * SECOND
    loop.run(300)
    assert loop.orders == []
    assert str(loop.conductor.reason).startswith(
        "trials would lose 5.0 s, by a start of workers, more than the 1.3 s that they may: "
    )


def test_who_asked_for_a_number_of_steps_has_set_the_only_limit() -> None:
    loop = loop_of(500, length=400, is_limited=False)
    loop.run(200)
    assert loop.in_use == TWO


def test_what_the_program_does_between_passes_is_no_loss() -> None:
    allowance = Allowance()
    allowance.begin(0, 0, 0.1 * SECOND, Rest(100 * SECOND, 0))
    allowance.pass_ended(SECOND)
    allowance.pass_began(62 * SECOND, last_ns=SECOND)
    assert allowance.why_no_further(63 * SECOND, 10) is None
    assert allowance.why_no_further(65 * SECOND, 10) is not None


def test_workers_that_were_never_started_are_expected_to_cost_something_each() -> None:
    eight = LoaderSetting(8, 2)
    why = Allowance().why_no_trial(eight, 2, 0, Rest(39 * SECOND, 0))
    assert str(why).startswith(
        "trials would lose 0.80 s, by 2 starts of workers, more than the 0.78 s that they may: 2 % of the 39 s"
    )
    assert Allowance().why_no_trial(eight, 1, 0, Rest(39 * SECOND, 0)) is None


def test_the_more_there_is_to_gain_the_more_may_be_lost() -> None:
    assert Allowance().why_no_trial(TWO, 1, 3 * SECOND, Rest(50 * SECOND, 20 * SECOND)) is None
    why = Allowance().why_no_trial(TWO, 1, 3 * SECOND, Rest(50 * SECOND, 19 * SECOND))
    assert str(why) == (
        "trials would lose 3.0 s, by a start of workers, more than the 2.9 s that they may: 2 % of the 50 s that are "
        "known to be left of the run, and a tenth of the 19 s that it would wait in these"
    )


def test_what_was_lost_counts_in_the_next_search() -> None:
    allowance = Allowance()
    allowance.begin(0, 0, 0.1 * SECOND, Rest(100 * SECOND, 0))
    allowance.end(2 * SECOND, 0)
    assert allowance.why_no_trial(TWO, 1, SECOND, Rest(100 * SECOND, 0)) is not None
    assert allowance.why_no_trial(TWO, 1, SECOND, Rest(200 * SECOND, 0)) is None


def test_workers_start_once_more_in_each_pass_that_a_block_takes() -> None:
    assert starts_of(TWO, 40, 24) == 2
    assert starts_of(TWO, 40, None) == 1
    assert starts_of(LoaderSetting(2, 2, persistent_workers=True), 40, 24) == 1
    assert starts_of(NONE, 40, 24) == 0
