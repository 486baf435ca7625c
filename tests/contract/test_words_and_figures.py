"""Terminal and page write a figure, and a verdict, alike: tables hold both (``frontend/test/format.test.ts``)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from underfed_server.figures import evidence
from underfed_server.model import Evidence
from underfed_server.terminal.verdict import verdict_word


def table(name: str) -> list[Any]:
    rows: list[Any] = json.loads(Path(__file__).with_name(name).read_text())
    return rows


@pytest.mark.parametrize(("unit", "value", "text"), table("figures.json"))
def test_a_figure_has_three_digits_and_its_unit(unit: str, value: float | str | None, text: str) -> None:
    assert evidence(Evidence.model_validate({"what": "x", "value": value, "unit": unit})) == text


@pytest.mark.parametrize(("bound", "level", "status", "text"), table("verdicts.json"))
def test_a_verdict_is_one_word(bound: Any, level: Any, status: Any, text: str) -> None:
    assert verdict_word(bound, level, status) == text
