"""Terminal and page write a figure, and a verdict, alike: tables hold both (``frontend/test/format.test.ts``), and what
``underfed run`` writes at its end, which knows no service's code.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.app.made_diagnosis import made_diagnosis
from underfed.launcher import verdict as last_lines
from underfed_server import figures
from underfed_server.figures import evidence
from underfed_server.model import BesideAction, BestAdvice, Evidence, ToWrite
from underfed_server.terminal.verdict import verdict_word


def table(name: str) -> list[Any]:
    rows: list[Any] = json.loads(Path(__file__).with_name(name).read_text())
    return rows


@pytest.mark.parametrize(("unit", "value", "text"), table("figures.json"))
def test_a_figure_has_three_digits_and_its_unit(unit: str, value: float | str | None, text: str) -> None:
    assert evidence(Evidence.model_validate({"what": "x", "value": value, "unit": unit})) == text


@pytest.mark.parametrize("share", [value for unit, value, _ in table("figures.json") if unit == "fraction"])
def test_the_last_lines_of_a_run_have_a_share_as_the_terminal_has_it(share: float) -> None:
    assert last_lines.percent(share) == figures.fraction(share)


@pytest.mark.parametrize("margin", [None, 0.0004, 0.004, 0.0095, 0.032])
def test_the_last_lines_of_a_run_have_a_margin_as_the_terminal_has_it(margin: float | None) -> None:
    assert last_lines.margin({"margin_fraction": margin}).strip() == figures.margin(margin)


@pytest.mark.parametrize(("low", "high"), [(1.48, 1.71), (1.701, 1.704), (None, None)])
def test_the_last_lines_of_a_run_have_a_gain_as_the_terminal_has_it(low: float | None, high: float | None) -> None:
    gain = {"change": "num_workers", "from": 0, "to": 4, "predicted_speedup": 1.7, "low": low, "high": high}
    advice = BestAdvice.model_validate(gain)
    assert last_lines.gain_of(advice.model_dump(by_alias=True)) == figures.gain_of_run(advice)


@pytest.mark.parametrize("speedup", [1.6, None])
def test_the_last_lines_of_a_run_have_what_is_to_be_done_outside_it_as_the_terminal_has_it(
    speedup: float | None,
) -> None:
    act = BesideAction(title="Save checkpoints less often", detail="", speedup=speedup, hours_saved=None)
    outside = {"beside_loader": "Save less.", "beside": [act], "beside_speedup": speedup, "is_beside_first": True}
    found = made_diagnosis().model_copy(update={**outside, "advice": []})
    assert last_lines.beside_of(found.model_dump(by_alias=True)) == figures.first_beside(found)
    kept = ToWrite(title="Write num_workers=2 into the program", gain="× 1.91 measured", detail="", lines=[])
    found = found.model_copy(update={"to_write": kept})
    said = [*last_lines.lines_of(found.model_dump(by_alias=True), "page")]
    assert [line for line in said if line.startswith("first fix: ")] == [f"first fix: {figures.first_beside(found)}"]


@pytest.mark.parametrize(("bound", "level", "status", "is_mostly_paused", "text"), table("verdicts.json"))
def test_a_verdict_is_one_word(bound: Any, level: Any, status: Any, is_mostly_paused: bool, text: str) -> None:
    assert verdict_word(bound, level, status, is_mostly_paused=is_mostly_paused) == text


@pytest.mark.parametrize(("bound", "waited"), [("data", "data"), ("transfer", "data or copies")])
def test_copies_are_named_where_the_speed_without_waits_leaves_them_out(bound: str, waited: str) -> None:
    found = made_diagnosis().model_copy(update={"bound": bound, "copy_hours_lost": 0.5})
    assert (figures.speed(found) or "").endswith(f" if no step waited for {waited}")
