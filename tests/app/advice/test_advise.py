"""Advice: by what it gains, with the line that tries it, and silence where the loader is not at fault."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.app.advice.made_case import (
    GIB,
    altered,
    foretelling,
    made_case,
    made_verdict,
    of,
    recommended,
    unforeseeable,
)
from tests.app.made_diagnosis import made_advice
from tests.app.made_facts import made_run, starved
from underfed_server.advice.advise import Recommendation, recommend
from underfed_server.advice.order import in_order
from underfed_server.advice.prediction.predict import Prediction, Predictor
from underfed_server.advice.prediction.simulate import Outcome, SimulatedSetting
from underfed_server.diagnosis.causes import all_causes
from underfed_server.facts.record import RunFacts
from underfed_server.names import CHANGES, ChangeName

EVERY_CHANGE = set(CHANGES)
CURED = {name: cause.cured_by for name, cause in all_causes().items()}


def busy(**changes: Any) -> RunFacts:
    """Two workers, cores to spare: too few workers, and all else that a change may look at is measured."""
    facts = made_run(
        wait_ms=30.0, work_ms=20.0, num_workers=2, load_cpu_ms=95.0, load_runqueue_ms=5.0, busy_cores=2.2,
        process_cores=0.2, workers_cores=2.0, queue_depth=0, uses_gpu=True,
    )  # fmt: skip
    return altered(facts, **changes)


def test_every_cause_has_a_cure_and_every_change_cures_something() -> None:
    assert all(CURED.values())
    assert {change for changes in CURED.values() for change in changes} == EVERY_CHANGE


def test_advice_is_ordered_by_gain_and_what_cannot_be_predicted_by_what_its_cause_costs() -> None:
    verdict = made_verdict(too_few_workers=0.3, slow_collate=0.1, worker_startup=0.15, ipc_copy=0.05)
    facts = altered(busy(), loader={"batch_tensors": 24}, settings={"multiprocessing_context": "spawn"})

    def speedup(setting: SimulatedSetting) -> float:
        return 1.3 if setting.persistent_workers else 1.0 + 0.1 * (setting.num_workers - 2)

    changes = [advice.change for advice in recommend(made_case(facts, verdict, speedup)).advice]
    assert changes == [
        "num_workers",
        "persistent_workers",
        "multiprocessing_context",
        "vectorize_collate",
        "fewer_tensors",
    ]


@pytest.mark.parametrize(("of_work", "first"), [(2.501, "num_workers"), (2.52, "tmpfs")])
def test_of_fixes_whose_gains_read_alike_a_setting_is_before_work_on_the_host(of_work: float, first: str) -> None:
    verdict = made_verdict(storage_wait=0.4, too_few_workers=0.3)
    work = made_advice(of_work).model_copy(update={"change": "tmpfs", "settings": {}})
    for offered in ([work, made_advice(2.5)], [made_advice(2.5), work]):
        assert in_order(made_case(busy(), verdict, lambda _: 1.0), offered)[0].change == first


def test_what_cures_the_leading_cause_is_first_though_its_gain_is_not_known() -> None:
    verdict = made_verdict(slow_collate=0.5, too_few_workers=0.1)
    case = made_case(busy(), verdict, lambda setting: 1.08 if setting.num_workers > 2 else 1.0)
    assert [one.change for one in recommend(case).advice] == ["vectorize_collate", "num_workers"]


def test_a_cure_without_a_figure_is_not_put_before_one_of_the_same_cause_that_has_it() -> None:
    facts = altered(busy(), batches={"cpu_us": 1_000.0, "collate_us": 0.0, "samples": 64.0})
    case = made_case(facts, made_verdict(too_few_workers=0.5), lambda setting: 1 + 0.1 * (setting.num_workers - 2))
    assert [one.change for one in recommend(case).advice] == ["num_workers", "vectorize_getitem"]


@pytest.mark.parametrize(("usable", "first"), [(2.0, "vectorize_getitem"), (16.0, "num_workers")])
def test_one_wait_for_all_samples_is_better_than_more_workers_that_wait(usable: float, first: str) -> None:
    waiting = {"cpu_us": 20_000.0, "blocked_us": 100_000.0, "collate_us": 0.0, "samples": 32.0}
    facts = altered(busy(), batches=waiting, host={"usable_cores": usable})
    case = made_case(facts, made_verdict(too_few_workers=0.5), lambda setting: 1 + 0.1 * (setting.num_workers - 2))
    assert {one.change for one in recommend(case).advice} >= {"num_workers", "vectorize_getitem"}
    assert recommend(case).advice[0].change == first
    kept = made_case(facts, made_verdict(worker_startup=0.5, too_few_workers=0.3), kept_or_more)
    assert recommend(kept).advice[0].change == "persistent_workers"


def test_workers_that_start_anew_are_kept_before_more_of_them_are_started() -> None:
    case = made_case(busy(), made_verdict(worker_startup=0.3, too_few_workers=0.2), kept_or_more)
    assert [one.change for one in recommend(case).advice] == ["persistent_workers", "num_workers"]
    case = made_case(busy(), made_verdict(too_few_workers=0.3, worker_startup=0.2), kept_or_more)
    assert [one.change for one in recommend(case).advice] == ["num_workers", "persistent_workers"]


def kept_or_more(setting: SimulatedSetting) -> float:
    return 1.2 if setting.persistent_workers else 1.0 + 0.1 * (setting.num_workers - 2)


def test_what_is_only_to_be_tried_has_the_place_of_the_middle_of_its_interval() -> None:
    """Persistent workers are predicted to gain 1.2, which can lie anywhere from 0.9 to 2.2."""
    case = made_case(busy(), made_verdict(slow_samples=0.49, worker_startup=0.48, ipc_copy=0.01),
                     lambda setting: 1.2 if not setting.in_order else 1.0)  # fmt: skip
    assert case.predictor is not None
    real = case.predictor.predict

    def unsure(setting: SimulatedSetting) -> Prediction:
        return Prediction(setting, 1.2, 0.9, 2.2, Outcome(100.0, 10.0)) if setting.persistent_workers else real(setting)

    known = SimpleNamespace(**{**vars(case.predictor), "predict": unsure})
    advice = recommend(replace(case, predictor=cast(Predictor, known))).advice
    assert [(one.change, one.predicted_speedup) for one in advice] == [("persistent_workers", None), ("in_order", 1.2)]


def test_a_compute_bound_run_gets_neither_advice_nor_refusal() -> None:
    assert recommended(busy(), "compute") == Recommendation()
    assert recommended(busy(), "host") == Recommendation()


def test_a_run_without_a_verdict_gets_neither() -> None:
    assert recommended(made_run(steps=0), "unknown") == Recommendation()


@pytest.mark.parametrize("bound", ["compute", "host", "transfer"])
def test_causes_that_any_run_may_have_open_only_the_changes_that_cure_them(bound: Any) -> None:
    facts = altered(busy(), settings={"pin_memory": True}, host={"shm_total_bytes": 1 << 26, "shm_free_bytes": 1 << 20})
    facts = altered(facts, loader={"batch_bytes": 30 << 20})
    found = recommended(facts, bound, memory_pressure=0.0, unsharded_iterable=0.0)
    assert {advice.change for advice in found.advice} <= {
        "num_workers",
        "prefetch_factor",
        "shm_size",
        "shard_iterable",
    }
    assert {"shm_size", "shard_iterable"} <= {advice.change for advice in found.advice}
    assert not found.refusals


def test_no_change_is_advised_twice_and_none_both_advised_and_refused() -> None:
    causes = {cause: 0.1 for cause in CURED if cause != "memory_pressure"}
    facts = altered(busy(), loader={"batch_tensors": 24, "transforms": ("Resize",)}, settings={"pin_memory": False},
                    steps={"h2d_us": 5_000.0, "h2d_exposed_us": 5_000.0, "sampler_us": 5_000.0},
                    host={"cpu_count": 64, "quota_cores": 8.0, "memory_available_bytes": 64 * GIB})  # fmt: skip
    found = recommended(facts, **causes)
    advised = [advice.change for advice in found.advice]
    refused = [refusal.change for refusal in found.refusals]
    assert len(advised) == len(set(advised)) > 5
    assert len(refused) == len(set(refused)) > 0
    assert not set(advised) & set(refused)


def test_only_what_a_user_would_try_next_is_refused_and_with_figures() -> None:
    found = recommended(busy(), too_few_workers=0.3)
    assert {refusal.change for refusal in found.refusals} <= {"num_workers", "prefetch_factor", "pin_memory", "tmpfs"}
    assert all(refusal.evidence and refusal.why for refusal in found.refusals)


def test_no_advice_is_worth_less_than_five_percent() -> None:
    verdict = made_verdict(worker_startup=0.1, slow_samples=0.1, ipc_copy=0.1, thread_oversubscription=0.1)
    case = made_case(busy(), verdict, lambda _setting: 1.04)
    assert all(advice.predicted_speedup is None for advice in recommend(case).advice)


def test_no_prediction_and_no_end_of_an_interval_is_above_the_ceiling() -> None:
    for facts in (starved(), starved(steps=30), busy()):
        for advice in recommended(facts, no_workers=0.5, too_few_workers=0.5).advice:
            if advice.predicted_speedup is not None:
                assert advice.low is not None and advice.high is not None and advice.ceiling is not None
                assert advice.low <= advice.predicted_speedup <= advice.high <= advice.ceiling + 1e-9


def test_a_change_that_cannot_be_predicted_says_why_and_never_guesses() -> None:
    verdict = made_verdict(slow_samples=0.2, worker_startup=0.1)
    for advice in recommend(made_case(busy(), verdict, unforeseeable)).advice:
        assert (advice.predicted_speedup, advice.low, advice.high, advice.anatomy) == (None, None, None, None)
        assert advice.assumption is not None and "it was never seen" in advice.assumption


@pytest.mark.parametrize(
    ("low", "high", "is_stated", "ends"),
    [(0.75, 1.97, False, (0.75, 1.97)), (0.44, 1.97, False, (None, None)), (1.02, 2.4, True, ()), (0.8, 1.5, True, ())],
)
def test_an_interval_that_says_nothing_has_no_figure_in_front(
    low: float, high: float, is_stated: bool, ends: tuple[float | None, ...]
) -> None:
    case = made_case(busy(), made_verdict(worker_startup=0.6), lambda _setting: 1.2)
    gain = Prediction(case.recorded, 1.2, low, high, Outcome(100.0, 10.0))
    known = SimpleNamespace(**{**vars(case.predictor), "predict": lambda _setting: gain})
    case = replace(case, predictor=cast(Predictor, known))
    best = of("persistent_workers", recommend(case))
    assert (best.predicted_speedup is not None) == is_stated
    if not is_stated:
        assert (best.low, best.high, best.anatomy) == (*ends, None)
        assert best.assumption is not None
        assert "may be a loss as well as a gain" in best.assumption and "200 steps, 10 seconds" in best.assumption
        assert best.command is not None


def test_the_first_advice_that_can_be_set_is_applied_and_others_are_set() -> None:
    facts = replace(busy(), command=("python", "train.py", "--data", "/data/my set"))
    verdict = made_verdict(slow_collate=0.1, worker_startup=0.3, slow_samples=0.2)

    def speedup(setting: SimulatedSetting) -> float:
        return 1.4 if setting.persistent_workers else 1.2 if not setting.in_order else 1.0

    found = recommend(made_case(facts, verdict, speedup))
    assert of("persistent_workers", found).command == (
        "underfed run --apply made-1 -- python train.py --data '/data/my set'"
    )
    assert of("in_order", found).command == (
        "underfed run --set num_workers=2 --set prefetch_factor=2 --set in_order=false "
        "-- python train.py --data '/data/my set'"
    )
    assert of("vectorize_collate", found).command is None


def test_nothing_is_applied_beside_a_fix_behind_one_that_cannot_be_set() -> None:
    """``--apply`` would be taken for what applies the first."""
    verdict = made_verdict(ipc_copy=0.4)
    case = made_case(busy(), verdict, lambda setting: 1.5 if setting.shares_by_name else 1.2)
    first, *others = recommend(case).advice
    assert (first.change, first.command) == ("sharing_strategy", None)
    commands = [one.command for one in others if one.command]
    assert commands and all("--apply" not in command and "--set " in command for command in commands)


def test_a_fix_of_a_part_gains_no_more_than_its_cause_costs() -> None:
    """The simulation takes all of a hand-over away; most of it may be another cause's."""
    case = made_case(
        busy(), made_verdict(cpu_limited=0.3, ipc_copy=0.1), lambda setting: 1.5 if setting.shares_by_name else 1.0
    )
    best = of("sharing_strategy", recommend(case))
    assert best.predicted_speedup == pytest.approx(1 / 0.9)
    assert best.high is not None and best.high <= 1 / (1 - 0.11)
    assert any(row.what == "Saved without slow hand-over at most, of step time" for row in best.evidence)


