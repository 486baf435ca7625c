"""What trials may lose in time, by a training loop of known speeds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.agent.tuning.training_loop import NONE, TWO, Loop, workers
from underfed.exchange import tuning
from underfed.trainer.tuning.allowance import SECOND, Allowance, Rest, starts_of
from underfed.trainer.tuning.loader_setting import LoaderSetting
from underfed.trainer.tuning.report import facts_of


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
    assert str(search.trials[1].reason).startswith("trials had lost 24.8 s, more than the 12.2 s that they may")
    assert str(search.trials[1].reason).endswith("and a tenth of the 98 s that it would wait in these")
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
    assert len(loop.conductor.searches) == 1
    loop.length = 100_000
    loop.run(150)
    assert loop.in_use == TWO
    assert loop.conductor.status == tuning.KEPT


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
    why = Allowance().why_no_trial(2, 8, 0, Rest(39 * SECOND, 0))
    assert str(why).startswith(
        "trials would lose 0.8 s, by 2 starts of workers, more than the 0.8 s that they may: 2 % of the 39 s"
    )
    assert Allowance().why_no_trial(1, 8, 0, Rest(39 * SECOND, 0)) is None


def test_the_more_there_is_to_gain_the_more_may_be_lost() -> None:
    assert Allowance().why_no_trial(1, 2, 3 * SECOND, Rest(50 * SECOND, 20 * SECOND)) is None
    why = Allowance().why_no_trial(1, 2, 3 * SECOND, Rest(50 * SECOND, 19 * SECOND))
    assert str(why) == (
        "trials would lose 3.0 s, by a start of workers, more than the 2.9 s that they may: 2 % of the 50 s that are "
        "known to be left of the run, and a tenth of the 19 s that it would wait in these"
    )


def test_what_was_lost_counts_in_the_next_search() -> None:
    allowance = Allowance()
    allowance.begin(0, 0, 0.1 * SECOND, Rest(100 * SECOND, 0))
    allowance.end(2 * SECOND, 0)
    assert allowance.why_no_trial(1, 2, SECOND, Rest(100 * SECOND, 0)) is not None
    assert allowance.why_no_trial(1, 2, SECOND, Rest(200 * SECOND, 0)) is None


def test_workers_start_once_more_in_each_pass_that_a_block_takes() -> None:
    assert starts_of(TWO, 40, 24) == 2
    assert starts_of(TWO, 40, None) == 1
    assert starts_of(LoaderSetting(2, 2, persistent_workers=True), 40, 24) == 1
    assert starts_of(NONE, 40, 24) == 0
