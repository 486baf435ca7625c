"""Causes that explain why loading takes long: swept in strength, the healthy neighbour silent, no guess unmeasured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.app.diagnosis.altered import (
    with_batches,
    with_host,
    with_loader,
    with_steps,
    with_storage,
    with_workers,
)
from tests.app.diagnosis.found import causes, finding, is_growing
from tests.app.diagnosis.loop import Played
from tests.app.made_facts import made_run, starved
from underfed_server.advice.advise import advise
from underfed_server.diagnosis.examination import examine
from underfed_server.diagnosis.judge import judge
from underfed_server.diagnosis.overview import overview_of
from underfed_server.facts.record import RunFacts

NAN = float("nan")


# no_workers


@pytest.mark.parametrize("load_ms", [15.0, 60.0, 240.0, 900.0])
def test_no_workers_is_found_at_every_strength(load_ms: float) -> None:
    facts = starved(wait_ms=load_ms, load_cpu_ms=load_ms)
    assert causes(facts)[0] == "no_workers"


def test_no_workers_costs_what_loading_beside_the_step_would_give_back() -> None:
    # 120 ms of loading, less one for the hand-over, and 50 ms of work on two cores: at best 85 ms a step of 170.
    cost = judge(starved(usable_cores=2.0)).causes[0].cost_fraction
    assert cost == pytest.approx(0.5, abs=0.01)


def test_no_workers_is_silent_with_workers() -> None:
    assert "no_workers" not in causes(starved(num_workers=2))


def test_loads_that_are_shorter_than_a_hand_over_want_no_worker() -> None:
    assert causes(starved(wait_ms=0.8, load_cpu_ms=0.8, work_ms=2.0)) == []


# too_few_workers


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_too_few_workers_is_found_while_cores_are_free(workers: int) -> None:
    facts = Played(load_ms=120, work_ms=20, num_workers=workers).facts(busy_cores=workers + 0.5, load_cpu_ms=120.0)
    assert causes(facts) == ["too_few_workers"]


def test_too_few_workers_costs_what_enough_workers_give_back() -> None:
    played = [Played(load_ms=load_ms, work_ms=20) for load_ms in (60.0, 120.0, 400.0)]
    costs = [finding(each.facts(), "too_few_workers").cost_fraction for each in played]
    assert is_growing(costs)
    assert costs == pytest.approx([each.cost_of(num_workers=24) for each in played], abs=0.03)


def test_too_few_workers_is_found_in_short_epochs_whose_edges_give_the_workers_rest() -> None:
    facts = Played(load_ms=80, work_ms=20, epochs=20, epoch_steps=12, startup_ms=500).facts()
    assert set(causes(facts)) == {"worker_startup", "too_few_workers"}


def test_too_few_workers_is_silent_when_the_workers_have_slack() -> None:
    facts = made_run(wait_ms=30.0, work_ms=100.0, num_workers=4, load_cpu_ms=120.0, busy_cores=1.5, queue_depth=2)
    assert "too_few_workers" not in causes(facts)


def test_too_few_workers_does_not_say_that_cores_are_free_where_that_was_not_measured() -> None:
    played = Played(load_ms=120, work_ms=20)
    found = [finding(played.facts(busy_cores=busy, process_cores=None), "too_few_workers") for busy in (2.5, None)]
    assert [("Cores are free" in each.sentence) for each in found] == [True, False]


def test_less_than_a_free_core_is_said_in_figures() -> None:
    facts = Played(load_ms=120, work_ms=20).facts(busy_cores=1.75, usable_cores=2.0)
    assert "Of 2 cores 0.25 are free" in finding(facts, "too_few_workers").sentence


def test_workers_that_wait_are_too_few_also_where_others_fill_the_cores() -> None:
    crowded = {"busy_cores": 1.95, "usable_cores": 2.0}
    found = finding(Played(load_ms=120, work_ms=20).facts(**crowded), "too_few_workers")
    assert found.sentence.endswith(" A load mostly waits, but not for a core or a disk: for a service, for example.")
    computing = made_run(
        wait_ms=14.0, work_ms=20.0, num_workers=1, load_cpu_ms=33.0, usable_cores=2.0, busy_cores=1.95, queue_depth=0,
    )  # fmt: skip
    assert "too_few_workers" not in causes(computing)


def test_of_workers_that_wait_for_programs_of_their_own_on_full_cores_that_is_said() -> None:
    """As a decoder in a process of its own, which waits for a core as its worker does."""
    run = Played(load_ms=200, work_ms=30).facts(
        load_blocked_ms=170.0, load_cpu_ms=4.0, load_runqueue_ms=26.0, usable_cores=2.0, busy_cores=2.0,
        process_cores=0.05, workers_cores=0.3,
    )  # fmt: skip
    decoding = with_batches(run, process_cpu_us=run.ranks[0].batches.cpu_us + 32_000.0)
    sentences = [finding(facts, "too_few_workers").sentence for facts in (run, decoding)]
    assert sentences[0].endswith(" A load mostly waits, but not for a core or a disk: for a service, for example.")
    assert "programs of their own, which compute on full cores" in sentences[1]
    gains = {each.change: each.predicted_speedup for each in advise(decoding, judge(decoding)).advice}
    assert gains["num_workers"] is None, "nothing is promised of more of them"
    asleep = {each.change: each.predicted_speedup for each in advise(run, judge(run)).advice}
    assert asleep["num_workers"] is not None


def test_too_few_workers_is_found_where_the_runs_own_use_of_the_cores_was_not_measured() -> None:
    # One that ends within two seconds has a single sample of the host, which is one of its own work.
    facts = made_run(
        wait_ms=14.0, work_ms=20.0, num_workers=1, load_cpu_ms=33.0, usable_cores=2.0, busy_cores=1.2, queue_depth=0,
    )  # fmt: skip
    assert causes(facts) == ["too_few_workers"]


# cpu_limited


@pytest.mark.parametrize("usable", [1.0, 2.0, 4.0])
def test_saturated_cores_are_the_limit_not_the_number_of_workers(usable: float) -> None:
    facts = made_run(
        wait_ms=70.0, work_ms=50.0, num_workers=8, load_cpu_ms=120.0 * usable, load_runqueue_ms=80.0,
        usable_cores=usable, busy_cores=usable, queue_depth=0,
    )  # fmt: skip
    found = causes(facts)
    assert found[0] == "cpu_limited"
    assert "too_few_workers" not in found


def test_cpu_limited_costs_more_the_more_cpu_a_load_needs() -> None:
    def cost(load_ms: float) -> float:
        played = Played(load_ms=2 * load_ms, work_ms=20, num_workers=4)
        return finding(
            played.facts(load_cpu_ms=1.0, load_runqueue_ms=0.2, usable_cores=2.0, busy_cores=2.0), "cpu_limited"
        ).cost_fraction

    assert is_growing([cost(load_ms) for load_ms in (60.0, 120.0, 300.0)])


def test_cpu_limited_is_silent_while_cores_are_free() -> None:
    facts = made_run(wait_ms=100.0, work_ms=20.0, num_workers=1, load_cpu_ms=120.0, usable_cores=8.0, busy_cores=1.3)
    assert "cpu_limited" not in causes(facts)


def test_a_quota_that_stops_the_group_is_the_limit_though_the_mean_of_its_cores_is_not_full() -> None:
    run = Played(load_ms=90, work_ms=10, num_workers=4).facts(load_cpu_ms=60.0, usable_cores=2.0, busy_cores=1.7)
    assert "cpu_limited" not in causes(run)
    assert "cpu_limited" in causes(with_host(run, throttled_us=(0.0, 600e6)))


def test_batches_held_back_by_waits_for_a_core_are_the_full_cores() -> None:
    """No batch takes long by itself: some waited for a core, and those after them were ready."""
    queued = Played(load_ms=[300, 300, 300, 470], work_ms=85, num_workers=4)
    loads = {"load_cpu_ms": 200.0, "load_runqueue_ms": 100.0, "usable_cores": 4.0, "busy_cores": 4.0}
    facts = queued.facts(**loads, process_cores=0.4, workers_cores=3.6)
    held = examine(facts, overview_of(facts), "data").wait.held_back or 0.0
    assert held > 0.05
    costs = finding(facts, "cpu_limited").cost_fraction
    assert costs == pytest.approx(facts.ranks[0].stall_fraction - held * 2 / 3, abs=0.03)


SLEEPING = {"load_blocked_ms": 95.0, "load_cpu_ms": 1.0, "load_runqueue_ms": 4.0}
CROWDED = {"usable_cores": 2.0, "busy_cores": 2.0, "process_cores": 0.05, "workers_cores": 0.05}


@pytest.mark.parametrize("played", [
    Played(load_ms=[60, 60, 60, 110], work_ms=20, num_workers=4), Played(load_ms=30, work_ms=20, delivery_ms=15),
], ids=["held back", "handed over"])  # fmt: skip
def test_cores_that_others_fill_cost_loads_that_sleep_no_more_than_they_waited_for_one(played: Played) -> None:
    facts = played.facts(**SLEEPING, **CROWDED)
    rank = facts.ranks[0]
    ready = float(np.mean(rank.batches.runqueue_us)) / rank.step_us
    costs = [each.cost_fraction for each in judge(facts).causes if each.cause == "cpu_limited"]
    assert sum(costs) <= rank.stall_fraction * 0.05 + 2 * ready


TINY = Played(load_ms=0.4, work_ms=3, delivery_ms=4)
"""Batches that are loaded in time, and handed over late."""


@pytest.mark.parametrize(
    ("others", "measured"),
    [(1.9, {"load_cpu_ms": 0.2, "load_runqueue_ms": 0.2}), (1.9, {}), (0.9, {"load_cpu_ms": 0.2})],
    ids=["most of the cores", "what loads wait for is not measured", "less than the run"],
)
def test_a_hand_over_on_cores_that_others_fill_is_not_called_slow(others: float, measured: dict[str, float]) -> None:
    cores = {
        "usable_cores": 2.0,
        "busy_cores": 2.0,
        "process_cores": (2 - others) / 2,
        "workers_cores": (2 - others) / 2,
    }
    said = judge(TINY.facts(**measured, **cores))
    assert "ipc_copy" not in [each.cause for each in said.causes]
    why = said.why or ""
    if said.causes:
        assert f"Other jobs use {others:.1f} of the 2 cores" in why
        assert why.endswith("The rest of the wait has no known cause.")
    else:
        assert f"other jobs use {others:.1f} of 2 cores" in why
        assert "cannot be told from waiting for a free core" in why


def test_a_hand_over_is_slow_on_free_cores_on_the_runs_own_and_with_much_in_it() -> None:
    free = TINY.facts(usable_cores=8.0, busy_cores=2.0)
    own = TINY.facts(usable_cores=2.0, busy_cores=2.0, process_cores=1.0, workers_cores=0.9)
    much = TINY.facts(**CROWDED, batch_bytes=50_000_000)
    for facts in (free, own, much):
        assert causes(facts)[0] == "ipc_copy"


def test_of_loads_that_hardly_compute_it_is_not_said_that_the_cpu_limits_them() -> None:
    run = Played(load_ms=150, work_ms=20, num_workers=1)
    sentences = [
        finding(run.facts(**loads, usable_cores=2.0, busy_cores=2.0, process_cores=2.0), "cpu_limited").sentence
        for loads in ({"load_blocked_ms": 75.0, "load_cpu_ms": 15.0, "load_runqueue_ms": 10.0}, {"load_cpu_ms": 90.0})
    ]
    assert sentences[0].endswith("25% of the load time that is waited for computes, or waits for one of them.")
    assert sentences[1].endswith("the CPU limits how fast batches are loaded.")


def test_other_jobs_are_named_first_where_they_use_most_of_the_cores() -> None:
    """A worker that computes all the time, beside others that would fill the cores by themselves."""
    run = Played(load_ms=200, work_ms=50, num_workers=1)
    loads = {"load_cpu_ms": 155.0, "load_runqueue_ms": 45.0, "usable_cores": 2.0, "busy_cores": 2.0}
    crowded = run.facts(**loads, process_cores=0.05, workers_cores=0.8)
    said = judge(crowded)
    assert [each.cause for each in said.causes] == ["cpu_limited", "too_few_workers"]
    assert "Other jobs use 1.1 of the 2 cores that this run may use" in said.causes[0].sentence
    assert said.causes[1].sentence.endswith(" Another worker may get a part of the cores that other jobs use.")
    assert "no cause" not in (said.why or "")
    alone = run.facts(**loads, process_cores=1.2, workers_cores=0.8)
    assert "ther jobs" not in finding(alone, "cpu_limited").sentence


# storage_wait


@pytest.mark.parametrize("blocked_ms", [130.0, 400.0, 2000.0])
def test_storage_wait_is_found_when_reads_reach_storage(blocked_ms: float) -> None:
    facts = starved(wait_ms=blocked_ms + 20, load_cpu_ms=20.0, load_blocked_ms=blocked_ms, read_bytes=9e5)
    assert causes(facts)[0] == "storage_wait"


def test_storage_wait_grows_with_the_time_blocked() -> None:
    costs = [
        finding(starved(wait_ms=40 + ms, load_cpu_ms=40.0, load_blocked_ms=ms, read_bytes=9e5), "storage_wait")
        for ms in (20.0, 80.0, 400.0)
    ]
    assert is_growing([each.cost_fraction for each in costs])


def test_blocking_that_the_page_cache_serves_is_not_blamed_on_storage() -> None:
    facts = starved(wait_ms=400.0, load_cpu_ms=20.0, load_blocked_ms=380.0, read_bytes=0.0)
    assert "storage_wait" not in causes(facts)


def test_memory_mapped_reads_count_as_storage_though_no_call_asked_for_them() -> None:
    facts = starved(wait_ms=400.0, load_cpu_ms=20.0, load_blocked_ms=380.0, asked_bytes=0.0, read_bytes=5e5)
    assert causes(facts)[0] == "storage_wait"


def test_what_is_read_for_nothing_of_a_mapped_file_is_said() -> None:
    """Each touched page brings its neighbours."""

    def said(asked_bytes: float, read_bytes: float) -> str:
        facts = starved(
            wait_ms=400.0, load_cpu_ms=20.0, load_blocked_ms=380.0, asked_bytes=asked_bytes, read_bytes=read_bytes,
            batch_bytes=2 << 20,
        )  # fmt: skip
        return finding(facts, "storage_wait").sentence

    assert "102 MiB are read for a batch of 2 MiB" in said(66.0, 102 * 2.0**20)
    assert "madvise" not in said(66.0, 3 * 2.0**20)
    assert "madvise" not in said(102 * 2.0**20, 102 * 2.0**20), "calls ask for it"


def test_reads_of_a_network_file_system_count_though_none_shows_as_read_from_storage() -> None:
    facts = starved(wait_ms=400.0, load_cpu_ms=20.0, load_blocked_ms=380.0, read_bytes=0.0)
    remote = with_storage(facts, "network")
    assert causes(remote)[0] == "storage_wait"
    assert "a network file system (/data)" in finding(remote, "storage_wait").sentence
    assert "storage_wait" not in causes(with_storage(facts, "nvme"))


def test_a_slow_service_is_not_blamed_on_the_disk_that_a_few_reads_reach() -> None:
    # A second of each minute some task waited for I/O, yet loading is blocked for most of the time.
    facts = starved(wait_ms=400.0, load_cpu_ms=20.0, load_blocked_ms=380.0, read_bytes=9e5)
    assert "storage_wait" not in causes(with_host(facts, io_pressure_us=(0.0, 10e6)))
    assert "storage_wait" in causes(with_host(facts, io_pressure_us=(0.0, 500e6)))


def test_workers_that_wait_for_storage_side_by_side_do_so_in_the_time_of_one() -> None:
    facts = Played(load_ms=400, work_ms=10, num_workers=4).facts(read_bytes=1e6)
    at_all_times = with_host(facts, io_pressure_us=(0.0, 600e6))
    assert finding(at_all_times, "storage_wait").cost_fraction == finding(facts, "storage_wait").cost_fraction


def test_of_storage_that_is_only_waited_for_in_the_first_epoch_that_is_said() -> None:
    cold = np.arange(300) < 100
    waits = np.where(cold, 400.0, 10.0)
    facts = starved(wait_ms=list(waits), load_cpu_ms=10.0, load_ms=list(np.where(cold, 390.0, 0.0)))
    facts = with_batches(facts, read_bytes=np.where(cold, 1e6, 0.0), epoch_index=np.where(cold, 0.0, 1.0))
    facts = with_steps(facts, epoch_index=np.where(cold, 0.0, 1.0))
    assert "in the first epoch" in finding(facts, "storage_wait").sentence


def test_what_loads_take_longer_than_cached_ones_is_storages_also_where_it_is_cpu() -> None:
    cold = np.arange(300) % 2 == 0
    load_ms = np.where(cold, 200.0, 40.0)
    facts = Played(load_ms=list(load_ms), work_ms=10, num_workers=1).facts()
    half = load_ms * 1e3 / 2
    facts = with_batches(facts, cpu_us=half, blocked_us=half, read_bytes=np.where(cold, 1e6, 0.0), asked_bytes=1e6)
    found = finding(facts, "storage_wait")
    assert found.cost_fraction == pytest.approx(0.8 * facts.ranks[0].stall_fraction, abs=0.12)
    assert found.cost_fraction > finding(facts, "too_few_workers").cost_fraction


def reading_in_turn(*, runqueue_ms: float, blocked_ms: float, helped_ms: float = 0.0) -> RunFacts:
    """One batch in two reaches storage, for ``blocked_ms``; those waited ``runqueue_ms`` for a core, each computes 40
    ms, and other threads of the loading process do for ``helped_ms`` of the cold ones."""
    cold = np.arange(300) % 2 == 0
    load_ms = np.where(cold, 40 + runqueue_ms + blocked_ms, 40.0)
    facts = Played(load_ms=list(load_ms), work_ms=10, num_workers=1).facts()
    cold = cold[facts.ranks[0].batches.batch_index.astype(int)]
    return with_batches(
        facts, cpu_us=40e3, runqueue_us=np.where(cold, runqueue_ms * 1e3, 0.0), asked_bytes=1e6,
        blocked_us=np.where(cold, blocked_ms * 1e3, 0.0), read_bytes=np.where(cold, 1e6, 0.0),
        process_cpu_us=np.where(cold, 40e3 + helped_ms * 1e3, 40e3),
    )  # fmt: skip


def test_time_ready_to_run_is_no_wait_for_storage() -> None:
    assert "storage_wait" not in causes(reading_in_turn(runqueue_ms=150, blocked_ms=10))
    assert causes(reading_in_turn(runqueue_ms=10, blocked_ms=150))[0] == "storage_wait"


def test_waiting_for_threads_of_its_own_that_compute_is_no_wait_for_storage() -> None:
    assert "storage_wait" not in causes(reading_in_turn(runqueue_ms=0, blocked_ms=150, helped_ms=140))
    assert causes(reading_in_turn(runqueue_ms=0, blocked_ms=150, helped_ms=20))[0] == "storage_wait"


def test_on_full_cores_it_is_said_that_what_serves_the_reads_may_wait_for_one() -> None:
    quiet = reading_in_turn(runqueue_ms=10, blocked_ms=150)
    full = with_batches(quiet, runqueue_us=60e3)
    sentences = [finding(facts, "storage_wait").sentence for facts in (quiet, full)]
    assert ["All cores are busy as well" in each for each in sentences] == [False, True]


def test_that_loading_waits_for_storage_is_said_with_its_share_where_that_is_the_smaller_part() -> None:
    shares = [
        finding(starved(wait_ms=100.0, load_cpu_ms=100.0 - ms, load_blocked_ms=ms, read_bytes=9e5), "storage_wait")
        for ms in (30.0, 70.0)
    ]
    assert shares[0].sentence.startswith("Loading waits 30% of its time for ")
    assert shares[1].sentence.startswith("Loading waits for ")


def test_storage_is_not_blamed_where_reads_were_not_measured() -> None:
    facts = starved(wait_ms=400.0, load_cpu_ms=20.0, load_blocked_ms=380.0, read_bytes=NAN, asked_bytes=NAN)
    assert "storage_wait" not in causes(facts)


# slow_collate


def test_slow_collate_costs_its_share_of_loading() -> None:
    def cost(share: float) -> float:
        return finding(with_batches(starved(), collate_us=120e3 * share), "slow_collate").cost_fraction

    assert is_growing([cost(share) for share in (0.45, 0.7, 0.95)])
    assert cost(0.95) == pytest.approx(0.95 * 120 / 170, abs=0.01)


def test_waiting_for_a_core_says_nothing_of_collating() -> None:
    """Of 120 ms, a load waits for a core half of the time."""
    shared = starved(load_cpu_ms=60.0, load_runqueue_ms=60.0)
    joining, other = (with_batches(shared, collate_us=share * 60e3) for share in (0.6, 0.2))
    found = finding(joining, "slow_collate")
    assert found.cost_fraction == pytest.approx(0.3 * 120 / 170, abs=0.01)
    assert found.sentence.endswith("takes 60% of the work of loading it.")
    assert "slow_collate" not in causes(other)


def test_what_is_said_of_collating_is_its_figure() -> None:
    """Nor that it is most of a load, of less than half of it."""
    found = finding(with_batches(starved(), collate_us=0.42 * 120e3), "slow_collate")
    assert found.sentence.endswith("takes 42% of a load.")
    evidence = {each.what: each.value for each in found.evidence}
    assert evidence["Joining samples, of load time without waits for a core"] == pytest.approx(0.42)


def test_slow_collate_is_silent_where_samples_take_the_time() -> None:
    assert "slow_collate" not in causes(with_batches(starved(), collate_us=0.2 * 120e3))
    assert "slow_collate" not in causes(with_batches(starved(), collate_us=NAN))


# thread_oversubscription


def oversubscribed(runqueue_ms: float = 60.0, helper_share: float = 0.7, threads: int | None = 10) -> RunFacts:
    """Two workers on two cores, each computing with a pool."""
    facts = Played(load_ms=40 + runqueue_ms, work_ms=20).facts(
        load_cpu_ms=40.0, load_runqueue_ms=runqueue_ms, usable_cores=2.0, busy_cores=2.0
    )
    cpu = facts.ranks[0].batches.cpu_us
    return with_workers(with_batches(facts, process_cpu_us=cpu / (1 - helper_share)), threads=threads)


def on_cores(usable: float, facts: RunFacts) -> RunFacts:
    return replace(facts, host=facts.host.model_copy(update={"usable_cores": usable}))


def test_thread_oversubscription_costs_more_the_longer_loads_queue_for_a_core() -> None:
    costs = [finding(oversubscribed(ms), "thread_oversubscription").cost_fraction for ms in (30.0, 60.0, 200.0)]
    assert is_growing(costs)
    assert causes(oversubscribed(60.0))[0] == "thread_oversubscription"
    # Each waits for a core three fifths of the time, and three in ten of those that do are the loading threads.
    assert (
        "of which 7 want a core at once; there are 2 cores"
        in finding(oversubscribed(60.0), "thread_oversubscription").sentence
    )


@pytest.mark.parametrize(
    "facts",
    [
        oversubscribed(threads=3),
        oversubscribed(helper_share=0.05),
        oversubscribed(runqueue_ms=2.0),
        oversubscribed(threads=None),
        on_cores(64.0, oversubscribed()),
        on_cores(4.0, oversubscribed(runqueue_ms=10.0, helper_share=0.35)),
    ],
    ids=["own threads", "idle pool", "no queue", "not measured", "cores for all", "threads that sleep"],
)
def test_thread_oversubscription_wants_pools_that_compute_and_too_few_cores(facts: RunFacts) -> None:
    assert "thread_oversubscription" not in causes(facts)


# few_shards


def sharded(loading: int, workers: int, load_ms: float = 80, **known: Any) -> RunFacts:
    """``loading`` of its workers have something to load."""
    facts = Played(load_ms=load_ms, work_ms=20, num_workers=loading, epoch_steps=120).facts(is_iterable=True)
    return with_loader(facts, {"num_workers": workers}, **known)


def test_few_shards_cost_what_the_idle_workers_would_save() -> None:
    for load_ms in (60, 80, 160):
        cost = finding(sharded(2, 4, load_ms, dataset_shards=2), "few_shards").cost_fraction
        played = Played(load_ms=load_ms, work_ms=20, num_workers=2, epoch_steps=120)
        assert cost == pytest.approx(played.cost_of(num_workers=4), abs=0.04)


def test_few_shards_are_the_only_cause_where_all_workers_would_keep_up() -> None:
    assert causes(sharded(2, 4, dataset_shards=2)) == ["few_shards"]
    assert causes(sharded(1, 4, 60, dataset_shards=None)) == ["few_shards"]
    assert "has 2 shards" in finding(sharded(2, 4, dataset_shards=2), "few_shards").sentence


@pytest.mark.parametrize(("loading", "known"), [
    (4, {"dataset_shards": 4}), (4, {"dataset_shards": 2, "takes_whole_shards": False}),
    (4, {"dataset_shards": 2, "takes_whole_shards": True}), (2, {"dataset_shards": 8}),
    (2, {"dataset_shards": 2, "dataset_kind": "map"}),
])  # fmt: skip
def test_few_shards_are_not_named_where_workers_load_or_the_data_set_has_enough(
    loading: int, known: dict[str, Any]
) -> None:
    assert "few_shards" not in causes(sharded(loading, 4, 120, **known))


def test_few_shards_are_known_by_the_data_set_where_its_batches_do_not_show_them() -> None:
    """The judged span begins when workers may have come to the end of their shards."""
    facts = sharded(2, 4, dataset_shards=2, takes_whole_shards=True)
    late = facts.ranks[0].batches.batch_index + 1_000
    later = with_steps(with_batches(facts, batch_index=late), batch_index=facts.ranks[0].steps.batch_index + 1_000)
    assert causes(later) == ["few_shards"]
    for unsure in (False, None):
        assert "few_shards" not in causes(with_loader(later, takes_whole_shards=unsure))


# unsharded_iterable


def repeating(workers: int, repeated: int | None, load_ms: float = 120.0) -> RunFacts:
    facts = Played(load_ms=load_ms, work_ms=20, num_workers=workers).facts(is_iterable=True)
    return with_loader(facts, compared_batches=64, repeated_batches=repeated)


def test_unsharded_iterable_costs_the_copies_that_are_too_many() -> None:
    costs = [finding(repeating(2, repeated), "unsharded_iterable").cost_fraction for repeated in (34, 50, 64)]
    assert is_growing(costs)
    whole = repeating(2, 64)
    assert costs[-1] == pytest.approx(0.5 * whole.ranks[0].stall_fraction, abs=0.02)


def test_unsharded_iterable_is_named_of_a_run_that_does_not_wait() -> None:
    verdict = judge(repeating(2, 64, load_ms=10.0))
    assert verdict.bound == "compute"
    assert [each.cause for each in verdict.causes] == ["unsharded_iterable"]
    assert verdict.why is not None and "whole data set" in verdict.why


@pytest.mark.parametrize("facts", [repeating(2, 3), repeating(2, None), repeating(1, 64)])
def test_unsharded_iterable_wants_batches_that_several_workers_gave(facts: RunFacts) -> None:
    assert "unsharded_iterable" not in causes(facts)


# what comes by network


def by_network(mb_per_s: float | None, connections: int | None = 4, **columns: float) -> RunFacts:
    """Two workers that are blocked nine tenths of each load, and read next to nothing from files."""
    facts = Played(load_ms=200, work_ms=20).facts(load_cpu_ms=20.0, load_blocked_ms=180.0, busy_cores=0.5)
    facts = with_batches(facts, asked_bytes=4e3, read_bytes=0.0, **columns)
    each = None if mb_per_s is None else mb_per_s * 1e6 / 2
    return with_workers(facts, received_bytes_per_s=each, connections=connections)


def test_what_workers_receive_counts_as_storage_that_they_wait_for() -> None:
    found = finding(by_network(40.0), "storage_wait")
    assert causes(by_network(40.0))[0] == "storage_wait"
    assert "network" in found.sentence
    evidence = {each.what: each.value for each in found.evidence}
    assert evidence["Received through the workers' own connections"] == pytest.approx(40e6)
    assert evidence["Connections of a worker"] == 4
    assert evidence["Received for one batch"] == pytest.approx(4e6, rel=0.05)


def test_a_little_traffic_is_no_loading_by_network() -> None:
    assert causes(by_network(0.1))[0] == "too_few_workers"
    files = with_batches(by_network(40.0), asked_bytes=30e6)
    assert causes(files)[0] == "too_few_workers", "most of a batch comes from files"


def test_network_whose_amount_is_not_measured_is_named_as_that() -> None:
    facts = with_host(by_network(None), network_received_bytes=[0.0, 600 * 50e6])
    found = judge(facts).causes[0]
    assert found.cause == "storage_wait"
    assert "not measured" in found.sentence
    rank = facts.ranks[0]
    unseen = replace(rank.workers[0], received_bytes_per_s=0.0, connections=0)
    of_one = replace(facts, ranks=(replace(rank, workers=(unseen, *rank.workers[1:])),))
    assert causes(of_one)[0] == "storage_wait", "all workers do as the one that was seen"
    reading = next(each.reading for each in judge(facts).signals if each.signal == "Reads that reach storage")
    assert reading == "not_measured"
    evidence = {each.what: each.value for each in found.evidence}
    assert evidence["Received through the workers' own connections"] is None
    assert evidence["Received by the host's networks, by any process"] == pytest.approx(50e6)
    quiet = finding(with_host(by_network(None, None), network_received_bytes=[0.0, 1e6]), "too_few_workers")
    assert not any("eceived" in each.what for each in quiet.evidence)
