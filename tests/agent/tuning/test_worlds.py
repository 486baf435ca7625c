"""How close the search comes to the best of several candidates, over random hosts and programs."""

from __future__ import annotations

import statistics

import pytest

from tests.agent.tuning.training_loop import FOUR, NONE, TWO, Loop, workers
from tests.agent.tuning.worlds import outcomes
from underfed.trainer.tuning.loader_setting import LoaderSetting

WORLDS = 60


@pytest.mark.parametrize(("most_steps", "least_reached", "least_near"), [(100, 0.6, 48), (500, 0.95, 57)])
def test_the_candidates_are_reached_and_what_stays_is_near_the_best(
    most_steps: int, least_reached: float, least_near: int
) -> None:
    found = outcomes(WORLDS, most_steps)
    assert statistics.fmean(each.reached for each in found) >= least_reached
    assert sum(each.regret >= 0.95 for each in found) >= least_near
    assert all(each.steps <= most_steps for each in found)


@pytest.mark.parametrize("most_steps", [100, 500])
def test_where_nothing_helps_hardly_anything_is_kept(most_steps: int) -> None:
    assert sum(each.is_kept for each in outcomes(WORLDS, most_steps, is_hopeless=True)) <= 1


def test_a_hundred_steps_reach_four_candidates_and_the_fastest_stays() -> None:
    waits = {NONE: 90.0, LoaderSetting(1, 2): 60.0, TWO: 30.0, LoaderSetting(3, 2): 20.0, FOUR: 5.0}
    loop = Loop(waits, step_noise=0.05, candidates=workers(2, 3, 1, 4), most_steps=100)
    loop.run(400)
    assert all(trial.blocks for trial in loop.conductor.searches[0].trials)
    assert loop.in_use == FOUR


def test_what_is_slower_by_far_is_known_before_its_block_is_full() -> None:
    loop = Loop({TWO: 10, FOUR: 100}, step_noise=0.05, candidates=workers(4), most_steps=400)
    loop.run(600)
    trial = loop.conductor.searches[0].trials[1]
    assert [block.measured for block in trial.blocks] == [trial.least_steps]
    assert loop.in_use == TWO
