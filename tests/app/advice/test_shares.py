"""Gains that are arithmetic on measured parts of a step."""

from __future__ import annotations

import numpy as np
import pytest

from underfed_server.advice.shares import gain_without


def test_a_part_of_a_fifth_that_goes_away_makes_steps_a_quarter_faster() -> None:
    gain = gain_without(np.full(160, 100.0), np.full(160, 20.0))
    assert gain is not None
    assert [gain.speedup, gain.low, gain.high] == pytest.approx([1.25, 1.25, 1.25])


def test_a_part_that_comes_and_goes_widens_the_interval() -> None:
    step = np.full(160, 100.0)
    even = gain_without(step, np.full(160, 20.0))
    bursts = gain_without(step, np.repeat([40.0, 0.0], 80))
    assert even is not None and bursts is not None
    assert bursts.speedup == pytest.approx(even.speedup)
    assert bursts.low < even.low <= even.high < bursts.high
    assert bursts.low >= 1.0


def test_steps_in_which_the_part_was_not_measured_are_left_out() -> None:
    part = np.where(np.arange(160) % 2, 20.0, np.nan)
    gain = gain_without(np.full(160, 100.0), part)
    assert gain is not None and gain.speedup == pytest.approx(1.25)


def test_what_was_never_measured_has_no_gain() -> None:
    assert gain_without(np.full(160, 100.0), np.full(160, np.nan)) is None
    assert gain_without(np.zeros(0), np.zeros(0)) is None


def test_no_more_goes_away_than_the_cause_costs() -> None:
    gain = gain_without(np.full(160, 100.0), np.full(160, 50.0), at_most=0.2)
    assert gain is not None
    assert gain.speedup == pytest.approx(1.25)
    assert gain.high <= 1.25 + 1e-9


def test_a_few_steps_give_no_interval_narrower_than_all_that_is_possible() -> None:
    gain = gain_without(np.full(5, 100.0), np.full(5, 20.0), at_most=0.5)
    assert gain is not None
    assert [gain.low, gain.high] == pytest.approx([1.0, 2.0])


@pytest.mark.parametrize("seed", range(20))
def test_the_interval_holds_the_figure(seed: int) -> None:
    random = np.random.default_rng(seed)
    step = random.uniform(50.0, 150.0, 400)
    gain = gain_without(step, step * random.uniform(0.0, 1.0, 400))
    assert gain is not None
    assert 1.0 <= gain.low <= gain.speedup <= gain.high
