"""Each rule swept in strength, with the healthy neighbour silent."""

from __future__ import annotations

import pytest

from tests.app.made_facts import made_run, starved
from underfed_server.diagnosis.judge import judge
from underfed_server.facts.record import RunFacts


def causes(facts: RunFacts) -> list[str]:
    return [finding.cause for finding in judge(facts).causes]


@pytest.mark.parametrize("load_ms", [15.0, 60.0, 240.0, 900.0])
def test_no_workers_is_found_at_every_strength(load_ms: float) -> None:
    facts = starved(wait_ms=load_ms, load_cpu_ms=load_ms)
    assert causes(facts)[0] == "no_workers"


def test_no_workers_costs_what_loading_beside_the_step_would_give_back() -> None:
    # 120 ms of loading and 50 ms of work on two cores: at best 85 ms a step of 170.
    finding = judge(starved(usable_cores=2.0)).causes[0]
    assert finding.cost_fraction == pytest.approx(0.5)


def test_no_workers_is_silent_with_workers() -> None:
    assert "no_workers" not in causes(starved(num_workers=2))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_too_few_workers_is_found_while_cores_are_free(workers: int) -> None:
    step = 120.0 / workers
    facts = made_run(
        wait_ms=step - 20.0,
        work_ms=20.0,
        num_workers=workers,
        load_cpu_ms=120.0,
        busy_cores=workers + 0.5,
        queue_depth=0,
    )
    assert causes(facts)[0] == "too_few_workers"


def test_too_few_workers_is_silent_when_the_workers_have_slack() -> None:
    facts = made_run(wait_ms=30.0, work_ms=100.0, num_workers=4, load_cpu_ms=120.0, busy_cores=1.5, queue_depth=2)
    assert "too_few_workers" not in causes(facts)


@pytest.mark.parametrize("usable", [1.0, 2.0, 4.0])
def test_saturated_cores_are_the_limit_not_the_number_of_workers(usable: float) -> None:
    facts = made_run(
        wait_ms=70.0, work_ms=50.0, num_workers=8, load_cpu_ms=120.0, load_runqueue_ms=80.0,
        usable_cores=usable, busy_cores=usable, queue_depth=0,
    )  # fmt: skip
    found = causes(facts)
    assert found[0] == "cpu_limited"
    assert "too_few_workers" not in found


def test_cpu_limited_is_silent_while_cores_are_free() -> None:
    facts = made_run(wait_ms=100.0, work_ms=20.0, num_workers=1, load_cpu_ms=120.0, usable_cores=8.0, busy_cores=1.3)
    assert "cpu_limited" not in causes(facts)


@pytest.mark.parametrize("blocked_ms", [130.0, 400.0, 2000.0])
def test_storage_wait_is_found_when_reads_reach_storage(blocked_ms: float) -> None:
    facts = starved(wait_ms=blocked_ms + 20, load_cpu_ms=20.0, load_blocked_ms=blocked_ms, read_bytes=9e5)
    assert causes(facts)[0] == "storage_wait"


def test_blocking_that_the_page_cache_serves_is_not_blamed_on_storage() -> None:
    facts = starved(wait_ms=400.0, load_cpu_ms=20.0, load_blocked_ms=380.0, read_bytes=0.0)
    assert "storage_wait" not in causes(facts)


def test_memory_mapped_reads_count_as_storage_though_no_call_asked_for_them() -> None:
    facts = starved(wait_ms=400.0, load_cpu_ms=20.0, load_blocked_ms=380.0, asked_bytes=0.0, read_bytes=5e5)
    assert causes(facts)[0] == "storage_wait"
