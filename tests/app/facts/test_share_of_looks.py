"""A share is known as well as bursts agree in it, however often each of them looked."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fakes.looks import evenly
from underfed.exchange import stacks
from underfed_server.facts.share_of_looks import whole_of
from underfed_server.ingest.wire import GROUPS
from underfed_server.store.reading.stacks import Looks

LOOKS = 25
"""Of one burst."""


def looks(*by_group: int) -> Looks:
    return np.array([*by_group, *[0] * (GROUPS - len(by_group))])


def margin(part: Looks, rest: Looks) -> float | None:
    """By chance alone."""
    return whole_of([part, rest]).chance(part)


def test_groups_are_those_of_the_agent() -> None:
    assert GROUPS == stacks.GROUPS


def test_looks_that_find_calls_of_their_own_say_as_much_as_their_number() -> None:
    few, many = (margin(np.array(evenly(count)), np.array(evenly(count))) for count in (200, 2_000))
    assert few == pytest.approx(0.05, abs=0.006)
    assert many == pytest.approx(0.017, abs=0.003)


def test_bursts_that_find_one_call_each_say_as_much_as_there_are_bursts() -> None:
    part, rest = [LOOKS, 0] * 8, [0, LOOKS] * 8
    once = margin(looks(*part), looks(*rest))
    assert once == pytest.approx(0.27, abs=0.03)
    more_often = margin(10 * looks(*part), 10 * looks(*rest))
    assert more_often == pytest.approx(once)


@pytest.mark.parametrize(
    ("calls_in_a_burst", "bursts"),
    [
        (0.25, 12),
        (5, 12),
        *(pytest.param(*each, marks=pytest.mark.soak) for each in ((1, 12), (0.25, 60), (1, 60), (5, 60))),
    ],
)
def test_the_true_share_is_within_in_nine_of_ten_runs(calls_in_a_burst: float, bursts: int) -> None:
    """Of loading that does one thing 60 % of the time and another 40 %, each for several bursts or a part of one."""
    chances, within = np.random.default_rng(1), 0
    for _ in range(200):
        counts = np.zeros((2, GROUPS), dtype=np.int64)
        for burst in range(bursts):
            is_other = chances.random() < 0.4
            for _ in range(LOOKS):
                if chances.random() < calls_in_a_burst / LOOKS:
                    is_other = chances.random() < 0.4
                counts[int(is_other), burst % GROUPS] += 1
        whole = whole_of(counts)
        off = whole.chance(counts[0])
        assert off is not None
        within += abs(whole.share(counts[0]) - 0.6) <= off
    assert within >= 180


def test_of_one_burst_alone_it_is_not_known() -> None:
    assert margin(looks(60), looks(40)) is None


def test_a_share_of_all_or_of_nothing_is_not_known_exactly() -> None:
    whole = whole_of([looks(*[LOOKS, 0] * 8), looks(*[0, LOOKS] * 8)])
    none, everything = whole.chance(looks()), whole.chance(whole.looks)
    assert none is not None and none > 0.05, "of bursts with one call each"
    assert everything == pytest.approx(none)


def test_what_looking_distorts_is_in_the_margin_however_often_was_looked() -> None:
    """An eighth for a half, and nothing of what was always found."""
    half = np.array(evenly(1_000_000))
    whole = whole_of([half, half])
    assert whole.margin(half) == pytest.approx(0.125, abs=0.002)
    assert whole.margin(whole.looks) == pytest.approx(0, abs=0.002)
    assert whole_of([looks(60), looks(40)]).margin(looks(60)) is None
