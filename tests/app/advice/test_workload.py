"""What the simulator is given of a run: as many batches and steps as it runs, which are like all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.app.diagnosis.loop import Played
from tests.app.made_facts import made_run
from underfed_server.advice.prediction.predict import make_predictor
from underfed_server.advice.prediction.simulate import SimulatedSetting
from underfed_server.advice.prediction.workload import groups, read_workload
from underfed_server.facts.record import RunFacts
from underfed_server.measurements import Column


def loads_ms(facts: RunFacts) -> list[float]:
    assert facts.loader is not None
    workload = read_workload(facts.ranks[0], facts.loader, facts.host)
    return [(each.cpu_us + each.blocked_us) / 1e3 for each in workload.batches]


@pytest.mark.parametrize("seed", range(4))
def test_a_tail_of_one_in_a_hundred_is_simulated_with_its_share(seed: int) -> None:
    chance = np.random.default_rng(seed)
    load_ms = np.where(chance.random(2_000) < 0.01, 400.0, chance.gamma(20.0, 1.0, 2_000))
    made = loads_ms(made_run(steps=2_000, wait_ms=10.0, num_workers=8, load_ms=list(load_ms)))
    assert np.mean(made) == pytest.approx(np.mean(load_ms), rel=0.01)
    assert np.max(made) == pytest.approx(400.0)
    assert np.mean(np.array(made) > 200) == pytest.approx(np.mean(load_ms > 200), abs=0.005)
    assert np.std(made) == pytest.approx(np.std(load_ms), rel=0.1)


def test_short_runs_are_simulated_as_they_were() -> None:
    load_ms = np.random.default_rng(0).gamma(4.0, 10.0, 200)
    assert loads_ms(made_run(steps=200, wait_ms=10.0, num_workers=8, load_ms=list(load_ms))) == pytest.approx(
        list(load_ms)
    )


def test_what_changed_in_the_course_of_a_run_changes_in_the_simulation() -> None:
    load_ms = np.concatenate([np.full(600, 10.0), np.full(1_400, 30.0)]) + np.random.default_rng(0).random(2_000)
    made: Column = np.array(loads_ms(made_run(steps=2_000, wait_ms=10.0, num_workers=8, load_ms=list(load_ms))))
    assert np.mean(made[:60]) < 12 and np.mean(made[-60:]) > 29


def test_bursts_of_short_steps_are_simulated_as_bursts() -> None:
    """As where gradients are accumulated: three steps of 2 ms, then one of 60 ms, in which one worker could load four
    batches of 15 ms, but may be only two ahead. 66 ms of work for four steps would hide all loading."""
    facts = made_run(steps=2_000, wait_ms=(0, 0, 11, 13), work_ms=(2, 2, 2, 60), num_workers=1, load_blocked_ms=15.0)
    assert facts.loader is not None
    predictor = make_predictor(facts.ranks[0], facts.loader, facts.host)
    assert predictor.recorded.step_us == pytest.approx(facts.ranks[0].step_us, rel=0.05)
    assert predictor.quick(SimulatedSetting(1, 8)) == pytest.approx(90 / 66, rel=0.06)


def test_every_value_is_in_one_group() -> None:
    found = groups(np.random.default_rng(0).random(777), 50)
    assert len(found) == 50
    assert sorted(np.concatenate(found)) == list(range(777))


@pytest.mark.parametrize("seed", range(3))
def test_a_batch_that_is_late_is_not_taken_for_one_that_is_slow_to_receive(seed: int) -> None:
    """Batches that lie ready behind it do not make the loop's wait for it one for handing over."""
    slow = np.random.default_rng(seed).random(600) < 0.15
    played = Played(load_ms=list(np.where(slow, 260.0, 64.0)), work_ms=15.0, num_workers=8, epoch_steps=600)
    facts = played.facts()
    assert facts.loader is not None
    assert np.median(facts.ranks[0].steps.queue_depth) >= 1
    handover = read_workload(facts.ranks[0], facts.loader, facts.host).handover
    assert handover.receive_wait_us < 1_000 and handover.busy_wait_us < 4_000


@pytest.mark.parametrize("factor", [4, 8])
def test_gradients_that_are_accumulated_are_predicted_as_they_go(factor: int) -> None:
    """Seven short steps and a long one, and a worker that is fast enough on average only."""
    played = Played(load_ms=13.0, work_ms=[5.0] * 7 + [90.0], num_workers=1, epoch_steps=1_200)
    facts = played.facts(load_blocked_ms=13.0)
    assert facts.loader is not None
    gain = make_predictor(facts.ranks[0], facts.loader, facts.host).predict(SimulatedSetting(1, factor))
    truth = played.step_ms() / replace(played, prefetch_factor=factor).step_ms()
    assert gain.low <= truth <= gain.high
    assert gain.speedup == pytest.approx(truth, rel=0.05)
