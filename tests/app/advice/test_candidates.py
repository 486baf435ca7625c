"""What a run that tunes itself is given to try: few settings, within what it may take, and none where it is no use."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.app.advice.made_case import GIB, altered, made_case, made_verdict, unforeseeable
from tests.app.made_facts import made_run, starved
from underfed_server.advice.advise import recommend
from underfed_server.advice.candidates import (
    ALL_SET,
    MOST,
    NO_ROOM,
    NOT_WAITING,
    TOO_LITTLE,
    find_candidates,
    no_candidates,
)
from underfed_server.advice.prediction.simulate import SimulatedSetting
from underfed_server.facts.record import RunFacts
from underfed_server.model import Candidates


def tried(facts: RunFacts, /, speedup: Any = None, **costs: float) -> Candidates:
    return find_candidates(made_case(facts, made_verdict(**costs or {"no_workers": 0.7}), speedup), [])


def settings(found: Candidates) -> list[dict[str, Any]]:
    return [each.settings for each in found.candidates]


def test_the_simulators_best_is_first_and_its_neighbours_follow() -> None:
    found = tried(starved())
    assert 2 <= len(found.candidates) <= MOST
    assert settings(found)[0]["num_workers"] >= 3, "120 ms to load, 50 ms of work"
    numbers = {each["num_workers"] for each in settings(found)}
    assert {2, 3, 4} <= numbers, "one more and one fewer"
    gains = [each.predicted_speedup or math.nan for each in found.candidates]
    assert gains == sorted(gains, reverse=True)
    assert all(each.low is not None and each.high is not None and each.high >= 1.05 for each in found.candidates)
    assert found.settings == dict(starved().settings) and found.why_none is None


def test_the_present_setting_is_none_and_none_comes_twice() -> None:
    facts = made_run(
        wait_ms=30.0, work_ms=20.0, num_workers=2, load_cpu_ms=100.0, busy_cores=2.2, process_cores=0.2,
        workers_cores=2.0, queue_depth=0,
    )  # fmt: skip
    found = settings(tried(facts, too_few_workers=0.5))
    assert {"num_workers": 2, "prefetch_factor": 2} not in found
    assert len({str(each) for each in found}) == len(found) > 1


@pytest.mark.parametrize(("usable", "most"), [(1.0, 1), pytest.param(2.0, 2, marks=pytest.mark.soak), (3.5, 3)])
def test_loading_that_computes_is_never_tried_with_more_workers_than_cores(usable: float, most: int) -> None:
    found = tried(starved(usable_cores=usable, load_cpu_ms=900.0, wait_ms=900.0))
    assert found.candidates and all(each["num_workers"] <= most for each in settings(found))


def test_what_does_not_fit_into_shm_is_not_tried() -> None:
    facts = altered(starved(), loader={"batch_bytes": 40_000_000}, host={"shm_free_bytes": 160_000_000})
    found = settings(tried(facts))
    assert found and all(each["num_workers"] * each.get("prefetch_factor", 0) <= 2 for each in found)


@pytest.mark.parametrize("steps", [25, pytest.param(12, marks=pytest.mark.soak), 6])
def test_a_queue_that_is_not_full_before_a_pass_ends_is_not_tried(steps: int) -> None:
    facts = altered(starved(wait_ms=900.0, load_cpu_ms=9.0, load_blocked_ms=891.0), loader={"batches_per_epoch": steps})
    found = settings(tried(facts))
    assert found and all(each["num_workers"] * each.get("prefetch_factor", 0) <= steps - 2 for each in found)


def test_without_a_gain_of_5_percent_nothing_is_tried() -> None:
    found = tried(starved(), lambda _setting: 0.97)
    assert (found.candidates, found.why_none) == ([], TOO_LITTLE), "at most 1.02 by its interval"


def test_a_gain_that_only_the_interval_promises_is_worth_a_trial() -> None:
    found = tried(starved(), lambda _setting: 1.02)
    assert found.candidates, "up to 1.07"


def test_what_cannot_be_computed_is_tried_all_the_same() -> None:
    def never(setting: SimulatedSetting) -> float:
        return unforeseeable(setting)

    found = tried(starved(usable_cores=8.0), never)
    assert [each["num_workers"] for each in settings(found)] == [8, 4, 1]
    assert {each.predicted_speedup for each in found.candidates} == {None}


def test_what_was_set_from_outside_is_in_none_of_them() -> None:
    kept = tried(altered(starved(), overrides={"prefetch_factor": 4}))
    assert kept.candidates and all("prefetch_factor" not in each for each in settings(kept))
    both = tried(altered(starved(), overrides={"num_workers": 0}))
    assert (both.candidates, both.why_none) == ([], ALL_SET)


def test_a_data_set_that_is_not_shared_out_gets_no_more_workers() -> None:
    facts = altered(starved(), loader={"dataset_kind": "iterable", "shards": False})
    found = tried(facts)
    assert all(each["num_workers"] <= 1 for each in settings(found))


def test_without_room_for_workers_nothing_is_tried() -> None:
    facts = altered(starved(usable_cores=1.0), loader={"batch_bytes": GIB}, host={"shm_free_bytes": GIB})
    found = tried(facts)
    assert found.candidates == [] and found.why_none in (NO_ROOM, TOO_LITTLE)


def test_one_thread_a_worker_is_tried_where_it_is_advised() -> None:
    facts = made_run(
        wait_ms=30.0, work_ms=20.0, num_workers=2, load_cpu_ms=100.0, busy_cores=2.2, process_cores=0.2,
        workers_cores=2.0, queue_depth=0,
    )  # fmt: skip
    case = made_case(facts, made_verdict(thread_oversubscription=0.5), lambda _setting: 1.2)
    found = settings(find_candidates(case, recommend(case).advice))
    assert found[-1]["threads_per_worker"] == 1
    assert len(found) <= MOST


def test_a_run_that_gets_no_advice_has_the_reason_why_there_is_nothing_to_try() -> None:
    assert no_candidates(starved()).why_none == NOT_WAITING
