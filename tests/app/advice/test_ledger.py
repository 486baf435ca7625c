"""The ledger: which runs are paired, and what it says when a prediction missed."""

from __future__ import annotations

import pytest

from tests.app.made_facts import made_run, starved
from underfed_server.advice.advise import advise
from underfed_server.advice.ledger import carried_advice, compare
from underfed_server.diagnosis.judge import judge
from underfed_server.facts.record import RunFacts
from underfed_server.judgement import diagnosis_of
from underfed_server.model import Diagnosis, LedgerEntry


def diagnosed(facts: RunFacts) -> Diagnosis:
    verdict = judge(facts)
    return diagnosis_of(facts, verdict, advise(facts, verdict))


def after(step_ms: float, workers: int = 2) -> RunFacts:
    return made_run(
        wait_ms=[step_ms * 0.1, step_ms * 0.2], work_ms=step_ms * 0.85, num_workers=workers, run_id="made-2",
        usable_cores=2.0,
    )  # fmt: skip


BEFORE = starved(usable_cores=2.0, wait_ms=[119.0, 121.0])


def entry_for(later: RunFacts) -> LedgerEntry | None:
    advice = carried_advice(later, diagnosed(BEFORE))
    return compare(later, BEFORE, advice) if advice else None


def test_a_run_that_carries_the_advice_is_paired_with_predicted_and_observed() -> None:
    entry = entry_for(after(85.0))
    assert entry is not None
    assert (entry.advice_of, entry.run_id, entry.change) == ("made-1", "made-2", "num_workers")
    assert entry.observed_speedup == pytest.approx(2.0, rel=0.01)
    assert entry.inside_interval is True
    assert entry.observed_speedup and entry.observed_low and entry.observed_high
    assert entry.observed_low <= entry.observed_speedup <= entry.observed_high


def test_a_miss_is_shown_as_a_miss() -> None:
    entry = entry_for(after(160.0))
    assert entry is not None
    assert entry.inside_interval is False


def test_a_run_with_another_setting_is_not_paired() -> None:
    assert entry_for(after(85.0, workers=1)) is None


def test_a_repeat_of_the_same_setting_is_not_paired() -> None:
    assert entry_for(starved(run_id="made-2", usable_cores=2.0)) is None


def test_a_run_is_not_paired_with_itself() -> None:
    advised = diagnosed(BEFORE)
    assert carried_advice(after(85.0), advised.model_copy(update={"run_id": "made-2"})) is None


def test_a_run_without_a_judged_step_has_nothing_observed_yet() -> None:
    entry = entry_for(made_run(steps=0, num_workers=2, run_id="made-2", usable_cores=2.0))
    assert entry is not None
    assert (entry.observed_speedup, entry.inside_interval) == (None, None)
