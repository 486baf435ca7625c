"""Intervals by how predictions went: nine of ten of what is observed lie inside, of their regime and of their host."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

from tests.app.diagnosis.loop import Played
from tests.app.made_facts import made_run, starved
from underfed_server.advice.prediction.predict import Prediction, Predictor, make_predictor
from underfed_server.advice.prediction.regime import Regime
from underfed_server.advice.prediction.residuals import A_PIPELINE, FEWEST_PROVEN, TABLE, Sample, interval, thinned
from underfed_server.advice.prediction.simulate import SimulatedSetting
from underfed_server.facts.record import RunFacts
from underfed_server.measurements import Column


def sample(values: Column) -> Sample:
    return Sample(values, np.ones(len(values)))


@pytest.mark.parametrize("count", [20, 50, 200])
def test_nine_of_ten_next_residuals_lie_within_those_that_are_known(count: int) -> None:
    chance = np.random.default_rng(count)
    inside = []
    for _ in range(1_000):
        known = chance.gamma(2.0, 0.1, count + 1) - 0.1
        low, high = sample(known[:-1]).ends()
        inside.append(low <= known[-1] <= high)
    assert 0.875 <= np.mean(inside) <= 0.96


def test_residuals_of_one_sign_move_the_interval_to_their_side() -> None:
    low, high = sample(np.linspace(-0.3, 0.0, 40)).ends()
    assert low < -0.25 and abs(high) < 0.02


def test_few_residuals_of_a_group_lean_on_the_larger_one() -> None:
    wide, chance = sample(np.linspace(-0.5, 0.5, 200)), np.random.default_rng(0)
    widths = [np.ptp(wide.within(list(chance.normal(0.0, 0.02, count))).ends()) for count in (0, 8, 40, 400)]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] == pytest.approx(np.ptp(wide.ends()), abs=0.06) and widths[-1] < 0.15


def test_a_host_whose_gains_were_seen_has_intervals_of_its_own() -> None:
    usual = interval("from none")
    assert interval("from none", [0.0] * (FEWEST_PROVEN - 1)) == usual
    precise = interval("from none", [0.0] * 40)
    assert usual[0] < precise[0] <= 0 <= precise[1] < usual[1]
    disappointed = interval("from none", [-0.4] * 40)
    assert disappointed[0] <= -0.4


def test_every_regime_has_residuals_of_its_own() -> None:
    rows = json.loads(TABLE.read_text())["residuals"]
    assert {row["regime"] for row in rows} == set(get_args(Regime))
    assert all(len(row["values"]) <= A_PIPELINE for row in rows)
    assert all(abs(value) < 2 for row in rows for value in row["values"])


def test_thinned_residuals_are_spread_as_all_are() -> None:
    values = np.random.default_rng(0).normal(0.1, 0.2, 3_000)
    few = thinned(list(values))
    assert len(few) == A_PIPELINE
    assert (np.mean(few), np.std(few)) == pytest.approx((0.1, 0.2), rel=0.1)
    assert thinned([0.1]) == [0.1] and thinned([]) == []


def predictor(facts: RunFacts) -> Predictor:
    assert facts.loader is not None
    return make_predictor(facts.ranks[0], facts.loader, facts.host, proven=facts.proven)


def predicted(facts: RunFacts, setting: SimulatedSetting) -> Prediction:
    return predictor(facts).predict(setting)


ON_FULL_CORES: dict[str, Any] = {
    "usable_cores": 2.0,
    "num_workers": 2,
    "queue_depth": 0.0,
    "load_cpu_ms": 100.0,
    "wait_ms": 30.0,
}


@pytest.mark.parametrize(
    ("facts", "to", "regime"),
    [
        (starved(), 4, "from none"),
        (made_run(**ON_FULL_CORES, workers_cores=1.8, process_cores=0.1), 3, "full cores"),
        (made_run(**ON_FULL_CORES, workers_cores=1.8, process_cores=0.1), 0, "to none"),
        (made_run(wait_ms=50.0, num_workers=2, load_blocked_ms=200.0, process_cores=0.1), 4, "blocked"),
        (made_run(wait_ms=50.0, num_workers=2, load_ms=[20.0] * 49 + [900.0], process_cores=0.1), 4, "uneven loads"),
        (made_run(wait_ms=50.0, num_workers=2, load_cpu_ms=200.0, process_cores=0.1), 3, "free cores"),
        (starved(batch_bytes=200_000_000), 4, "large batches"),
        (Played(load_ms=40.0, startup_ms=900.0, epoch_steps=20, epochs=12).facts(), 4, "epoch starts"),
    ],
)
def test_what_decides_is_read_from_the_run(facts: RunFacts, to: int, regime: Regime) -> None:
    assert predictor(facts).class_of(SimulatedSetting(to)).regime == regime


@pytest.mark.parametrize("bias", [-0.15, 0.0, 0.15])
def test_gains_that_differ_from_predictions_at_random_lie_inside(bias: float) -> None:
    """A host on which gains are off by a bias and a spread: once it has seen enough of them, its intervals hold."""
    chance = np.random.default_rng(3)
    seen = chance.normal(bias, 0.08, 240)
    facts = replace(starved(usable_cores=64.0, wait_ms=400.0, load_cpu_ms=400.0), proven=tuple(seen[:40]))
    gain = predicted(facts, SimulatedSetting(3))
    observed = gain.speedup * np.exp(seen[40:])
    assert np.mean((gain.low <= observed) & (observed <= gain.high)) >= 0.87


@pytest.mark.parametrize("workers", range(5))
def test_an_interval_holds_its_figure_and_keeps_to_the_ceiling(workers: int) -> None:
    facts = starved(usable_cores=2.0, cpu_slowdown=((1.0, 1.0), (2.0, 1.2)))
    known = predictor(facts)
    gain = known.predict(SimulatedSetting(workers))
    assert 0 < gain.low <= gain.speedup <= gain.high <= known.highest
    assert gain.speedup <= known.ceiling


def test_a_step_that_hardly_waits_is_hardly_mispredicted() -> None:
    def width(wait_ms: float) -> float:
        facts = made_run(wait_ms=wait_ms, num_workers=2, load_cpu_ms=100 + 2 * wait_ms, process_cores=0.1)
        gain = predicted(facts, SimulatedSetting(3))
        return math.log(gain.high / gain.low)

    assert width(2.0) < width(80.0)
