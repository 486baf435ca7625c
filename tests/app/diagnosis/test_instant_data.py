"""What a step would take with instant data, where loading takes cores from the step and where it does not."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from tests.app.made_facts import made_run, starved
from underfed_server.diagnosis.instant_data import instant_step_us, read_ceiling, shares_cores
from underfed_server.diagnosis.judge import judge
from underfed_server.facts.record import RunFacts


def crowded(queued: float = 0.0, **changes: Any) -> RunFacts:
    """Steps of 60 ms beside the data wait on two cores that are full with loading."""
    usual: dict[str, Any] = {
        "wait_ms": 40.0, "work_ms": 60.0, "num_workers": 2, "load_cpu_ms": 140.0, "usable_cores": 2.0,
        "busy_cores": 2.0, "process_cores": 0.5, "workers_cores": 1.5, "cpu_slowdown": None,
    }  # fmt: skip
    facts = made_run(**{**usual, **changes})
    rank = facts.ranks[0]
    process = replace(rank.process, main_runqueue_fraction=queued)
    return replace(facts, ranks=(replace(rank, process=process),))


def instant_ms(facts: RunFacts) -> float:
    return instant_step_us(facts.ranks[0], facts.host) / 1e3


def test_instant_data_leaves_the_step_without_its_wait() -> None:
    assert instant_ms(starved()) == pytest.approx(50.0)
    assert instant_ms(crowded()) == pytest.approx(60.0)


def test_queueing_for_cores_that_workers_use_goes_away_too() -> None:
    assert instant_ms(crowded(queued=0.1)) == pytest.approx(50.0)
    # A quarter of what else uses the cores is not the workers'.
    assert instant_ms(crowded(queued=0.1, busy_cores=2.5)) == pytest.approx(60.0 - 10.0 * 0.75)
    assert instant_ms(crowded(queued=0.1, workers_cores=0.0)) == pytest.approx(60.0)


def test_so_does_what_busy_cores_slow_each_other_down() -> None:
    # 50 of the 60 ms compute, and did so 1.25 times slower beside a busy core.
    assert instant_ms(crowded(cpu_slowdown=((1.0, 1.0), (2.0, 1.25)))) == pytest.approx(10 + 50 / 1.25)


def test_nothing_of_it_without_workers_which_would_load_beside_the_step() -> None:
    alone = crowded(queued=0.1, num_workers=0, cpu_slowdown=((1.0, 1.0), (2.0, 1.25)))
    assert instant_ms(alone) == pytest.approx(60.0)
    assert not shares_cores(alone.ranks[0], alone.host)
    assert shares_cores(crowded().ranks[0], crowded().host)
    assert not shares_cores(crowded(usable_cores=4.0).ranks[0], crowded(usable_cores=4.0).host)


def test_the_device_s_own_work_remains_whatever_the_host_saves() -> None:
    device: dict[str, Any] = {"uses_gpu": True, "gpu_idle_ms": 20.0, "gpu_work_ms": 58.0, "queue_depth": 0.0}
    assert instant_ms(crowded(queued=0.3, **device)) == pytest.approx(58.0)


def test_the_verdict_says_the_same() -> None:
    facts = crowded(queued=0.1)
    assert judge(facts).instant_data_steps_per_s == pytest.approx(1 / 0.050)


@pytest.mark.parametrize(("work_ms", "least"), [(60.0, 0.0), ([40.0] * 150 + [80.0] * 150, 0.1)])
def test_what_instant_data_would_gain_is_known_as_well_as_the_step_without_its_wait(
    work_ms: float | list[float], least: float
) -> None:
    facts = made_run(wait_ms=40.0, work_ms=work_ms, usable_cores=8.0, busy_cores=1.0)
    ceiling = read_ceiling(facts.ranks[0], facts.host)
    assert ceiling.speedup == pytest.approx(100 / 60)
    assert math.log(ceiling.highest / ceiling.speedup) >= least - 1e-9


def test_where_loading_takes_cores_from_the_step_more_may_be_gained() -> None:
    full = read_ceiling(crowded().ranks[0], crowded().host)
    assert full.highest > 1.2 * full.speedup
