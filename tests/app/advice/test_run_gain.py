"""What a gain of one loader's loop gains its run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.made_diagnosis import made_advice
from underfed_server.advice.run_gain import with_run_gains
from underfed_server.model import Advice, LoaderLine


def line(loader: str, share: float) -> LoaderLine:
    return LoaderLine(
        loader=loader, role="train", bound="data", level="bound", data_stall_fraction=0.4, hours_lost=1.0,
        share_of_run_fraction=share, steps=100,
    )  # fmt: skip


def gained(share: float, **figures: Any) -> Advice:
    usual = {"loader": "val", "predicted_speedup": 1.67, "low": 1.5, "high": 1.8}
    one = Advice.model_validate(dict(made_advice()) | usual | figures)
    return with_run_gains([one], [line("train", 1 - share), line("val", share)])[0]


def test_a_loop_that_takes_two_fifths_of_the_run_gains_it_less_than_itself() -> None:
    one = gained(0.4, ceiling=2.0)
    assert one.predicted_speedup == 1.67
    assert one.run_speedup == pytest.approx(1 / (0.6 + 0.4 / 1.67))
    assert (one.run_low, one.run_high) == pytest.approx((1 / (0.6 + 0.4 / 1.5), 1 / (0.6 + 0.4 / 1.8)))
    assert one.run_ceiling == pytest.approx(1 / (0.6 + 0.4 / 2.0))
    assert one.gain_of_run == (one.run_speedup, one.run_low, one.run_high)


def test_where_the_run_has_no_other_loop_its_gain_is_that_of_the_loop() -> None:
    one = gained(1.0)
    assert (one.run_speedup, one.run_low, one.run_high) == (None, None, None)
    assert one.gain_of_run == (1.67, 1.5, 1.8)


def test_what_is_only_to_be_tried_promises_the_run_nothing_either() -> None:
    one = gained(0.4, predicted_speedup=None, low=0.8, high=2.0)
    assert not one.is_promised
    assert one.run_speedup is None
    assert one.gain_of_run == (None, None, None)


@pytest.mark.parametrize(
    ("low", "is_promised"), [(1.2, True), (1.01, True), (1.004, False), (1.0, False), (0.9, False), (None, True)]
)
def test_a_prediction_whose_interval_holds_1_is_a_change_to_try(low: float | None, is_promised: bool) -> None:
    assert gained(1.0, low=low).is_promised is is_promised