def test_a_command_that_is_not_known_is_left_to_the_user() -> None:
    command = of("num_workers", recommended(starved(), no_workers=0.5)).command
    assert command == "underfed run --apply made-1 -- COMMAND"


def test_what_the_run_was_given_from_outside_is_kept() -> None:
    facts = replace(starved(num_workers=1, queue_depth=0), overrides={"persistent_workers": True, "num_workers": 1})
    best = of("num_workers", recommended(facts, too_few_workers=0.5))
    assert best.settings == {"num_workers": best.to, "prefetch_factor": 2, "persistent_workers": True}
    assert "-    num_workers" not in best.diff


def test_settings_that_need_workers_are_not_kept_without_them() -> None:
    facts = replace(busy(), overrides={"persistent_workers": True, "pin_memory": True})
    verdict = made_verdict(ipc_copy=0.3)
    case = made_case(facts, verdict, lambda setting: 1.5 if setting.num_workers == 0 else 1.0)
    assert of("num_workers", recommend(case)).settings == {"num_workers": 0, "pin_memory": True}


@pytest.mark.parametrize("change", sorted(EVERY_CHANGE))
def test_only_a_change_of_order_says_that_it_changes_the_order(change: ChangeName) -> None:
    causes = {cause: 0.1 for cause, changes in CURED.items() if change in changes}
    facts = altered(busy(), loader={"batch_tensors": 24, "shards": False}, steps={"sampler_us": 5_000.0},
                    settings={"multiprocessing_context": "spawn"})  # fmt: skip
    case = made_case(facts, made_verdict(**causes))
    case = replace(case, predictor=foretelling(case, lambda _setting: 1.2))
    for advice in recommend(case).advice:
        reordering = ("persistent_workers", "in_order", "shard_iterable", "faster_sampler")
        assert advice.changes_batch_order == (advice.change in reordering)


def test_every_diff_is_a_diff() -> None:
    causes = dict.fromkeys(CURED, 0.02)
    facts = altered(busy(), loader={"batch_tensors": 24, "transforms": ("Resize",)},
                    steps={"h2d_us": 5_000.0, "h2d_exposed_us": 5_000.0, "sampler_us": 5_000.0},
                    settings={"pin_memory": True, "multiprocessing_context": "spawn"},
                    host={"cpu_count": 64, "quota_cores": 8.0})  # fmt: skip
    case = made_case(facts, made_verdict(**causes), lambda _setting: 1.2)
    for advice in recommend(replace(case, predictor=foretelling(case, lambda _setting: 1.2))).advice:
        assert all(line[:1] in ("+", "-", " ") for line in advice.diff.split("\n"))
        assert any(line[:1] == "+" for line in advice.diff.split("\n"))
