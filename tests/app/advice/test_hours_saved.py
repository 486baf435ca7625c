"""The hours that a fix saves of a run, and of one of its loaders."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.made_diagnosis import made_advice, made_diagnosis
from underfed_server.advice.hours_saved import Hours, hours_judged, hours_saved, within_lost
from underfed_server.advice.kept import no_more_than
from underfed_server.diagnosis.instant_data import Ceiling
from underfed_server.model import Advice, HoursSaved, LoaderLine


def fix(**figures: Any) -> Advice:
    usual = {"predicted_speedup": 1.25, "low": 1.2, "high": 1.5}
    return Advice.model_validate(dict(made_advice()) | usual | figures)


def line(loader: str, hours_lost: float) -> LoaderLine:
    return LoaderLine(
        loader=loader, role="train", bound="data", level="bound", data_stall_fraction=0.4, hours_lost=hours_lost,
        share_of_run_fraction=0.5, steps=100,
    )  # fmt: skip


def saved(*advice: Advice, loaders: tuple[LoaderLine, ...] = (), is_of_run: bool = True, **said: Any) -> Any:
    verdict = made_diagnosis(**{"hours_lost": 0.5, "hours_used": 1.0} | said)
    found = hours_saved(advice or [fix()], verdict, loaders, "train", is_of_run=is_of_run)
    assert found is None or isinstance(found, HoursSaved)
    return found and (pytest.approx(found.low), pytest.approx(found.high))


def test_the_same_steps_take_less_by_the_ends_of_the_interval() -> None:
    assert saved() == (1 / 6, 1 / 3)
    assert saved(fix(low=None, high=None)) == (0.2, 0.2), "no interval: as predicted"
    assert saved(fix(), fix(predicted_speedup=2.0, low=1.6, high=2.0)) == (1 / 6, 1 / 3), "the first alone"


def test_no_more_is_saved_than_was_lost_to_the_loader_of_the_fix() -> None:
    assert saved(hours_lost=0.25) == (1 / 6, 0.25)
    both = (line("train", 0.3), line("val", 0.2))
    assert saved(loaders=both) == (1 / 6, 0.3), "the waits for the other stay"
    assert saved(loaders=both, is_of_run=False, hours_lost=0.3) == (1 / 6, 0.3), "its hours are its own already"


def test_a_loop_takes_a_share_of_its_runs_hours_and_all_of_its_own() -> None:
    one = fix(run_speedup=1.1, run_low=1.08, run_high=1.25)
    assert saved(one) == (1 - 1 / 1.08, 0.2)
    assert saved(one, is_of_run=False) == (1 / 6, 1 / 3)


def test_nothing_is_saved_where_nothing_is_promised_or_known() -> None:
    assert saved(fix(low=0.9)) is None
    assert saved(fix(low=0.9), fix()) is None, "not what another one than the first would save"
    assert saved(hours_lost=None) is None
    assert saved(hours_used=None) is None


def test_of_a_run_whose_settings_changed_it_is_what_the_steps_since_would_take_less() -> None:
    """The headline is of them, and what was lost before cannot be saved by what is advised now."""
    since: dict[str, Any] = {"judged_from_step": 900, "judged_steps": 100, "data_stall_fraction": 0.3}
    verdict = made_diagnosis(hours_lost=0.5, hours_used=1.0, **since)
    assert verdict.anatomy is not None
    used = 100 * verdict.anatomy.step_us * max(1, len(verdict.ranks)) / 3.6e9
    assert hours_judged(verdict, ()) == Hours(0.3 * used, used)
    assert saved(**since) == (used / 6, 0.3 * used)
    several = (line("train", 0.3), line("val", 0.2))
    assert hours_judged(verdict, several) == Hours(0.5, 1.0), "the headline of several loops is of the whole run"


MOST = Ceiling(1.66, 1.9)


def within(most: Ceiling | None = MOST, hours_lost: float = 0.41, **said: Any) -> Ceiling | None:
    verdict = made_diagnosis(**{"hours_lost": hours_lost, "hours_used": 1.0} | said)
    whole = line("train", hours_lost).model_copy(update={"share_of_run_fraction": 1.0})
    return within_lost(most, verdict, [whole], "train", is_of_run=True)


def test_a_fix_gains_the_same_steps_no_more_than_they_lost() -> None:
    found = within()
    assert found is not None and (found.speedup, found.highest) == pytest.approx((1.66, 1 / 0.59))
    assert within(None) is None
    paused = within(hours_lost=0.205, paused_fraction=0.5)
    assert paused is not None and paused.highest == pytest.approx(1 / 0.59), "of the time between pauses"


@pytest.mark.parametrize("said", [{"clock": "gpu"}, {"bound": "transfer"}, {"hours_lost": 0.6}, {"hours_used": None}])
def test_it_may_gain_more_where_the_waits_are_not_all_that_it_saves(said: dict[str, Any]) -> None:
    assert within(**said) == MOST
    assert within(Ceiling(2.4, 2.6)) == Ceiling(2.4, 2.6), "waits delay other work, too"


def test_no_figure_of_a_fix_is_above_what_it_gains_at_most() -> None:
    one = fix(predicted_speedup=1.7, low=1.2, high=1.9, ceiling=1.9, ceiling_low=1.5, ceiling_high=2.0)
    verdict = made_diagnosis()
    (found,) = no_more_than([one], Ceiling(1.6, 1.65), verdict.anatomy)
    assert (found.predicted_speedup, found.low, found.high, found.ceiling) == (1.6, 1.2, 1.65, 1.65)
    assert (found.ceiling_low, found.ceiling_high) == (1.5, 1.65)
    assert no_more_than([one], None, verdict.anatomy) == (one,)
    assert no_more_than([one], Ceiling(2.0, 2.5), verdict.anatomy) == (one,)
