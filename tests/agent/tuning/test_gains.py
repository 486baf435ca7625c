"""What was gained since a setting is kept, beside what is true of a loop whose step times are known."""

from __future__ import annotations

import random

import pytest

from tests.agent.tuning.training_loop import MS, NONE, TWO, Loop, workers
from underfed.exchange import tuning
from underfed.trainer.tuning.costs import Gain, gained
from underfed.trainer.tuning.report import end_lines


def gain_of(loop: Loop) -> Gain | None:
    return gained(loop.conductor.searches, loop.conductor.began_with, loop.conductor.since)


def tuned(steps: int, **how: float) -> Loop:
    loop = Loop({NONE: 60, TWO: 30}, candidates=workers(2), most_steps=100, **how)  # type: ignore[arg-type]
    while loop.conductor.status != tuning.KEPT and loop.step < 400:
        loop.run(1)
    loop.run(steps)
    return loop


def true_ns(loop: Loop) -> float:
    return loop.conductor.since.steps * 30 * MS


def test_the_gain_is_that_of_the_steps_since() -> None:
    loop = tuned(1000)
    assert loop.conductor.since.steps == pytest.approx(1000, abs=10)
    assert gain_of(loop) == pytest.approx((true_ns(loop),) * 3)


def test_its_interval_holds_what_is_true_where_the_host_changes() -> None:
    loops = [tuned(1000, step_noise=0.1, drift=0.1, random=random.Random(seed)) for seed in range(40)]  # type: ignore[arg-type]
    gains = [(gain, true_ns(loop)) for loop in loops if (gain := gain_of(loop)) is not None]
    assert len(gains) >= 20
    assert sum(gain.low_ns <= true <= gain.high_ns for gain, true in gains) >= 0.9 * len(gains)


def test_nothing_is_reported_of_too_few_steps_nor_where_it_may_be_nothing() -> None:
    assert gain_of(tuned(20)) is None
    loop = tuned(40)
    loop.wait_ms[TWO] = 60
    loop.run(160)
    assert gain_of(loop) is None
    assert gain_of(Loop({NONE: 60})) is None


def test_no_gain_is_reported_where_the_setting_before_became_faster_while_it_was_measured() -> None:
    """As with a cache that fills: later it would have been faster than its blocks."""
    loop = Loop({NONE: 120, TWO: 10}, candidates=workers(2), most_steps=200)
    while loop.conductor.status != tuning.KEPT and loop.step < 400:
        loop.run(1)
        loop.wait_ms[NONE] *= 0.99
    assert loop.conductor.status == tuning.KEPT
    loop.run(1000)
    assert gain_of(loop) is None
    costs = next(end_lines(loop.conductor, None))
    assert costs.endswith("gained since is not known: what was in use before became faster while it was measured")


def test_what_turned_out_to_be_slower_was_lost() -> None:
    loop = tuned(0)
    loop.wait_ms[TWO] = 150
    loop.run(600)
    gain = gain_of(loop)
    assert loop.in_use == NONE
    assert gain is not None
    assert gain.high_ns < 0
