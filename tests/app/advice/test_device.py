"""Loops whose device works on its own: what loading faster gains is bounded by the device's work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.app.advice.made_case import of, recommended
from tests.app.device_loop import Column, loop
from tests.app.made_facts import made_run
from underfed_server.advice.prediction.predict import make_predictor
from underfed_server.advice.prediction.simulate import SimulatedSetting
from underfed_server.diagnosis.judge import judge
from underfed_server.facts.record import RunFacts

STEPS = 600


def constant(ms: float) -> Column:
    return np.full(STEPS, ms * 1e3)


def recorded(wait: Column, host: Column, work: Column, ahead: int = 10_000, **changes: Any) -> RunFacts:
    """A run without workers, whose waits are loads that are blocked, as an agent sees it."""
    seen = loop(wait, host, work, ahead=ahead)
    usual = {"load_blocked_ms": wait / 1e3, "uses_gpu": True, "process_cores": 0.05, "busy_cores": 0.1}
    facts = made_run(steps=STEPS, wait_ms=list(wait / 1e3), **{**usual, **changes})
    rank = facts.ranks[0]
    start = np.concatenate([[0.0], np.cumsum(seen.step)[:-1]])
    columns = {"start_us": start, "step_us": seen.step, "gpu_idle_us": seen.idle, "gpu_work_us": seen.work_seen}
    return replace(facts, ranks=(replace(rank, steps=replace(rank.steps, **columns)),))


def test_instant_data_gains_what_the_device_lets_it_gain() -> None:
    """Host 10 ms, wait 90 ms, device 60 ms: a step of 100 ms becomes one of 60, not of 10."""
    facts = recorded(constant(90), constant(10), constant(60))
    verdict = judge(facts)
    assert verdict.steps_per_s is not None and verdict.instant_data_steps_per_s is not None
    assert verdict.steps_per_s == pytest.approx(10.0, rel=0.01)
    assert verdict.instant_data_steps_per_s == pytest.approx(1 / 0.060, rel=0.005)
    best = of("num_workers", recommended(facts, no_workers=0.5))
    assert best.ceiling == pytest.approx(verdict.instant_data_steps_per_s / verdict.steps_per_s)
    assert best.ceiling == pytest.approx(1.67, rel=0.02)
    assert best.predicted_speedup == pytest.approx(1.67, rel=0.03)
    assert best.high is not None and best.ceiling is not None and best.high <= best.ceiling
    # Two workers load one every 45 ms: more would only wait for the device.
    assert best.to == 2


@pytest.mark.parametrize(
    ("host_ms", "load_ms", "work_ms"),
    [(2, 40, 20), (20, 60, 10), *(pytest.param(*ms, marks=pytest.mark.soak) for ms in ((10, 90, 60), (8, 30, 30)))],
)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.soak)])
def test_loops_that_vary_are_predicted_as_they_go_with_the_change(
    host_ms: float, load_ms: float, work_ms: float, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    wait, host, work = (chance.gamma(6.0, ms / 6, STEPS) * 1e3 for ms in (load_ms, host_ms, work_ms))
    facts = recorded(wait, host, work)
    assert facts.loader is not None
    predictor = make_predictor(facts.ranks[0], facts.loader, facts.host)
    instant = loop(0 * wait, host, work, ahead=4)
    assert predictor.ceiling == pytest.approx(np.sum(facts.ranks[0].steps.step_us) / instant.end_us, rel=0.08)
    for setting in (SimulatedSetting(1), SimulatedSetting(4), SimulatedSetting(8, 4)):
        gain = predictor.predict(setting)
        assert facts.ranks[0].step_us / gain.speedup >= 0.97 * np.mean(work)
        assert gain.low <= gain.speedup <= gain.high <= predictor.ceiling
    # What is left to gain then is handing over a batch, 2 ms of a step.
    assert predictor.quick(SimulatedSetting(8, 4)) == pytest.approx(predictor.ceiling, rel=0.12)


def test_a_loop_that_waits_for_its_device_in_every_step_is_bounded_by_its_own_time() -> None:
    facts = recorded(constant(90), constant(10), constant(60), ahead=0)
    assert facts.ranks[0].device_work_us is None
    assert judge(facts).instant_data_steps_per_s == pytest.approx(1 / 0.060, rel=0.01)
    assert of("num_workers", recommended(facts, no_workers=0.5)).ceiling == pytest.approx(150 / 60, rel=0.01)


def test_a_wait_that_the_device_works_through_is_not_promised_as_a_gain() -> None:
    """Device idle time was read, and it is a small part of the wait: nothing more can be gained."""
    facts = made_run(wait_ms=100.0, work_ms=100.0, uses_gpu=True, gpu_idle_ms=10.0, num_workers=2, queue_depth=0.0)
    verdict = judge(facts)
    assert verdict.instant_data_steps_per_s == pytest.approx(1 / 0.190)
    advice = recommended(facts, too_few_workers=0.05).advice
    assert all(one.predicted_speedup is None or one.predicted_speedup <= 200 / 190 for one in advice)
