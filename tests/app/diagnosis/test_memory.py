"""Memory that is short, or will be: reported before the failure, and of every run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.app.diagnosis.altered import GB, of_ranks, with_host, with_memory, with_rank, with_workers
from tests.app.diagnosis.loop import Played
from tests.app.made_facts import made_run, starved
from underfed_server.diagnosis.judge import judge
from underfed_server.facts.record import RunFacts
from underfed_server.model import CauseFinding

CALM = made_run(wait_ms=1.0, work_ms=100.0, num_workers=4)


def pressure(facts: RunFacts) -> CauseFinding | None:
    return next((each for each in judge(facts).causes if each.cause == "memory_pressure"), None)


def falling(gb_per_hour: float, facts: RunFacts = CALM, left_gb: float = 40.0) -> RunFacts:
    """MemAvailable over ten minutes, of 100 GB."""
    lost = gb_per_hour / 6
    return with_host(with_memory(facts), memory_available_bytes=((left_gb + lost) * GB, left_gb * GB))


def taking(gb_per_hour: float, facts: RunFacts) -> RunFacts:
    """The training process grows."""
    process = replace(facts.ranks[0].process, bytes_per_hour=gb_per_hour * GB, is_growing=gb_per_hour > 0)
    return with_rank(facts, process=process)


@pytest.mark.parametrize(("gb_per_hour", "when"), [(30.0, "80 minutes"), (17.0, "2 hours"), (8.0, "5 hours")])
def test_memory_that_shrinks_is_said_with_the_time_when_it_is_used_up(gb_per_hour: float, when: str) -> None:
    facts = taking(gb_per_hour, falling(gb_per_hour, left_gb=40.0))
    found = pressure(facts)
    assert found is not None and f"In {when} memory is used up" in found.sentence
    verdict = judge(facts)
    assert verdict.bound == "compute"
    assert verdict.why == found.sentence


def test_what_other_processes_take_is_not_predicted() -> None:
    assert pressure(falling(20.0)) is None
    assert pressure(taking(0.5, falling(20.0))) is None
    limited = with_memory(CALM, limit=32.0, shm=10.0)
    filled = with_host(limited, memory_used_bytes=(20 * GB, 24 * GB), shm_free_bytes=(9 * GB, 5 * GB))
    assert pressure(filled) is None


def test_what_other_processes_take_is_stated_beside_what_the_run_takes() -> None:
    found = pressure(taking(8.0, falling(20.0, left_gb=40.0)))
    assert found is not None and "In 5 hours memory is used up: this run takes 7.45 GiB more an hour" in found.sentence
    evidence = {each.what: each.value for each in found.evidence}
    assert evidence["Growth of other processes in an hour"] == pytest.approx(12 * GB, rel=0.01)


def test_files_that_the_training_maps_use_up_no_memory() -> None:
    assert pressure(taking(20.0, falling(0.0))) is None
    assert pressure(taking(20.0, falling(0.5))) is None


def test_all_ranks_of_a_host_use_up_its_memory_together() -> None:
    assert pressure(taking(1.0, falling(4.0))) is None
    one = with_workers(falling(4.0), bytes_per_hour=0.25 * GB, is_growing=True)
    assert pressure(one) is None
    assert pressure(of_ranks(one, one, one, one)) is not None


def test_shared_memory_that_the_run_fills_is_predicted() -> None:
    facts = with_host(with_memory(CALM, shm=10.0), shm_free_bytes=(9 * GB, 5 * GB))
    found = pressure(taking(12.0, facts))
    assert found is not None and "In 25 minutes /dev/shm is used up" in found.sentence


def test_growth_that_lasts_for_days_or_is_jitter_is_not_said() -> None:
    assert pressure(taking(0.5, falling(0.5))) is None
    assert pressure(taking(0.0, falling(-30.0))) is None


def test_less_than_five_minutes_are_too_short_for_a_forecast() -> None:
    def of(minutes: float) -> CauseFinding | None:
        facts = with_host(with_memory(CALM), minutes=minutes, memory_available_bytes=(45 * GB, 40 * GB))
        return pressure(taking(60 / minutes * 5, facts))

    assert of(4.5) is None
    found = of(5.5)
    assert found is not None and found.sentence.endswith("an hour, as it did for 5.5 minutes.")


def test_the_limit_of_the_group_counts_though_the_host_has_memory() -> None:
    facts = with_memory(CALM, total=1000.0, limit=32.0)
    facts = with_host(facts, memory_used_bytes=(20 * GB, 24 * GB), memory_available_bytes=(800 * GB, 800 * GB))
    found = pressure(taking(24.0, facts))
    assert found is not None and "the memory limit" in found.sentence


def test_workers_that_copy_on_write_are_named() -> None:
    facts = with_workers(falling(0.0), bytes_per_hour=4.0 * GB, is_growing=True)
    found = pressure(facts)
    assert found is not None and "The workers' memory grows by 14.9 GiB an hour" in found.sentence


def test_workers_whose_memory_rests_are_not() -> None:
    assert pressure(with_workers(falling(0.0), bytes_per_hour=4.0 * GB, is_growing=False)) is None


def test_a_killed_worker_is_memorys_fault_only_where_memory_was_short() -> None:
    def of(left_gb: float, died: int) -> CauseFinding | None:
        return pressure(with_workers(falling(0.0, left_gb=left_gb), died=died))

    found = of(left_gb=3.0, died=1)
    assert found is not None and "killed while memory was short" in found.sentence
    assert of(left_gb=60.0, died=1) is None
    assert of(left_gb=3.0, died=0) is None


@pytest.mark.parametrize("run", [CALM, Played(load_ms=120, work_ms=20).facts()], ids=["compute", "data"])
def test_a_shared_memory_that_is_nearly_full_is_said_of_every_run(run: RunFacts) -> None:
    small = with_memory(run, shm=0.064)
    found = pressure(with_host(small, shm_free_bytes=(0.004 * GB, 0.004 * GB)))
    assert found is not None and "/dev/shm is nearly full" in found.sentence
    assert pressure(with_host(small, shm_free_bytes=(0.05 * GB, 0.05 * GB))) is None


def test_a_small_shared_memory_with_room_hides_no_limit_that_is_nearly_reached() -> None:
    run = with_memory(Played(load_ms=120, work_ms=20).facts(), limit=32.0, shm=0.064)
    used, free = (31 * GB, 31 * GB), (0.05 * GB, 0.05 * GB)
    found = pressure(with_host(run, memory_used_bytes=used, shm_free_bytes=free))
    assert found is not None and "memory limit" in found.sentence


def test_a_memory_limit_that_is_nearly_reached_is_said_of_runs_that_wait() -> None:
    for run, expected in ((Played(load_ms=120, work_ms=20).facts(), True), (CALM, False)):
        found = pressure(with_host(with_memory(run, limit=32.0), memory_used_bytes=(31 * GB, 31 * GB)))
        assert (found is not None) is expected


@pytest.mark.parametrize("stall", [0.06, 0.2, 0.5])
def test_waiting_for_pages_costs_what_tasks_waited_for_memory(stall: float) -> None:
    facts = with_host(starved(), memory_pressure_us=(0.0, stall * 600e6))
    found = pressure(facts)
    assert found is not None and found.cost_fraction == pytest.approx(stall, rel=0.01)


def test_a_host_without_swap_in_use_does_not_swap() -> None:
    assert pressure(with_host(starved(), swap_used_bytes=[0.0] * 600)) is None


def test_swap_that_was_filled_long_ago_and_rests_is_no_cause() -> None:
    resting, growing = (4 * GB, 4 * GB), (4 * GB, 8 * GB)
    assert pressure(with_host(starved(), swap_used_bytes=resting)) is None
    assert pressure(with_host(starved(), swap_used_bytes=growing)) is not None


def test_a_host_that_was_not_sampled_has_no_memory_to_speak_of() -> None:
    assert pressure(with_memory(starved())) is None
    signal = next(each for each in judge(starved()).signals if each.signal.startswith("Memory and /dev/shm"))
    assert signal.reading == "not_measured"
