"""What is to be done outside the loader and a costly line of loading are compared by what each gives at most."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.made_diagnosis import made_advice
from underfed_server.advice.order import is_outside_first
from underfed_server.advice.outside_loader import Action
from underfed_server.model import Advice


def move(speedup: float) -> Action:
    return Action("Move the other jobs", "", "Move the other jobs.", 1 - 1 / speedup, "cpu_limited")


def line(ceiling: float | None, ceiling_low: float | None, **changes: Any) -> Advice:
    said: dict[str, Any] = {"change": "cheaper_transform", "predicted_speedup": None, "to": "precomputing"}
    return Advice.model_validate(
        dict(made_advice()) | said | {"ceiling": ceiling, "ceiling_low": ceiling_low} | changes
    )


@pytest.mark.parametrize(
    ("advice", "is_outside"),
    [
        ([], True),
        ([line(24.0, 9.0)], False),
        ([line(24.0, 3.0)], True),
        ([line(24.0, None)], False),
        ([line(None, None)], True),
        ([line(24.0, 9.0, change="vectorize_collate")], False),
        ([line(24.0, 9.0, change="num_workers", to=8)], True),
        ([line(None, None, change="num_workers"), line(24.0, 9.0)], True),
        ([line(1.2, 1.1), made_advice()], False),
    ],
)
def test_less_work_comes_before_moving_other_jobs_where_it_surely_may_give_more(
    advice: list[Advice], is_outside: bool
) -> None:
    assert is_outside_first([move(5.45)], advice, 0.0) is is_outside


def test_what_is_not_there_is_not_first_and_what_is_not_known_is_not_passed() -> None:
    assert not is_outside_first([], [line(1.2, 1.1)], 0.0)
    assert is_outside_first([move(1.0)], [line(24.0, 9.0)], 0.0), "a gain that is not known"


def test_pauses_are_in_what_an_act_takes_and_in_no_ceiling_of_the_loop() -> None:
    assert not is_outside_first([move(2.0)], [line(3.0, 3.0)], 0.0)
    assert is_outside_first([move(2.0)], [line(3.0, 3.0)], 0.3), "two thirds of seven tenths are less than a half"
