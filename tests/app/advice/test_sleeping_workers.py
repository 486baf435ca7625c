"""Workers that sleep, waiting for storage: what helps them costs no core, and reasons of busy ones are not said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.app.advice.made_case import altered, changes, made_case, made_verdict, of, recommended, refused
from tests.app.diagnosis.loop import Played
from underfed_server.advice.advise import advise, recommend
from underfed_server.advice.prediction.simulate import SimulatedSetting
from underfed_server.advice.search import most_workers
from underfed_server.diagnosis.judge import judge
from underfed_server.facts.record import RunFacts

SLEEPING = {
    "usable_cores": 2.0, "busy_cores": 0.3, "process_cores": 0.05, "workers_cores": 0.1, "load_cpu_ms": 1.0,
    "load_blocked_ms": 64.0,
}  # fmt: skip


def heavy_tail(seed: int) -> Played:
    """Of the samples, 16 a batch, one in a hundred takes 200 ms instead of 4; eight workers, two cores."""
    slow = np.random.default_rng(seed).binomial(16, 0.01, 1_000)
    return Played(load_ms=list(64.0 + 196.0 * slow), work_ms=15.0, num_workers=8, epoch_steps=1_000)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in (1, 2))])
def test_each_remedy_of_a_heavy_tail_is_offered_with_what_it_gains(seed: int) -> None:
    played = heavy_tail(seed)
    facts = played.facts(**SLEEPING)
    found = advise(facts, judge(facts))
    assert {"in_order", "prefetch_factor", "num_workers"} <= changes(found)
    for change in ("prefetch_factor", "num_workers"):
        best = of(change, found)
        workers, factor = (int(str(best.settings[name])) for name in ("num_workers", "prefetch_factor"))
        truth = played.step_ms() / replace(played, num_workers=workers, prefetch_factor=factor).step_ms()
        assert truth > 1.15 and best.low is not None and best.high is not None
        assert 0.98 * best.low <= truth <= 1.02 * best.high
    any_order, truth = of("in_order", found), played.step_ms() / replace(played, in_order=False).step_ms()
    assert truth > 1.25 and any_order.low is not None and any_order.high is not None
    assert any_order.low <= truth <= any_order.high
    assert any_order.predicted_speedup == pytest.approx(truth, rel=0.06)
    more = of("num_workers", found)
    assert isinstance(more.to, int) and more.to > 8


def test_batches_in_any_order_are_offered_beside_a_cause_that_costs_more() -> None:
    facts = heavy_tail(0).facts(**SLEEPING)
    assert "in_order" in changes(recommended(facts, too_few_workers=0.3))
    assert "in_order" not in changes(recommended(facts, "compute"))


def queued(facts: RunFacts) -> str:
    case = made_case(facts, made_verdict(slow_samples=0.3), lambda _one: 1.0)
    return refused("prefetch_factor", recommend(case)).why


def test_a_longer_queue_is_not_called_empty_where_workers_rest() -> None:
    assert "as empty" not in queued(heavy_tail(0).facts(**SLEEPING))
    always = Played(load_ms=150.0, work_ms=15.0, num_workers=8).facts(**SLEEPING)
    assert "as empty" in queued(always)
    longest = Played(load_ms=150.0, work_ms=15.0, num_workers=8, prefetch_factor=8).facts(**SLEEPING)
    assert "greatest length" in queued(longest)


def test_cores_are_no_reason_against_more_workers_that_sleep() -> None:
    facts = heavy_tail(0).facts(**SLEEPING)
    case = made_case(facts, made_verdict(slow_samples=0.3), lambda _one: 1.0)
    assert most_workers(case) == 16
    assert "cores" not in refused("num_workers", recommend(case)).why
    many = altered(facts, settings={"num_workers": 64})
    most = made_case(many, made_verdict(slow_samples=0.3), lambda _one: 1.0)
    assert "more than 64 workers" in refused("num_workers", recommend(most)).why


@pytest.mark.parametrize(("computed_ms", "most"), [(6.5, 16), (16.0, 8), (32.0, 4)])
def test_as_many_sleep_as_can_compute_in_turn(computed_ms: float, most: int) -> None:
    facts = Played(load_ms=65.0, work_ms=5.0, num_workers=8).facts(
        **{**SLEEPING, "load_cpu_ms": computed_ms, "load_blocked_ms": 65.0 - computed_ms}
    )
    assert most_workers(made_case(facts, made_verdict(storage_wait=0.3))) == most


def test_fewer_workers_with_a_longer_queue_are_not_offered_for_what_the_queue_gains() -> None:
    def speedup(one: SimulatedSetting) -> float:
        return 1.3 if one.prefetch_factor > 2 else 1.0

    case = made_case(heavy_tail(0).facts(**SLEEPING), made_verdict(slow_samples=0.3), speedup)
    found = recommend(case)
    assert of("prefetch_factor", found).predicted_speedup == 1.3
    workers = [one for one in found.advice if one.change == "num_workers"]
    assert all(isinstance(one.to, int) and one.to > 8 for one in workers)
