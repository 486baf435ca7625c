"""Advice: computed from the run, bounded by its cores, refused where it would not help."""

from __future__ import annotations

import pytest

from tests.app.made_facts import made_run, starved
from underfed_server.advice.advise import Recommendation, advise
from underfed_server.diagnosis.judge import judge
from underfed_server.facts.record import RunFacts


def recommend(facts: RunFacts) -> Recommendation:
    return advise(facts, judge(facts))


def test_a_starved_loader_gets_the_workers_that_keep_up_and_no_more() -> None:
    # 120 ms to load, 50 ms of work: three workers deliver one every 40 ms.
    best = recommend(starved()).advice[0]
    assert (best.change, best.from_, best.to) == ("num_workers", 0, 3)
    assert best.predicted_speedup == pytest.approx(170 / 50, rel=0.05)
    assert best.ceiling == pytest.approx(170 / 50)
    assert best.settings == {"num_workers": 3, "prefetch_factor": 2}


@pytest.mark.parametrize(("usable", "most"), [(1.0, 1), (2.0, 2), (3.5, 3), (16.0, 16)])
def test_cpu_bound_loading_never_gets_more_workers_than_cores(usable: float, most: int) -> None:
    best = recommend(starved(usable_cores=usable, load_cpu_ms=900.0, wait_ms=900.0)).advice
    assert all(isinstance(advice.to, int) and advice.to <= most for advice in best if advice.change == "num_workers")


def test_two_cores_predict_what_two_cores_can_do() -> None:
    best = recommend(starved(usable_cores=2.0)).advice[0]
    assert best.to == 2
    assert best.predicted_speedup == pytest.approx(170 / 85, rel=0.05)
    assert best.predicted_speedup and best.low and best.high
    assert best.low < best.predicted_speedup < best.high


def test_loading_that_waits_may_have_more_workers_than_cores() -> None:
    facts = starved(usable_cores=2.0, load_cpu_ms=5.0, load_blocked_ms=295.0, wait_ms=300.0, process_cores=0.1)
    best = recommend(facts).advice[0]
    assert isinstance(best.to, int) and best.to > 2


def test_more_workers_are_refused_on_saturated_cores() -> None:
    facts = made_run(
        wait_ms=70.0, work_ms=50.0, num_workers=2, load_cpu_ms=190.0, load_runqueue_ms=10.0, usable_cores=2.0,
        busy_cores=2.0, process_cores=0.42, workers_cores=1.58, queue_depth=0,
    )  # fmt: skip
    recommendation = recommend(facts)
    assert not [advice for advice in recommendation.advice if advice.change == "num_workers"]
    refusal = next(refusal for refusal in recommendation.refusals if refusal.change == "num_workers")
    assert "2 cores" in refusal.why and "already busy" in refusal.why


def test_a_compute_bound_run_gets_neither_advice_nor_refusal() -> None:
    assert recommend(made_run(wait_ms=1.0, work_ms=100.0, num_workers=0)) == Recommendation()


def test_a_team_of_threads_gets_a_number_of_workers_but_no_predicted_gain() -> None:
    best = recommend(starved(process_cores=3.4, busy_cores=3.5)).advice[0]
    assert best.to == 3
    assert (best.predicted_speedup, best.low, best.high) == (None, None, None)
    assert best.assumption is not None and "3.4 cores" in best.assumption


def test_unknown_cores_give_no_prediction() -> None:
    recommendation = recommend(starved(usable_cores=None))
    assert all(advice.predicted_speedup is None for advice in recommendation.advice)


def test_an_uncalibrated_host_widens_the_interval() -> None:
    known = recommend(starved(usable_cores=2.0, cpu_slowdown=((1.0, 1.0), (2.0, 1.0)))).advice[0]
    guessed = recommend(starved(usable_cores=2.0, cpu_slowdown=None)).advice[0]
    assert known.low is not None and guessed.low is not None
    assert guessed.low < known.low
    assert guessed.assumption is not None and "not measured on this host" in guessed.assumption


def test_prefetched_batches_must_fit_in_shared_memory() -> None:
    best = recommend(starved(batch_bytes=100_000_000, shm_free_bytes=900_000_000)).advice[0]
    assert best.to == 2


def test_a_longer_queue_is_advised_where_load_times_vary() -> None:
    facts = made_run(
        wait_ms=[0.0] * 15 + [320.0], work_ms=40.0, num_workers=4, load_ms=[600.0] + [60.0] * 15,
        busy_cores=0.5, process_cores=0.3, workers_cores=0.1, queue_depth=0,
    )  # fmt: skip
    changes = {advice.change: advice for advice in recommend(facts).advice}
    assert "prefetch_factor" in changes
    assert changes["prefetch_factor"].settings["num_workers"] == 4


def test_a_longer_queue_is_not_advised_for_even_loads() -> None:
    facts = made_run(
        wait_ms=30.0, work_ms=20.0, num_workers=2, load_cpu_ms=100.0, busy_cores=2.2, process_cores=0.2,
        workers_cores=2.0, queue_depth=0,
    )  # fmt: skip
    assert "prefetch_factor" not in {advice.change for advice in recommend(facts).advice}


def test_the_diff_replaces_what_is_written_and_adds_what_is_not() -> None:
    assert "+    num_workers=3," in recommend(starved()).advice[0].diff
    facts = made_run(
        wait_ms=60.0, work_ms=20.0, num_workers=1, load_cpu_ms=80.0, busy_cores=1.3, process_cores=0.3,
        workers_cores=1.0, queue_depth=0,
    )  # fmt: skip
    diff = recommend(facts).advice[0].diff
    assert "-    num_workers=1," in diff and "+    num_workers=" in diff


def test_an_iterable_dataset_is_warned_of_duplicates() -> None:
    assert "shards itself" in recommend(starved(is_iterable=True)).advice[0].risk
