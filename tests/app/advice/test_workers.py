"""Advice on workers: how many, how far ahead, kept or not, in order or not, with how many threads."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.app.advice.made_case import (
    GIB,
    altered,
    changes,
    made_case,
    made_verdict,
    of,
    recommended,
    refused,
)
from tests.app.made_facts import made_epoch, made_run, starved
from tests.app.made_loading import made_loading
from underfed_server.advice.advise import Recommendation, recommend
from underfed_server.advice.prediction.residuals import interval
from underfed_server.advice.prediction.simulate import SimulatedSetting
from underfed_server.advice.search import cheapest, most_workers
from underfed_server.facts.record import RunFacts, WorkerFacts
from underfed_server.model import Bound


def two_workers(**changes: Any) -> RunFacts:
    usual: dict[str, Any] = {
        "wait_ms": 30.0, "work_ms": 20.0, "num_workers": 2, "load_cpu_ms": 100.0, "busy_cores": 2.2,
        "process_cores": 0.2, "workers_cores": 2.0, "queue_depth": 0,
    }  # fmt: skip
    return made_run(**{**usual, **changes})


def test_a_starved_loader_gets_the_workers_that_keep_up_and_no_more() -> None:
    # 120 ms to load, 50 ms of work: three workers deliver one every 40 ms.
    best = of("num_workers", recommended(starved(), no_workers=0.7))
    assert (best.change, best.from_, best.to) == ("num_workers", 0, 3)
    assert best.predicted_speedup == pytest.approx(170 / 50, rel=0.06)
    assert best.ceiling == pytest.approx(170 / 50)
    assert best.settings == {"num_workers": 3, "prefetch_factor": 2}


@pytest.mark.parametrize(("usable", "most"), [(1.0, 1), (2.0, 2), (3.5, 3), (16.0, 16)])
def test_cpu_bound_loading_never_gets_more_workers_than_cores(usable: float, most: int) -> None:
    found = recommended(starved(usable_cores=usable, load_cpu_ms=900.0, wait_ms=900.0), no_workers=0.9)
    assert all(isinstance(one.to, int) and one.to <= most for one in found.advice if one.change == "num_workers")


def test_ranks_on_one_host_share_its_cores() -> None:
    facts = starved(usable_cores=8.0, load_cpu_ms=900.0, wait_ms=900.0)
    four = replace(facts, ranks=tuple(replace(facts.ranks[0], rank=rank, hostname="a") for rank in range(4)))
    best = of("num_workers", recommended(four, no_workers=0.9))
    assert isinstance(best.to, int) and best.to <= 2
    assert [most_workers(made_case(each, made_verdict(no_workers=0.9))) for each in (facts, four)] == [8, 2]


def test_full_cores_predict_what_they_can_do() -> None:
    facts = starved(usable_cores=4.0, load_cpu_ms=400.0, wait_ms=400.0)
    best = of("num_workers", recommended(facts, no_workers=0.7))
    assert best.to == 4
    assert best.predicted_speedup == pytest.approx(4.0, rel=0.06)
    assert best.predicted_speedup and best.low and best.high
    assert best.low < best.predicted_speedup < best.high


def test_two_full_cores_may_gain_nothing_so_that_they_are_to_be_tried() -> None:
    """What doubled by the simulation gained 1.15 and 1.4 where two loads beside each other took longer."""
    best = of("num_workers", recommended(starved(usable_cores=2.0), no_workers=0.7))
    assert (best.to, best.predicted_speedup, best.is_promised) == (2, None, False)
    assert best.low and best.high and best.low <= 1.15 and best.high >= 170 / 85


def test_loading_that_waits_may_have_more_workers_than_cores() -> None:
    facts = starved(usable_cores=2.0, load_cpu_ms=5.0, load_blocked_ms=295.0, wait_ms=300.0, process_cores=0.1)
    best = of("num_workers", recommended(facts, storage_wait=0.7))
    assert isinstance(best.to, int) and best.to > 2


def test_more_workers_are_refused_on_saturated_cores() -> None:
    facts = two_workers(
        wait_ms=70.0, work_ms=50.0, load_cpu_ms=190.0, load_runqueue_ms=10.0, usable_cores=2.0,
        busy_cores=2.0, process_cores=0.42, workers_cores=1.58,
    )  # fmt: skip
    found = recommended(facts, cpu_limited=0.5)
    assert "num_workers" not in changes(found)
    assert "2 cores" in refused("num_workers", found).why and "already busy" in refused("num_workers", found).why


def test_fewer_workers_are_advised_where_they_are_faster() -> None:
    case = made_case(
        two_workers(num_workers=6), made_verdict(cpu_limited=0.3), lambda one: 1.2 - 0.05 * one.num_workers
    )
    best = of("num_workers", recommend(case))
    assert (best.from_, best.to, best.title) == (6, 0, "Lower num_workers from 6 to 0")


@pytest.mark.parametrize(("cause", "reason"), [("ipc_copy", "Handing batches over"), ("worker_startup", "Starting")])
def test_what_workers_cost_is_named_where_none_is_best(cause: str, reason: str) -> None:
    case = made_case(two_workers(), made_verdict(**{cause: 0.3}), lambda one: 1.5 if one.num_workers == 0 else 1.0)
    assert of("num_workers", recommend(case)).why.startswith(reason)


@pytest.mark.parametrize(("cpu_ms", "is_limit"), [(100.0, True), (1.0, False)])
def test_cores_are_called_the_limit_only_where_they_will_be_full(cpu_ms: float, is_limit: bool) -> None:
    facts = two_workers(load_cpu_ms=cpu_ms, load_blocked_ms=101.0 - cpu_ms, usable_cores=3.0)
    case = made_case(facts, made_verdict(too_few_workers=0.3), lambda one: 1.3 if one.num_workers > 2 else 1.0)
    assert ("are the limit" in of("num_workers", recommend(case)).why) == is_limit


def test_a_queue_is_refused_only_where_batches_are_not_loaded_in_time() -> None:
    found = recommend(made_case(two_workers(), made_verdict(worker_startup=0.3), lambda _one: 1.0))
    assert "prefetch_factor" not in {refusal.change for refusal in found.refusals}


def test_a_timeout_goes_with_the_workers_that_it_is_for() -> None:
    facts = altered(two_workers(), settings={"timeout_s": 30.0})
    best = of(
        "num_workers", recommend(made_case(facts, made_verdict(ipc_copy=0.3), lambda one: 2 - one.num_workers / 9))
    )
    assert best.to == 0
    assert "-    timeout=30.0," in best.diff


def test_workers_and_queue_are_chosen_together_where_workers_alone_leave_something_to_gain() -> None:
    def speedup(setting: SimulatedSetting) -> float:
        return min(setting.num_workers, 4) / 2 + (0.5 if setting.prefetch_factor >= 4 else 0.0)

    best = of("num_workers", recommend(made_case(two_workers(), made_verdict(too_few_workers=0.4), speedup)))
    assert best.settings == {"num_workers": 4, "prefetch_factor": 4}
    assert best.title.endswith(" to 4, with prefetch_factor=4")
    assert "+    num_workers=4,\n+    prefetch_factor=4," in best.diff
    assert best.predicted_speedup == 2.5


def test_the_cheapest_setting_within_two_percent_of_the_best_is_advised() -> None:
    speeds = {3: 1.4, 4: 1.97, 5: 1.98, 6: 2.0}
    case = made_case(two_workers(), made_verdict(too_few_workers=0.4), lambda one: speeds.get(one.num_workers, 1.0))
    assert of("num_workers", recommend(case)).to == 4


def test_of_settings_that_are_as_fast_fewer_workers_are_cheaper_than_shorter_queues() -> None:
    few, short = SimulatedSetting(2, prefetch_factor=8), SimulatedSetting(4, prefetch_factor=2)
    assert cheapest({few: 1.5, short: 1.5}) == few
    assert cheapest({few: 1.4, short: 1.5}) == short


def test_a_thread_pool_gets_a_number_of_workers_but_no_predicted_gain() -> None:
    best = of("num_workers", recommended(starved(process_cores=3.4, busy_cores=3.5), no_workers=0.7))
    assert best.to == 3
    assert (best.predicted_speedup, best.low, best.high) == (None, None, None)
    assert best.assumption is not None and "3.4 cores" in best.assumption
    assert best.command == "underfed run --apply made-1 -- COMMAND"


def test_unknown_cores_give_no_prediction() -> None:
    assert all(advice.predicted_speedup is None for advice in recommended(starved(usable_cores=None)).advice)


def test_an_uncalibrated_host_widens_the_interval() -> None:
    curve = ((1.0, 1.0), (2.0, 1.0))
    known = of("num_workers", recommended(starved(usable_cores=2.0, cpu_slowdown=curve), no_workers=0.7))
    guessed = of("num_workers", recommended(starved(usable_cores=2.0, cpu_slowdown=None), no_workers=0.7))
    assert known.low is not None and known.low > 0.9
    assert guessed.low is None, "as low that nothing is said"
    assert guessed.assumption is not None and "not measured on this host" in guessed.assumption


def test_more_workers_promise_nothing_where_the_first_epoch_alone_waited() -> None:
    """As of a data set that keeps what it has read: each worker would keep its own."""
    epochs, blocked = np.repeat([0.0, 1.0], 150), np.repeat([70_000.0, 4_000.0], 150)
    promised = of("num_workers", recommended(starved(), no_workers=0.7))
    cold = altered(starved(), batches={"epoch_index": epochs, "blocked_us": blocked})
    tried = of("num_workers", recommended(cold, no_workers=0.7))
    assert promised.predicted_speedup is not None
    assert (tried.predicted_speedup, tried.low) == (None, None)
    assert (tried.assumption or "").startswith("loads of the first epoch waited for far longer")


def test_a_wait_of_a_few_microseconds_in_the_first_epoch_speaks_against_nothing() -> None:
    epochs, blocked = np.repeat([0.0, 1.0], 150), np.repeat([10.0, 0.1], 150)
    warm = altered(starved(), batches={"epoch_index": epochs, "blocked_us": blocked})
    assert of("num_workers", recommended(warm, no_workers=0.7)).predicted_speedup is not None


def limited_by_five_workers(facts: RunFacts) -> Recommendation:
    """Five of them gain what can be gained."""
    verdict = made_verdict(too_few_workers=0.5)
    return recommend(made_case(facts, verdict, lambda one: min(one.num_workers, 5) / 2))


def in_flight(settings: dict[str, Any]) -> int:
    return int(settings["num_workers"] * settings["prefetch_factor"])


def test_prefetched_batches_must_fit_in_shared_memory() -> None:
    facts = starved(batch_bytes=100_000_000, shm_free_bytes=900_000_000)
    assert in_flight(of("num_workers", recommended(facts, no_workers=0.7)).settings) <= 4


def test_the_memory_of_workers_bounds_their_number() -> None:
    own = (WorkerFacts(worker=0, rss_bytes=9 * GIB, pss_bytes=2 * GIB),)
    roomy = altered(two_workers(), rank={"workers": own}, host={"memory_available_bytes": 64 * GIB})
    tight = altered(two_workers(), rank={"workers": own}, host={"memory_available_bytes": 5 * GIB})
    assert of("num_workers", limited_by_five_workers(roomy)).to == 5
    assert of("num_workers", limited_by_five_workers(tight)).to == 3


def test_ranks_on_one_host_share_its_memory() -> None:
    own = (WorkerFacts(worker=0, pss_bytes=2 * GIB),)
    host = {"memory_available_bytes": 10 * GIB, "usable_cores": 32.0}
    alone = altered(two_workers(), rank={"workers": own, "hostname": "a"}, host=host)
    both = replace(alone, ranks=tuple(replace(alone.ranks[0], rank=rank) for rank in range(2)))
    assert of("num_workers", limited_by_five_workers(alone)).to == 4
    assert of("num_workers", limited_by_five_workers(both)).to == 3


def test_the_limit_of_the_control_group_counts_before_the_memory_of_the_host() -> None:
    own = (WorkerFacts(worker=0, pss_bytes=2 * GIB),)
    host = {"memory_available_bytes": 64 * GIB, "memory_limit_bytes": 8 * GIB, "memory_used_bytes": 7 * GIB}
    found = limited_by_five_workers(altered(two_workers(), rank={"workers": own}, host=host))
    assert "num_workers" not in changes(found)
    assert "memory, /dev/shm" in refused("num_workers", found).why


def test_open_files_bound_the_batches_of_many_tensors_in_flight() -> None:
    facts = altered(
        two_workers(), loader={"batch_tensors": 500}, host={"open_files_limit": 1024}, process={"open_files": 500}
    )
    assert of("num_workers", limited_by_five_workers(facts)).settings == {"num_workers": 4, "prefetch_factor": 1}
    by_name = altered(facts, settings={"sharing_strategy": "file_system"})
    assert of("num_workers", limited_by_five_workers(by_name)).settings == {"num_workers": 5, "prefetch_factor": 2}


def test_a_run_short_of_memory_gets_nothing_that_takes_more() -> None:
    found = recommended(two_workers(), too_few_workers=0.5, memory_pressure=0.1)
    assert "num_workers" not in changes(found)
    assert "short of memory" in refused("num_workers", found).why


def test_a_run_short_of_memory_gets_the_fewest_workers_that_are_as_fast() -> None:
    facts = made_run(
        wait_ms=0.0, work_ms=100.0, num_workers=8, load_cpu_ms=50.0, queue_depth=16, busy_cores=1.5, process_cores=1.0,
        workers_cores=0.5, uses_gpu=True, prefetch_factor=4,
    )  # fmt: skip
    case = made_case(facts, made_verdict("compute", memory_pressure=0.0), lambda one: 1.0 if one.num_workers else 0.6)
    found = recommend(case)
    best = of("num_workers", found)
    assert (best.to, best.settings) == (1, {"num_workers": 1, "prefetch_factor": 4})
    assert of("prefetch_factor", found).to == 1
    assert not found.refusals


def test_an_iterable_dataset_that_is_not_shared_out_gets_no_more_workers() -> None:
    facts = altered(starved(is_iterable=True), loader={"shards": False, "why_unsharded": "it does not ask"})
    found = recommended(altered(facts), no_workers=0.7)
    assert of("num_workers", found).to == 1
    one = altered(two_workers(is_iterable=True), loader={"shards": False, "why_unsharded": "it does not ask"})
    assert "it does not ask" in refused("num_workers", recommended(one, too_few_workers=0.5)).why


def test_batches_that_came_twice_are_no_reason_for_more_workers() -> None:
    found = recommended(two_workers(is_iterable=True), too_few_workers=0.25, unsharded_iterable=0.25)
    assert "num_workers" not in changes(found)
    assert "loads the whole data set" in refused("num_workers", found).why


def test_more_workers_of_a_data_set_that_may_not_shard_are_verified_when_they_are_applied() -> None:
    facts = starved(is_iterable=True)
    best = of("num_workers", recommended(facts, no_workers=0.7))
    assert best.title.endswith("if the data set shards")
    assert "Verified when it is applied" in best.risk
    assert best.command is not None and "underfed run --apply" in best.command
    known = of("num_workers", recommended(altered(facts, loader={"shards": True}), no_workers=0.7))
    assert "shards" not in known.title + known.risk
    assert known.command == best.command


def test_one_worker_needs_no_verification() -> None:
    facts = replace(starved(is_iterable=True), not_measured={"set:num_workers": "it is slow"})
    best = of("num_workers", recommended(facts, no_workers=0.7))
    assert best.to == 1
    assert "shard" not in best.title + best.risk


def test_what_was_refused_as_it_was_applied_or_would_be_is_not_offered_again() -> None:
    one = two_workers(is_iterable=True, num_workers=1)
    assert "num_workers" in changes(recommended(one, too_few_workers=0.5))
    refused_before = replace(one, not_measured={"set:num_workers": "two workers could not be compared: it is slow"})
    found = recommended(refused_before, too_few_workers=0.5)
    assert "num_workers" not in changes(found)
    assert "it is slow" in refused("num_workers", found).why


def test_where_ranks_would_not_verify_it_more_workers_are_for_data_sets_that_shard() -> None:
    def with_ranks(shards: bool | None) -> Recommendation:
        one = altered(two_workers(is_iterable=True, num_workers=1), loader={"shards": shards})
        ranks = tuple(replace(one.ranks[0], rank=rank, hostname="a") for rank in range(2))
        return recommended(replace(one, ranks=ranks), too_few_workers=0.5)

    assert "num_workers" not in changes(with_ranks(None))
    assert "several ranks" in refused("num_workers", with_ranks(None)).why
    assert "num_workers" in changes(with_ranks(True))


def test_forking_beside_threads_is_named_as_a_risk() -> None:
    threads = altered(starved(), process={"threads": 9})
    assert "forked" in of("num_workers", recommended(threads, no_workers=0.7)).risk
    spawned = altered(threads, settings={"multiprocessing_context": "spawn"})
    assert "forked" not in of("num_workers", recommended(spawned, no_workers=0.7)).risk


def test_the_diff_replaces_what_is_written_and_adds_what_is_not() -> None:
    assert of("num_workers", recommended(starved(), no_workers=0.7)).diff == (
        " loader = DataLoader(\n     dataset,\n     batch_size=32,\n+    num_workers=3,\n )"
    )
    diff = of("num_workers", limited_by_five_workers(two_workers())).diff
    assert "-    num_workers=2,\n+    num_workers=5," in diff


@pytest.mark.parametrize(("gain", "costs", "is_offered"), [
    (1.051, {"ipc_copy": 0.3}, True), (1.051, {"too_few_workers": 0.3}, False), (1.2, {"too_few_workers": 0.3}, True),
])  # fmt: skip
def test_no_workers_are_advised_where_they_cost_something_or_that_is_a_gain_for_sure(
    gain: float, costs: dict[str, float], is_offered: bool
) -> None:
    """The interval reaches 5 % to either side."""
    facts = two_workers(wait_ms=10.0, load_cpu_ms=2.0)
    case = made_case(facts, made_verdict(**costs), lambda one: 1.0 if one.num_workers else gain)
    assert ("num_workers" in changes(recommend(case))) == is_offered


def test_a_longer_queue_is_advised_where_it_pays_and_no_longer_than_it_does() -> None:
    facts = two_workers(load_ms=[600.0] + [60.0] * 15)
    case = made_case(facts, made_verdict(slow_samples=0.3), lambda one: 1.2 if one.prefetch_factor >= 4 else 1.0)
    best = of("prefetch_factor", recommend(case))
    assert (best.from_, best.to, best.predicted_speedup) == (2, 4, 1.2)
    assert best.settings == {"num_workers": 2, "prefetch_factor": 4}
    # torch takes 2 where none is given, so there may be no line to replace.
    assert "+    prefetch_factor=4," in best.diff and "-    prefetch_factor" not in best.diff


def test_a_longer_queue_is_refused_where_it_gains_nothing() -> None:
    case = made_case(two_workers(), made_verdict(too_few_workers=0.5), lambda one: 1.0 + one.prefetch_factor / 1000)
    found = recommend(case)
    assert "prefetch_factor" not in changes(found)
    refusal = refused("prefetch_factor", found)
    assert refusal.evidence[-1].value == pytest.approx(1.008)
    assert refusal.title == "A longer queue with 2 workers", "with more of them it may gain"


def test_a_longer_queue_is_refused_where_it_has_no_room() -> None:
    facts = two_workers(batch_bytes=200_000_000)
    case = made_case(facts, made_verdict(slow_samples=0.5), lambda one: one.prefetch_factor / 2)
    found = recommend(case)
    assert "prefetch_factor" not in changes(found)
    assert "no room" in refused("prefetch_factor", found).why


def test_kept_workers_are_advised_for_epochs_that_wait_for_new_ones() -> None:
    epochs = (made_epoch(0, iterator_us=90_000, startup_us=400_000, steps=20, ended="exhausted"),)
    facts = altered(two_workers(), rank={"epochs": epochs}, settings={"multiprocessing_context": "spawn"})
    case = made_case(facts, made_verdict(worker_startup=0.2), lambda one: 1.25 if one.persistent_workers else 1.0)
    best = of("persistent_workers", recommend(case))
    assert (best.predicted_speedup, best.changes_batch_order) == (1.25, True)
    assert best.settings == {"num_workers": 2, "prefetch_factor": 2, "persistent_workers": True}
    assert "+    persistent_workers=True," in best.diff
    assert {row.what: row.value for row in best.evidence}["Steps of an epoch"] == 20


@pytest.mark.parametrize("settings", [{"persistent_workers": True}, {"num_workers": 0}])
def test_kept_workers_are_not_advised_where_there_are_none_or_they_are_kept(settings: dict[str, Any]) -> None:
    facts = altered(two_workers(), settings=settings)
    assert "persistent_workers" not in changes(recommended(facts, worker_startup=0.2))


def test_a_fork_server_is_advised_for_spawned_workers_and_promises_nothing() -> None:
    facts = altered(two_workers(), settings={"multiprocessing_context": "spawn"})
    best = of("multiprocessing_context", recommended(facts, worker_startup=0.2))
    assert best.predicted_speedup is None
    assert "-    multiprocessing_context='spawn',\n+    multiprocessing_context='forkserver'," in best.diff
    forked = altered(two_workers(), settings={"multiprocessing_context": "fork"})
    assert "multiprocessing_context" not in changes(recommended(forked, worker_startup=0.2))


def test_batches_out_of_order_are_advised_where_slow_samples_hold_back_ready_ones() -> None:
    case = made_case(two_workers(), made_verdict(slow_samples=0.2), lambda one: 1.0 if one.in_order else 1.15)
    best = of("in_order", recommend(case))
    assert (best.to, best.changes_batch_order, best.predicted_speedup) == (False, True, 1.15)
    assert "+    in_order=False," in best.diff
    (most,) = [row.value for row in best.evidence if row.what == "Saved without slow samples at most, of step time"]
    assert isinstance(most, float) and best.ceiling is not None and best.high is not None
    assert best.high <= best.ceiling + 1e-9
    assert best.ceiling == pytest.approx(1 / (1 - most)), "not what instant data would gain"
    assert "in_order" not in changes(recommended(two_workers(), too_few_workers=0.5))
    one = altered(two_workers(num_workers=1))
    assert "in_order" not in changes(recommended(one, slow_samples=0.2))


def test_each_worker_gets_one_thread_where_there_are_more_than_cores() -> None:
    workers = (WorkerFacts(worker=0, threads=12, cores=1.9), WorkerFacts(worker=1, threads=12, cores=1.9))
    facts = altered(two_workers(), rank={"workers": workers})
    verdict = made_verdict(thread_oversubscription=0.3)
    best = of("threads_per_worker", recommend(made_case(facts, verdict, lambda _one: 1.5)))
    assert (best.to, best.evidence[0].value) == (1, 24)
    assert best.settings == {"num_workers": 2, "prefetch_factor": 2, "threads_per_worker": 1}
    assert "cv2.setNumThreads(0)" in best.diff and "+    worker_init_fn=limit_threads," in best.diff
    assert "pyarrow.set_cpu_count(1)" in best.diff
    limited = altered(facts, settings={"threads_per_worker": 1})
    assert "threads_per_worker" not in changes(recommend(made_case(limited, verdict, lambda _one: 1.5)))


def test_what_one_thread_each_gains_is_not_guessed() -> None:
    case = made_case(two_workers(), made_verdict(thread_oversubscription=0.4), lambda _one: 1.5)
    best = of("threads_per_worker", recommend(case))
    assert best.predicted_speedup is None
    assert best.assumption is not None and "wait for each other" in best.assumption


def test_tensors_are_shared_by_name_where_handing_over_many_costs() -> None:
    facts = altered(two_workers(), loader={"batch_tensors": 24})
    case = made_case(facts, made_verdict(ipc_copy=0.2), lambda one: 1.2 if one.shares_by_name else 1.0)
    found = recommend(case)
    best = of("sharing_strategy", found)
    assert (best.from_, best.to, best.predicted_speedup, best.settings) == ("file_descriptor", "file_system", 1.2, {})
    assert best.command is None
    assert '+torch.multiprocessing.set_sharing_strategy("file_system")' in best.diff
    assert of("fewer_tensors", found).predicted_speedup is None
    by_name = altered(facts, settings={"sharing_strategy": "file_system"})
    assert "sharing_strategy" not in changes(recommended(by_name, ipc_copy=0.2))


def test_a_few_large_tensors_are_not_asked_to_be_fewer() -> None:
    assert "fewer_tensors" not in changes(recommended(two_workers(), ipc_copy=0.2))


def test_samples_that_cost_next_to_nothing_are_fetched_by_the_batch() -> None:
    small = two_workers(load_cpu_ms=1.0, load_blocked_ms=0.0)
    best = of("vectorize_getitem", recommended(small, too_few_workers=0.3))
    assert best.predicted_speedup is None and "__getitems__" in best.diff
    assert "vectorize_getitem" not in changes(recommended(two_workers(), too_few_workers=0.3))
    requested = two_workers(load_cpu_ms=10.0, load_blocked_ms=150.0)
    assert "waited for by itself" in of("vectorize_getitem", recommended(requested, too_few_workers=0.3)).why
    few = altered(small, batches={"samples": 4.0})
    assert "vectorize_getitem" not in changes(recommended(few, too_few_workers=0.3))
    seen = {"Rows.__getitem__ data.py:9": 2, "collate: default_collate torch/collate.py:1": 98}
    elsewhere = recommended(replace(small, loading=made_loading(seen)), too_few_workers=0.3)
    assert "vectorize_getitem" not in changes(elsewhere)
    assert "2.0% of loading" in next(each.why for each in elsewhere.refusals if each.change == "vectorize_getitem")
    batched = altered(small, loader={"fetches_batches": True})
    assert "vectorize_getitem" not in changes(recommended(batched, too_few_workers=0.3))


def test_samples_that_are_waited_for_one_by_one_are_not_called_work() -> None:
    computed, waited_for = (two_workers(load_cpu_ms=1.0, load_blocked_ms=ms) for ms in (0.0, 80.0))
    reasons = [of("vectorize_getitem", recommended(facts, too_few_workers=0.3)).why for facts in (computed, waited_for)]
    assert ["most of the work" in why for why in reasons] == [True, False]
    assert "waited for by itself" in reasons[1]


def test_a_slow_collate_function_is_named_with_its_share() -> None:
    facts = altered(two_workers(), loader={"collate_type": "pad_all"}, batches={"collate_us": 60_000.0})
    best = of("vectorize_collate", recommended(facts, slow_collate=0.3))
    assert "pad_all" in best.why and best.predicted_speedup is None
    assert best.evidence[0].value == pytest.approx(0.6)


def test_a_sampler_that_chooses_all_at_once_gains_the_sampler_time() -> None:
    facts = altered(two_workers(), steps={"sampler_us": np.array([9_000.0, 11_000.0])})
    best = of("faster_sampler", recommended(facts, slow_sampler=0.2))
    assert best.predicted_speedup == pytest.approx(50 / 40)
    assert best.low and best.high and best.low <= 1.25 <= best.high
    assert 1.05 < best.high / best.low < 2.0 and best.ceiling is not None
    less = of("faster_sampler", recommended(facts, slow_sampler=0.1))
    assert less.predicted_speedup == pytest.approx(1 / 0.9)
    unseen = altered(facts, steps={"sampler_us": np.nan})
    assert of("faster_sampler", recommended(unseen, slow_sampler=0.2)).predicted_speedup is None


def test_a_gain_that_is_not_simulated_is_no_surer_than_those_that_are() -> None:
    """Steps that are all alike say nothing of how far the rest of them changes."""
    facts = altered(two_workers(), steps={"sampler_us": 20_000.0, "data_wait_us": 22_000.0})
    assert facts.loader is not None
    best = of("faster_sampler", recommended(facts, slow_sampler=0.4))
    assert best.predicted_speedup and best.low and best.high
    below, above = interval(made_case(facts, made_verdict(slow_sampler=0.4)).regime)
    assert below < 0 < above
    assert best.low <= best.predicted_speedup * math.exp(0.7 * below)
    assert best.high == pytest.approx(1 / (1 - 0.4)), "and no more than the sampler costs"
    assert best.ceiling == pytest.approx(best.high)
    proven = replace(facts, proven=(0.0,) * 40)
    sure = of("faster_sampler", recommended(proven, slow_sampler=0.4))
    assert sure.low and sure.high and sure.high / sure.low < best.high / best.low


def test_a_sampler_that_is_slow_as_an_epoch_begins_gains_that() -> None:
    is_first = np.arange(300) % 20 == 0
    steps = {
        "batch_index": np.arange(300) % 20,
        "epoch_index": np.arange(300) // 20,
        "sampler_us": np.nan,
        "data_wait_us": np.where(is_first, 230_000.0, 30_000.0),
        "step_us": np.where(is_first, 250_000.0, 50_000.0),
    }
    epochs = tuple(made_epoch(number, sampler_us=200_000) for number in range(15))
    facts = altered(two_workers(), steps=steps, rank={"epochs": epochs})
    # 200 ms of 1,200 for an epoch of 20 steps.
    assert of("faster_sampler", recommended(facts, slow_sampler=0.3)).predicted_speedup == pytest.approx(1.2)


def test_an_unsharded_dataset_is_to_be_sharded_whatever_binds_the_run() -> None:
    facts = altered(two_workers(is_iterable=True), loader={"compared_batches": 60, "repeated_batches": 58})
    bounds: tuple[Bound, ...] = ("data", "compute")
    for bound in bounds:
        best = of("shard_iterable", recommended(facts, bound, unsharded_iterable=0.0))
        assert "get_worker_info()" in best.diff
        assert [one.value for one in best.evidence] == [60, 58]
