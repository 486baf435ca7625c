"""What the search keeps of loaders whose queues are simulated: a few of those that ``loaders`` prints."""

from __future__ import annotations

import random
import statistics
from dataclasses import replace

import pytest

from tests.agent.tuning.loaders import (
    CROWDED,
    PROGRAMS,
    SHORT,
    Program,
    Training,
    fastest_ms,
    lost_in,
    starts,
    step_ms,
    tuned,
    whole,
)
from underfed.trainer.tuning.loader_setting import LoaderSetting

NONE, ONE_LONG = LoaderSetting(0), LoaderSetting(1, 8)


@pytest.mark.parametrize("name", ["storage", "heavy tail", "huge", "slow collate", "host-heavy"])
def test_what_is_kept_is_near_the_fastest_setting(name: str) -> None:
    program = PROGRAMS[name]
    trainings = [tuned(program, start, seed) for start in starts(program) for seed in range(2)]
    kept = [fastest_ms(program) / step_ms(program, each.conductor.setting) for each in trainings]
    assert all(share >= 0.95 for share in kept)
    searches = [search for each in trainings for search in each.conductor.searches]
    assert all(search.used_steps <= search.most_steps for search in searches)


def test_a_queue_that_was_filled_during_the_switch_is_not_taken_for_speed() -> None:
    """Two workers load too slowly; their queue of 16 lasts for longer than a block."""
    program = PROGRAMS["storage"]
    training = tuned(program, ONE_LONG, seed=0)
    trials = [trial for search in training.conductor.searches for trial in search.trials if len(trial.blocks) > 1]
    for trial in trials:
        means = [each for block in trial.blocks for each in block.unit_ns]
        assert sum(means) / len(means) / 1e6 > 0.85 * step_ms(program, trial.setting)


@pytest.mark.parametrize("name", ["decode", "mixed", "slow collate"])
def test_the_factor_is_true_where_others_crowded_the_host_before_the_trials(name: str) -> None:
    """Each core did half as much for the first four seconds, in which only what was in use is measured."""
    program = PROGRAMS[name]
    training = tuned(replace(program, crowded=2.0), NONE, seed=0)
    kept, (low, high) = training.conductor.setting, training.conductor.interval or (0.0, 0.0)
    gain = step_ms(program, NONE) / step_ms(program, kept)
    assert low <= 1.03 * gain
    assert high >= 0.97 * gain


def test_what_stays_was_measured_twice_and_what_was_in_use_before_too() -> None:
    for name in ("decode", "heavy tail"):
        search = tuned(PROGRAMS[name], NONE, seed=1).conductor.searches[0]
        start, best = search.trials[0], search.best
        assert best is not start
        assert min(len(start.blocks), len(best.blocks)) >= 2
        order = sorted((block.start_ns, trial is start) for trial in (start, best) for block in trial.blocks)
        assert [is_start for _, is_start in order][:3] == [True, False, True]


def test_short_passes_get_queues_that_fit_and_no_more_steps_than_allowed() -> None:
    program = replace(PROGRAMS["storage"], pass_steps=25)
    training = tuned(program, ONE_LONG, seed=1)
    (search, *_) = training.conductor.searches
    assert training.conductor.setting.num_workers > 1
    assert all(trial.setting.capacity <= 13 for trial in search.trials[1:])
    assert search.used_steps <= search.most_steps


def test_no_workers_are_tried_where_batches_are_huge_though_they_are_not_proposed() -> None:
    for name, is_tried in (("huge", True), ("decode", False)):
        training: Training = tuned(PROGRAMS[name], ONE_LONG, seed=0)
        settings = [trial.setting.num_workers for trial in training.conductor.searches[0].trials[1:]]
        assert (0 in settings) == is_tried


def test_a_run_of_many_short_passes_is_tuned_over_several_of_them() -> None:
    found = [whole(program, 20, seed=0) for program in SHORT]
    assert statistics.fmean(each.tuned / each.untuned for each in found) < 0.65
    # Of runs of five seconds, in which a tenth could be gained.
    assert max(each.tuned / each.untuned for each in found) < 1.03


SLOW_STARTS = [
    Program(
        cpu=load, send=load, work=load / 3, work_cpu=load / 3, receive=load / 3, pass_steps=20, fork=200, noise=0.08
    )
    for load in (10.0, 20.0, 40.0)
]
"""A worker takes as long to start as five to twenty steps, and gains nothing."""


@pytest.mark.parametrize("passes", [10, 20])
def test_in_short_runs_too_the_first_start_of_workers_loses_no_more_than_it_may(passes: int) -> None:
    for program in SLOW_STARTS:
        for seed in (1, 2, 3):
            lost = lost_in(program, passes, seed)
            assert lost is not None
            assert lost.truly < lost.promised


def test_the_reason_why_trials_do_not_go_on_is_of_those_that_were_not_tried_yet() -> None:
    """Not of the turn that was cut short in the third pass, after which there was another one."""
    slow = [{"settings": {"num_workers": count, "prefetch_factor": 2}, "predicted_speedup": 1.9} for count in (1, 3)]
    training = Training(SLOW_STARTS[2], NONE, random.Random(1), slow)
    for _ in range(2):
        while not training.conductor.is_searching:
            training.train(1)
        while training.conductor.is_searching:
            training.train(1)
    assert "by a start of workers and the 0.5 s that they had lost before" in str(training.conductor.reason)


def test_what_trials_lose_is_reported_and_is_less_than_they_may() -> None:
    """In runs of 40 short passes of which nothing can be gained."""
    found = [lost for program in CROWDED if (lost := lost_in(program, 40, 3)) is not None]
    assert len(found) > len(CROWDED) // 2
    for lost in found:
        assert lost.truly < lost.promised
        assert lost.reported == pytest.approx(lost.truly, abs=0.02 * lost.untuned)
    assert sum(lost.reported for lost in found) == pytest.approx(sum(lost.truly for lost in found), rel=0.1)
