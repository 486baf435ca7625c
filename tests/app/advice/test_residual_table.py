"""What the benchmark makes of its measurements: residuals for intervals, and a cost of advice without luck."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.prediction.evaluate import Figure, fair_cost, write_residuals
from benchmarks.prediction.job import Setting
from underfed_server.advice.prediction.regime import PredictionClass

GRID = [Setting(workers, factor) for workers in range(1, 5) for factor in (1, 2, 4, 8)]


def test_of_settings_that_are_equally_fast_none_costs_anything() -> None:
    """The best of sixteen in the same repeat would be a tenth faster than any that was chosen without luck."""
    chance = np.random.default_rng(0)
    costs, lucky = [], []
    for _ in range(200):
        repeats = [{one: float(20_000 * np.exp(chance.normal(0, 0.05))) for one in GRID} for _ in range(3)]
        costs.append(fair_cost(GRID[0], repeats) or 0.0)
        lucky.append(np.mean([each[GRID[0]] / min(each.values()) - 1 for each in repeats]))
    assert abs(np.mean(costs)) < 0.02
    assert np.mean(lucky) > 0.07


def test_a_slower_setting_costs_what_it_is_slower() -> None:
    repeats = [{one: 20_000.0 if one is GRID[0] else 16_000.0 for one in GRID} for _ in range(3)]
    assert fair_cost(GRID[0], repeats) == pytest.approx(0.25)
    assert fair_cost(GRID[0], repeats[:1]) is None
    assert fair_cost(Setting(9, 2), repeats) is None


def test_the_table_has_a_row_for_each_pipeline_and_regime(tmp_path: Path) -> None:
    full, calm = PredictionClass("full cores", 1.0), PredictionClass("free cores", 0.5)
    figures = [
        Figure("decode", GRID[0], GRID[1], 2.0, 1.8, full),
        Figure("decode", GRID[0], GRID[2], 1.1, 1.0, calm),
        *(Figure("mixed", GRID[0], GRID[1], 1.0, 1.0, full) for _ in range(100)),
    ]
    write_residuals(figures, "a test", tmp_path / "residuals.json")
    rows = json.loads((tmp_path / "residuals.json").read_text())["residuals"]
    by_name = {(row["regime"], row["pipeline"]): row["values"] for row in rows}
    assert by_name["full cores", "decode"] == pytest.approx([math.log(0.9)], abs=1e-3)
    # Half exposed: the same error of loading would be twice as large in a step that waits.
    assert by_name["free cores", "decode"] == pytest.approx([2 * math.log(1 / 1.1)], abs=1e-3)
    assert len(by_name["full cores", "mixed"]) == 20
