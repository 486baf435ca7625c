"""What a run is bound by, when it gets no verdict of a bound, and that a running run's verdict does not flap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.app.diagnosis.altered import with_rank, with_steps
from tests.app.diagnosis.loop import Played
from tests.app.made_facts import made_run, starved
from underfed_server.diagnosis.judge import Before, judge
from underfed_server.facts.record import RunFacts
from underfed_server.model import Verdict


def silent(verdict: Verdict) -> bool:
    return verdict.bound in ("compute", "host") and verdict.causes == []


# silence


def alternating(every: int, long_ms: float) -> RunFacts:
    """Gradient accumulation: short steps, and now and then one that updates."""
    steps = np.arange(300)
    work = np.where(steps % every == every - 1, long_ms, 10.0)
    facts = made_run(wait_ms=0.3, work_ms=10.0, num_workers=2, load_cpu_ms=15.0)
    step_us = (work + 0.3) * 1e3
    return with_rank(
        facts,
        steps=replace(facts.ranks[0].steps, step_us=step_us, start_us=np.cumsum(step_us) - step_us),
    )


def one_wait(seconds: float, steps: int, step_ms: float = 20.0, workers: int = 2) -> RunFacts:
    waits = [0.2] * steps
    waits[steps // 2] = seconds * 1e3
    return made_run(wait_ms=waits, work_ms=step_ms, steps=steps, num_workers=workers, load_cpu_ms=15.0)


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(made_run(wait_ms=0.2, work_ms=50.0, num_workers=4, load_cpu_ms=100.0), id="compute-bound"),
        pytest.param(made_run(wait_ms=0.2, work_ms=3.0, num_workers=8, queue_depth=14.0), id="a fast loader"),
        pytest.param(alternating(4, 120.0), id="gradient accumulation"),
        pytest.param(alternating(250, 60_000.0), id="a checkpoint or a compilation within"),
        pytest.param(one_wait(5.0, 2_000), id="a hiccup"),
        pytest.param(one_wait(60.0, 2_000, workers=0), id="a hiccup without workers"),
        pytest.param(one_wait(3.0, 100), id="a hiccup in a short run"),
        pytest.param(Played(load_ms=30, work_ms=20).facts(), id="loading just in time"),
        pytest.param(Played(load_ms=[5.0] * 29 + [60.0], work_ms=20).facts(), id="a tail that the queue covers"),
        pytest.param(Played(load_ms=1, work_ms=30, num_workers=0).facts(), id="short loads without workers"),
        pytest.param(
            made_run(wait_ms=9.0, work_ms=30.0, uses_gpu=True, gpu_idle_ms=0.2, queue_depth=0.0), id="hidden waits"
        ),
    ],
)
def test_a_run_whose_loader_is_not_at_fault_is_left_alone(facts: RunFacts) -> None:
    assert silent(judge(facts))


def test_a_single_event_is_called_one() -> None:
    verdict = judge(one_wait(5.0, 2_000))
    assert verdict.level == "limited"
    assert verdict.sentence == "The training loop is kept busy, but for 1 of 2,000 steps."
    said = "1 of 2,000 steps accounts for most of the 12% of step time spent waiting: it waited 5.0 s. That is a single"
    assert verdict.why is not None and verdict.why.startswith(said)


def test_two_events_are_counted_as_two_and_an_epochs_beginning_as_none() -> None:
    waits = [0.2] * 2_000
    waits[5], waits[700], waits[1400] = 4_000.0, 3_000.0, 2_500.0
    facts = made_run(wait_ms=waits, work_ms=20.0, steps=2_000, num_workers=2, load_cpu_ms=15.0)
    begins = with_steps(
        facts, batch_index=np.arange(2_000.0) - 5, epoch_index=np.where(np.arange(2_000.0) < 5, 0.0, 1.0)
    )
    verdict = judge(begins)
    assert verdict.bound == "compute"
    assert verdict.why is not None and "2 of 2,000 steps account for most of the" in verdict.why
    assert "the longest waited 3.0 s. Those are single events" in verdict.why


def test_waits_that_recur_are_no_single_event() -> None:
    waits = ([0.2] * 99 + [400.0]) * 20
    assert judge(made_run(wait_ms=waits, work_ms=20.0, steps=2_000)).bound == "data"


def test_a_stall_that_one_step_less_brings_below_the_limit_is_no_single_event() -> None:
    waits = [24.0, 19.0, 19.0, 16.0, 16.0, 14.0, 12.0, *[2.4] * 68]
    verdict = judge(made_run(wait_ms=waits, work_ms=32.0, steps=75))
    assert verdict.data_stall_fraction == pytest.approx(0.105, abs=0.005)
    assert verdict.bound == "data"
    assert "event" not in (verdict.why or "")


def test_an_event_of_less_than_a_second_is_stated_in_milliseconds() -> None:
    verdict = judge(made_run(wait_ms=[*[0.2] * 40, 300.0, *[0.2] * 40], work_ms=20.0, steps=81))
    assert verdict.why is not None and "it waited 300 ms" in verdict.why


# host and transfer


def on_gpu(util: float | None, **changes: Any) -> RunFacts:
    usual: dict[str, Any] = {"wait_ms": 1.0, "work_ms": 99.0, "uses_gpu": True, "gpu_idle_ms": 1.0, "num_workers": 2}
    return with_rank(made_run(**{**usual, **changes}), gpu_util=util)


@pytest.mark.parametrize(("util", "bound"), [(0.95, "compute"), (0.82, "compute"), (0.75, "host"), (0.3, "host")])
def test_a_device_that_idles_with_data_at_hand_waits_for_the_program(util: float, bound: str) -> None:
    verdict = judge(on_gpu(util))
    assert (verdict.bound, verdict.causes) == (bound, [])
    if bound == "host":
        assert f"{99 - util * 100:.0f}% of the time" in verdict.sentence
        assert verdict.why is not None and ".item()" in verdict.why


def test_nothing_is_said_of_the_program_without_utilisation_or_without_the_devices_clock() -> None:
    assert judge(on_gpu(None)).bound == "compute"
    assert judge(on_gpu(0.3, gpu_idle_ms=None)).bound == "compute"


def test_idling_that_waits_for_data_explain_is_not_the_programs() -> None:
    assert judge(on_gpu(0.75, wait_ms=8.0, gpu_idle_ms=8.0)).bound == "compute"
    assert judge(on_gpu(0.5, wait_ms=40.0, gpu_idle_ms=40.0)).bound == "data"


# a running run keeps its verdict


def waiting(fraction: float, status: str = "running") -> RunFacts:
    facts = made_run(wait_ms=100.0 * fraction, work_ms=100.0 * (1 - fraction), load_cpu_ms=100.0 * fraction)
    return replace(facts, status=status)  # type: ignore[arg-type]


def test_a_verdict_does_not_flap_at_the_edge() -> None:
    before, bounds = None, []
    for fraction in (0.11, 0.095, 0.104, 0.09, 0.101, 0.07, 0.09):
        verdict = judge(waiting(fraction), before=before)
        before = Before(verdict.bound, verdict.causes[0].cause if verdict.causes else None)
        bounds.append(verdict.bound)
    assert bounds == ["data"] * 5 + ["compute"] * 2


def test_the_level_follows_its_bands_whatever_was_said_before() -> None:
    assert judge(waiting(0.09), before=Before("data", "no_workers")).level == "watch"


def test_a_wait_that_is_worth_a_look_is_not_called_busy() -> None:
    said = {fraction: judge(waiting(fraction)).sentence for fraction in (0.03, 0.07)}
    assert said == {
        0.03: "The training loop is kept busy: 3.0% of a step is spent waiting for data.",
        0.07: "The training loop waits for data 7.0% of every step.",
    }


def test_an_ended_run_is_judged_without_memory() -> None:
    assert judge(waiting(0.09, "finished"), before=Before("data", "no_workers")).bound == "compute"


@pytest.mark.parametrize(("collate", "leading"), [(0.45, "no_workers"), (0.52, "no_workers"), (0.7, "slow_collate")])
def test_the_leading_cause_keeps_its_place_until_another_costs_clearly_more(collate: float, leading: str) -> None:
    facts = starved()
    batches = replace(facts.ranks[0].batches, collate_us=np.full(300, 120e3 * collate))
    facts = with_rank(facts, batches=batches)
    causes = judge(facts, before=Before("data", "no_workers")).causes
    assert causes[0].cause == leading
    assert {each.cause for each in causes} == {"no_workers", "slow_collate"}


def test_a_copy_takes_the_lead_of_a_wait_only_when_it_is_clearly_longer() -> None:
    def bound(exposed_ms: float, before: Before | None) -> str:
        facts = made_run(wait_ms=20.0, work_ms=80.0, uses_gpu=True, gpu_idle_ms=20.0, num_workers=2)
        steps = replace(facts.ranks[0].steps, h2d_exposed_us=np.full(300, exposed_ms * 1e3))
        return judge(with_rank(facts, steps=steps), before=before).bound

    assert [bound(22.0, None), bound(22.0, Before("data", None)), bound(30.0, Before("data", None))] == [
        "transfer",
        "data",
        "transfer",
    ]
    assert bound(18.0, Before("transfer", None)) == "transfer"


def test_what_is_marked_beside_a_wait_without_a_cause_is_said_with_it() -> None:
    verdict = judge(made_run(wait_ms=7.0, work_ms=93.0, num_workers=2, load_cpu_ms=20.0, load_runqueue_ms=90.0))
    marked = [each.signal for each in verdict.signals if each.reading == "symptom"]
    assert verdict.causes == [] and verdict.why is not None and marked
    assert "No cause of this wait was found" in verdict.why
    own = [name for name in marked if not name.startswith(("Waiting", "Requests"))]
    assert own and f"Marked below, but none of these was found to cost it: {'; '.join(own)}." in verdict.why
