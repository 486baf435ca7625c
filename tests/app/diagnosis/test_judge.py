"""The judge: levels, silence, and what it refuses to say."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from tests.app.made_facts import made_run, starved
from underfed_server.advice.advise import advise
from underfed_server.diagnosis.judge import judge
from underfed_server.diagnosis.rounded import percent
from underfed_server.diagnosis.thresholds import THRESHOLDS


def test_a_starved_run_is_data_bound_and_says_how_much() -> None:
    verdict = judge(starved())
    assert (verdict.bound, verdict.level, verdict.clock) == ("data", "bound", "host")
    assert verdict.data_stall_fraction == pytest.approx(120 / 170)
    assert verdict.sentence == "The training loop waits for data 71% of every step."
    assert verdict.causes[0].cause == "no_workers"
    assert verdict.instant_data_steps_per_s == pytest.approx(1 / 0.050)


@pytest.mark.parametrize("wait_ms", [0.0, 80.0])
@pytest.mark.parametrize("num_workers", [0, 4])
def test_a_run_of_which_no_batch_was_recorded_is_judged_by_its_steps(num_workers: int, wait_ms: float) -> None:
    facts = made_run(wait_ms=wait_ms, num_workers=num_workers, load_cpu_ms=100.0)
    batches = facts.ranks[0].batches
    empty = replace(batches, **{each.name: getattr(batches, each.name)[:0] for each in fields(batches)})
    facts = replace(facts, ranks=(replace(facts.ranks[0], batches=empty),))
    verdict = judge(facts)
    assert verdict.bound == ("data" if wait_ms else "compute")
    assert all(advice.predicted_speedup is None for advice in advise(facts, verdict).advice)


@pytest.mark.parametrize(
    ("wait_ms", "level", "bound"),
    [(0.0, "healthy", "compute"), (4.9, "healthy", "compute"), (5.1, "watch", "compute"), (9.9, "watch", "compute"),
     (10.1, "limited", "data"), (19.9, "limited", "data"), (20.1, "bound", "data"), (80.0, "bound", "data")],
)  # fmt: skip
def test_levels_follow_the_bands(wait_ms: float, level: str, bound: str) -> None:
    verdict = judge(made_run(wait_ms=wait_ms, work_ms=100.0 - wait_ms))
    assert (verdict.level, verdict.bound) == (level, bound)


@pytest.mark.parametrize(("wait_ms", "level"), [(5.0, "watch"), (10.0, "limited"), (20.0, "bound")])
def test_a_run_on_the_edge_of_a_level_has_reached_it(wait_ms: float, level: str) -> None:
    assert judge(made_run(wait_ms=wait_ms, work_ms=100.0 - wait_ms)).level == level


@pytest.mark.parametrize(
    ("settings", "is_shared"),
    [
        ({}, True),
        ({"uses_gpu": True}, False),
        ({"workers_cores": 0.1}, False),
        ({"busy_cores": 1.2}, False),
        ({"usable_cores": None}, False),
    ],
)
def test_full_cores_that_loading_and_training_share_are_said(settings: dict[str, Any], is_shared: bool) -> None:
    shared = {"usable_cores": 2.0, "busy_cores": 1.98, "process_cores": 0.95, "workers_cores": 1.05, "num_workers": 2}
    verdict = judge(made_run(wait_ms=3, work_ms=97, **(shared | settings)))
    assert (verdict.bound, verdict.causes) == ("compute", [])
    assert verdict.why is not None
    assert ("Loading takes 1.05 of 2 cores" in verdict.why) is is_shared
    assert ("Nothing about the loader needs to change" in verdict.why) is not is_shared


def test_the_share_of_the_wait_that_no_cause_explains_is_said() -> None:
    partly = made_run(wait_ms=50, work_ms=50, num_workers=2, load_cpu_ms=30, queue_depth=0, busy_cores=1.0)
    reasons = [judge(facts).why or "" for facts in (starved(), starved(usable_cores=2.0), partly)]
    assert "would stay" not in reasons[0] and "no known cause" not in reasons[0]
    assert "With more workers 29% of the wait would stay, because they fill the 2 cores" in reasons[1]
    assert "The rest of the wait has no known cause." in reasons[2]


@pytest.mark.parametrize("load_cpu_ms", [0.0, 200.0])
def test_a_compute_bound_run_is_left_alone_however_slow_its_loads_are(load_cpu_ms: float) -> None:
    verdict = judge(made_run(wait_ms=1.0, work_ms=100.0, num_workers=4, load_cpu_ms=load_cpu_ms))
    assert verdict.bound == "compute"
    assert verdict.causes == []


def test_twenty_judged_steps_are_enough_for_a_verdict() -> None:
    assert judge(starved(steps=20)).bound == "data"


def test_hours_lost_are_those_that_the_devices_clock_confirms() -> None:
    host = judge(made_run(wait_ms=40.0, work_ms=60.0))
    device = judge(made_run(wait_ms=40.0, work_ms=60.0, uses_gpu=True, gpu_idle_ms=10.0))
    assert host.hours_lost is not None
    assert device.hours_lost == pytest.approx(host.hours_lost / 4)
    assert device.hours_used == host.hours_used


def test_fewer_than_twenty_judged_steps_give_no_verdict_and_no_figure() -> None:
    verdict = judge(starved(steps=THRESHOLDS.needed_steps - 1))
    assert (verdict.bound, verdict.level) == ("unknown", "unknown")
    assert verdict.data_stall_fraction is None
    assert verdict.steps_per_s is None
    assert verdict.reason is not None and "of 25 steps" in verdict.reason


@pytest.mark.parametrize(
    ("work_ms", "sentence"),
    [
        (50.0, "A verdict needs a few more seconds."),
        (2_000.0, "A verdict needs about half a minute more."),
        (4_000.0, "A verdict needs about one more minute."),
        (20_000.0, "A verdict needs about 5 more minutes."),
        (600_000.0, "A verdict needs about 2 more hours."),
    ],
)
def test_a_verdict_is_promised_by_the_pace_so_far(work_ms: float, sentence: str) -> None:
    facts = made_run(work_ms=work_ms, steps=10)
    (rank,) = facts.ranks
    paced = replace(rank, total_steps=10, total_step_us=10 * work_ms * 1e3)
    assert judge(replace(facts, ranks=(paced,))).sentence == sentence
    assert judge(replace(facts, ranks=(replace(rank, total_steps=0),))).sentence == "A verdict needs a few more steps."


def test_a_run_without_a_signal_is_neither_called_ended_nor_promised_a_verdict() -> None:
    verdict = judge(made_run(steps=10, status="lost"))
    assert verdict.sentence == "A verdict needs a few more steps."
    assert verdict.reason is not None and "of 25 steps" in verdict.reason


def test_a_share_too_small_for_a_digit_is_not_called_nothing() -> None:
    assert percent(0.0004) == "less than 0.1%"
    assert (percent(0.0), percent(0.001), percent(0.634)) == ("0%", "0.1%", "63%")


def test_an_ended_run_that_was_too_short_says_so() -> None:
    verdict = judge(starved(steps=3, status="finished"))
    assert verdict.sentence == (
        "The run ended after 8 of the 25 steps that a verdict needs: 71% of the time was spent waiting for data, the "
        "start included."
    )
    assert verdict.reason == "8 of 25 steps; the first 5 are warm-up and not judged"
    nothing = replace(starved(steps=3, status="finished"), ranks=())
    assert judge(nothing).sentence == "The run ended before a verdict was possible."


def test_a_run_that_goes_on_says_what_it_waited_so_far() -> None:
    verdict = judge(starved(steps=3))
    assert verdict.reason is not None and verdict.reason.startswith("8 of 25 steps;")
    assert verdict.reason.endswith("; so far 71% of the time was spent waiting for data, the start included")


def test_the_device_clock_decides_where_there_is_one() -> None:
    hidden = judge(made_run(wait_ms=40.0, work_ms=60.0, uses_gpu=True, gpu_idle_ms=1.0))
    assert (hidden.clock, hidden.bound) == ("gpu", "compute")


def test_a_device_timed_now_and_then_is_its_own_clock_and_estimated_in_between() -> None:
    idle_ms = [20.0] + [float("nan")] * 15
    verdict = judge(made_run(wait_ms=40.0, work_ms=60.0, uses_gpu=True, gpu_idle_ms=idle_ms, queue_depth=3.0))
    assert (verdict.clock, verdict.bound) == ("gpu", "data")
    assert verdict.data_stall_fraction == pytest.approx(0.2)
    assert verdict.anatomy is not None
    assert (verdict.anatomy.data_wait_us, verdict.anatomy.gpu_idle_us) == (40_000, 20_000)


def test_the_anatomy_has_sampler_time_where_it_was_measured() -> None:
    anatomies = [judge(made_run(wait_ms=5.0, sampler_ms=sampler_ms)).anatomy for sampler_ms in (2.0, None)]
    assert [anatomy and (anatomy.sampler_us, anatomy.gpu_idle_us) for anatomy in anatomies] == [
        (2_000, None),
        (None, None),
    ]


def test_waits_that_delay_the_host_are_named_though_the_device_was_busy_during_them() -> None:
    device: dict[str, Any] = {"uses_gpu": True, "gpu_idle_ms": 0.1, "num_workers": 2, "queue_depth": 0.0}
    delayed = judge(made_run(wait_ms=5.0, work_ms=8.0, gpu_work_ms=10.0, **device))
    assert (delayed.bound, delayed.sentence) == ("compute", "The GPU is idle for data 0.8% of every step.")
    assert delayed.why is not None and "with instant data a step would take 23% less" in delayed.why
    signals = {signal.signal: signal for signal in delayed.signals}
    assert signals["GPU idle while the loop waits"].reading == "ruled_out"
    assert signals["Waiting for a batch, by the host's clock"].measured.value == pytest.approx(5 / 13)
    assert signals["Saved by instant data, computed"].measured.value == pytest.approx(3 / 13, rel=0.01)
    hidden = judge(made_run(wait_ms=5.0, work_ms=8.0, gpu_work_ms=12.9, **device))
    assert hidden.why is not None and "Nothing about the loader needs to change" in hidden.why


def test_a_run_without_a_loader_gets_that_sentence_and_no_progress() -> None:
    none = replace(made_run(), ranks=(), loader=None, not_measured={"loader": "no loader seen: a shell script"})
    for status in ("running", "finished"):
        verdict = judge(replace(none, status=status))
        assert verdict.sentence == "No loader was seen in this run."
        assert (verdict.bound, verdict.reason) == ("unknown", "a shell script")


def test_a_gpu_run_on_the_host_clock_is_not_judged_with_high_confidence() -> None:
    verdict = judge(starved(uses_gpu=True, process_cores=1.0))
    assert verdict.confidence == "medium"
    assert verdict.reason is not None and "host's clock" in verdict.reason


def test_gpu_hours_are_counted_only_where_there_is_a_gpu() -> None:
    on_cpu, on_gpu = judge(starved()), judge(starved(uses_gpu=True))
    assert on_cpu.gpu_hours_lost is None
    assert on_cpu.hours_lost == pytest.approx(on_gpu.gpu_hours_lost)


def test_copies_that_are_not_hidden_are_hours_lost_where_they_were_measured() -> None:
    facts = made_run(wait_ms=1.0, work_ms=99.0, uses_gpu=True)
    unseen = judge(facts)
    assert unseen.copy_hours_lost is None
    steps = replace(facts.ranks[0].steps, h2d_exposed_us=np.full(300, 30e3))
    # Copies took twice as long before the judged steps.
    rank = replace(facts.ranks[0], steps=steps, total_steps=600, total_step_us=60e6, total_copy_us=27e6)
    seen = judge(replace(facts, ranks=(rank,)))
    assert seen.bound == "transfer"
    assert seen.copy_hours_lost == pytest.approx(27e6 / 3.6e9)
    assert seen.copy_hours_lost is not None and seen.hours_lost == seen.gpu_hours_lost
    assert seen.hours_lost == pytest.approx((unseen.hours_lost or 0) + seen.copy_hours_lost)
    endless = replace(rank, total_copy_us=600e9)
    most = judge(replace(facts, ranks=(endless,)))
    assert most.hours_lost == pytest.approx(most.hours_used), "never more than was used"


def test_causes_together_cost_at_most_the_stall() -> None:
    facts = starved(usable_cores=1.0, busy_cores=1.0, load_blocked_ms=120.0, wait_ms=240.0, read_bytes=1e6)
    verdict = judge(facts)
    assert len(verdict.causes) >= 2
    assert verdict.data_stall_fraction is not None
    assert sum(cause.cost_fraction for cause in verdict.causes) <= verdict.data_stall_fraction + 1e-9


def test_what_was_not_measured_is_said_and_not_ruled_out() -> None:
    verdict = judge(made_run(wait_ms=50.0, num_workers=2, busy_cores=None, process_cores=None))
    readings = {signal.signal: signal.reading for signal in verdict.signals}
    assert readings["Cores in use, of those allowed"] == "not_measured"
    assert readings["Requests that found no batch ready"] == "not_measured"
