"""The figures in the diagnosis of a real job, and whether its advice gains what it predicts."""

from __future__ import annotations

import pytest

from tests.scenarios.conftest import RunJob

pytestmark = pytest.mark.soak(passes=2, of=3)


def test_one_worker_that_is_never_idle_is_too_few(run_job: RunJob) -> None:
    seen = run_job(num_workers=1, load_sleep_ms=40, work_ms=10, steps=100)
    assert (seen.bound, seen.causes[0].cause) == ("data", "too_few_workers")
    best = seen.advice[0]
    assert (best.change, best.from_) == ("num_workers", 1)
    assert isinstance(best.to, int) and best.to >= 3


def test_the_advised_setting_gains_what_was_predicted(run_job: RunJob) -> None:
    before = run_job(num_workers=0, load_sleep_ms=45, work_ms=15, steps=80)
    assert (before.bound, before.causes[0].cause, before.clock) == ("data", "no_workers", "host")
    assert before.data_stall_fraction == pytest.approx(45 / (45 + 15), abs=0.08)
    assert before.gpu_hours_lost is None
    advice = before.advice[0]
    assert advice.change == "num_workers"
    settings = {name: value for name, value in advice.settings.items() if isinstance(value, int)}
    after = run_job(**settings, load_sleep_ms=45, work_ms=15, steps=200)
    entry = next(entry for entry in after.ledger if entry.advice_of == before.run_id)
    assert entry.inside_interval is True, (entry.predicted_speedup, entry.observed_speedup)
