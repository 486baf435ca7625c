"""Known sickness, real loaders, the real service: the expected diagnosis, and silence for a healthy neighbour."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.scenarios.conftest import RunJob
from tests.scenarios.job import READ_BYTES

CORES = len(os.sched_getaffinity(0))


@pytest.mark.parametrize("load_sleep_ms", [15, 60])
def test_a_loader_without_workers_starves_the_loop(run_job: RunJob, load_sleep_ms: int) -> None:
    seen = run_job(num_workers=0, load_sleep_ms=load_sleep_ms, work_ms=20, steps=80)
    assert (seen.bound, seen.causes[0].cause, seen.clock) == ("data", "no_workers", "host")
    expected = load_sleep_ms / (load_sleep_ms + 20)
    assert seen.data_stall_fraction == pytest.approx(expected, abs=0.08)
    assert seen.advice[0].change == "num_workers"
    assert seen.gpu_hours_lost is None


@pytest.mark.parametrize(
    "settings", [{"num_workers": 0, "load_sleep_ms": 0.2}, {"num_workers": 2, "load_sleep_ms": 15}]
)
def test_a_loop_that_is_kept_busy_is_left_alone(run_job: RunJob, settings: dict[str, float]) -> None:
    seen = run_job(**settings, work_ms=25, steps=80)
    assert seen.bound == "compute"
    assert (seen.causes, seen.advice, seen.refusals) == ([], [], [])


def test_one_worker_that_never_rests_is_too_few(run_job: RunJob) -> None:
    seen = run_job(num_workers=1, load_sleep_ms=40, work_ms=10, steps=100)
    assert (seen.bound, seen.causes[0].cause) == ("data", "too_few_workers")
    best = seen.advice[0]
    assert (best.change, best.from_) == ("num_workers", 1)
    assert isinstance(best.to, int) and best.to >= 3


def test_saturated_cores_get_no_more_workers(run_job: RunJob) -> None:
    seen = run_job(num_workers=2 * CORES, load_cpu_ms=40, work_ms=2, steps=60 * CORES)
    assert (seen.bound, seen.causes[0].cause) == ("data", "cpu_limited")
    assert "num_workers" not in {advice.change for advice in seen.advice}
    assert "num_workers" in {refusal.change for refusal in seen.refusals}


@pytest.mark.parametrize(("parts", "reads_storage"), [(100, True), (2, False)])
def test_reads_that_reach_storage_are_told_from_reads_that_do_not(
    run_job: RunJob, tmp_path: Path, parts: int, reads_storage: bool
) -> None:
    file = tmp_path / "samples.bin"
    with file.open("wb") as stream:
        stream.write(os.urandom(parts * READ_BYTES))
        stream.flush()
        os.fsync(stream.fileno())
    # The disk of a virtual machine may answer from its host's memory: the sleep is the latency of a real one.
    seen = run_job(num_workers=0, file=file, load_sleep_ms=5, work_ms=2, steps=100)
    assert seen.bound == "data"
    reached = next(signal.measured.value for signal in seen.signals if signal.signal == "Reads that reach storage")
    assert isinstance(reached, float)
    assert (reached > 0.5) is reads_storage
    assert ("storage_wait" in {finding.cause for finding in seen.causes}) is reads_storage


def test_a_run_of_a_few_steps_has_no_verdict(run_job: RunJob) -> None:
    seen = run_job(num_workers=0, load_sleep_ms=20, work_ms=10, steps=12)
    assert (seen.bound, seen.level) == ("unknown", "unknown")
    assert seen.reason is not None and "the run had 12" in seen.reason


def test_the_advised_setting_gains_what_was_predicted(run_job: RunJob) -> None:
    before = run_job(num_workers=0, load_sleep_ms=45, work_ms=15, steps=100)
    advice = before.advice[0]
    settings = {name: value for name, value in advice.settings.items() if isinstance(value, int)}
    after = run_job(**settings, load_sleep_ms=45, work_ms=15, steps=300)
    entry = next(entry for entry in after.ledger if entry.advice_of == before.run_id)
    assert entry.inside_interval is True, (entry.predicted_speedup, entry.observed_speedup)
