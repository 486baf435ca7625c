"""A training that has a sickness is diagnosed with it, its healthy neighbour with nothing."""

from __future__ import annotations

import os

import pytest

from tests.scenarios.conftest import RunPipeline
from tests.scenarios.pipelines.pipeline import pipeline

pytestmark = pytest.mark.soak(passes=2, of=3)

SICK = [
    "sick.dispatched_batches",
    "sick.few_shards",
    "sick.ipc_copy",
    "sick.pin_thread",
    "sick.slow_collate",
    "sick.slow_rank",
    "sick.slow_sampler",
    "sick.slow_samples",
    "sick.state_snapshot",
    "sick.storage_wait",
    "sick.thread_oversubscription",
    "sick.too_few_workers_cached",
    "sick.unsharded_iterable",
    "sick.worker_startup",
]
"""One for each cause that ``test_diagnosis`` does not have; ``python -m benchmarks.diagnosis`` runs every pipeline at
every strength."""
HEALTHY = ["sick.storage_wait", "sick.worker_startup"]


@pytest.mark.parametrize("name", SICK)
def test_the_cause_is_named_first(run_pipeline: RunPipeline, name: str) -> None:
    seen = run_pipeline(name, "clear")
    assert seen.bound == "data"
    assert [finding.cause for finding in seen.causes][:1] == [pipeline(name).cause]
    assert seen.data_stall_fraction is not None
    assert sum(finding.cost_fraction for finding in seen.causes) <= seen.data_stall_fraction + 1e-9


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small /dev/shm needs root")
def test_a_shared_memory_that_is_nearly_full_is_reported_though_nothing_waits(run_pipeline: RunPipeline) -> None:
    seen = run_pipeline("sick.memory_pressure_shm", "clear")
    assert seen.bound != "data"
    assert [finding.cause for finding in seen.causes] == ["memory_pressure"]


@pytest.mark.parametrize("name", HEALTHY)
def test_the_same_job_without_the_sickness_gets_no_advice(run_pipeline: RunPipeline, name: str) -> None:
    seen = run_pipeline(name, "none")
    assert (seen.causes, seen.advice, seen.refusals) == ([], [], [])


def test_a_loop_with_a_validation_after_each_epoch_gets_no_advice(run_pipeline: RunPipeline) -> None:
    seen = run_pipeline("sound.validation", "clear")
    assert (seen.causes, seen.advice, seen.refusals) == ([], [], [])


def test_no_more_workers_are_advised_where_all_cores_are_busy(run_pipeline: RunPipeline) -> None:
    seen = run_pipeline("sick.cpu_limited", "strong")
    assert seen.causes[0].cause == "cpu_limited"
    assert "num_workers" not in {advice.change for advice in seen.advice}
    assert "num_workers" in {refusal.change for refusal in seen.refusals}
