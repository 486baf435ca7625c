"""Advice on the run's surroundings: cores, shared memory, and the host of a rank."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.app.advice.made_case import GIB, altered, changes, made_verdict, of, recommended
from tests.app.made_facts import made_place, made_run, starved
from underfed_server.advice.advise import advise
from underfed_server.facts.record import RankFacts, RunFacts

MIB = 1 << 20


def saturated(**host: Any) -> RunFacts:
    facts = made_run(
        wait_ms=70.0, work_ms=50.0, num_workers=2, load_cpu_ms=190.0, load_runqueue_ms=10.0, usable_cores=2.0,
        busy_cores=2.0, process_cores=0.42, workers_cores=1.58, queue_depth=0,
    )  # fmt: skip
    return altered(facts, host=host)


def test_a_quota_below_the_cores_of_the_machine_is_named() -> None:
    best = of("cpu_allocation", recommended(saturated(cpu_count=64, allowed_cpus=64, quota_cores=2.0), cpu_limited=0.5))
    # 190 ms of loading and 50 of training in steps of 50 ms.
    assert (best.from_, best.to, best.predicted_speedup) == (2.0, 5, None)
    assert "quota" in best.why and "64 cores" in best.why
    assert "-docker run --cpus=2 …\n+docker run --cpus=5 …" in best.diff


def test_a_set_of_cores_below_those_of_the_machine_is_named() -> None:
    best = of("cpu_allocation", recommended(saturated(cpu_count=64, allowed_cpus=2), cpu_limited=0.5))
    assert "-#SBATCH --cpus-per-task=2\n+#SBATCH --cpus-per-task=5" in best.diff
    assert best.command is None and best.settings == {}


def test_no_more_cores_are_asked_for_than_the_machine_has() -> None:
    assert of("cpu_allocation", recommended(saturated(cpu_count=3, allowed_cpus=2), cpu_limited=0.5)).to == 3
    assert "cpu_allocation" not in changes(recommended(saturated(cpu_count=2, allowed_cpus=2), cpu_limited=0.5))
    assert "cpu_allocation" not in changes(recommended(saturated(cpu_count=64), too_few_workers=0.5))


def test_a_container_whose_shared_memory_holds_few_batches_is_given_more() -> None:
    host = {"shm_total_bytes": 64 * MIB, "shm_free_bytes": 60 * MIB, "memory_available_bytes": 16 * GIB}
    facts = altered(starved(batch_bytes=20 * MIB), host=host)
    best = of("shm_size", recommended(facts, no_workers=0.7))
    assert (best.from_, best.to, best.predicted_speedup) == (64 * MIB, GIB, None)
    assert "+docker run --shm-size=1g" in best.diff


def test_shared_memory_that_holds_the_batches_or_memory_that_does_not_is_left_alone() -> None:
    roomy = {"shm_total_bytes": 8 * GIB, "shm_free_bytes": 8 * GIB, "memory_available_bytes": 16 * GIB}
    assert "shm_size" not in changes(recommended(altered(starved(batch_bytes=20 * MIB), host=roomy), no_workers=0.7))
    little = {"shm_total_bytes": 64 * MIB, "shm_free_bytes": 60 * MIB, "memory_available_bytes": 100 * MIB}
    assert "shm_size" not in changes(recommended(altered(starved(batch_bytes=20 * MIB), host=little), no_workers=0.7))


def test_a_forecast_of_full_shared_memory_is_answered_in_a_run_that_waits_for_nothing() -> None:
    facts = made_run(wait_ms=0.0, work_ms=100.0, num_workers=4, load_cpu_ms=50.0, queue_depth=8, batch_bytes=20 * MIB)
    facts = altered(facts, host={"shm_total_bytes": 192 * MIB, "shm_free_bytes": 20 * MIB})
    found = recommended(facts, "compute", memory_pressure=0.0)
    assert of("shm_size", found).to == GIB
    assert "shm_size" not in changes(recommended(facts, "compute"))


def ranks(*blocked_ms: float) -> RunFacts:
    """Ranks in lockstep: each waits as long as the slowest loads."""
    slowest = max(blocked_ms)

    def rank(number: int, blocked: float) -> RankFacts:
        wait = [blocked, blocked + 10.0]
        (one,) = made_run(
            wait_ms=wait, work_ms=50.0 + slowest - blocked, num_workers=2, load_cpu_ms=20.0, load_blocked_ms=blocked
        ).ranks
        return replace(one, rank=number, hostname=f"node{number}")

    made = tuple(rank(number, blocked) for number, blocked in enumerate(blocked_ms))
    storage = (made_place("network", file_system="nfs4", files_seen=9),)
    return replace(made_run(num_workers=2), ranks=made, storage=storage)


def test_the_slow_rank_is_named_with_its_host_and_what_differs() -> None:
    facts = ranks(5.0, 5.0, 45.0, 5.0)
    best = of("fix_rank", advise(facts, made_verdict("data", (2,), slow_rank=0.4)))
    assert (
        best.title == "Copy the data of rank 2 (host node2) to where the others read theirs"
        and "storage or network" in best.why
    )
    assert best.diff == " # Run it on node2, and on one of the others:\n+underfed doctor /data"
    # 40 of 100 ms go away where it waits as the others do.
    assert best.predicted_speedup == pytest.approx(100 / 60, rel=0.02)
    assert best.low and best.predicted_speedup and best.high and best.ceiling
    assert best.low <= best.predicted_speedup <= best.high <= best.ceiling
    assert best.settings == {} and best.command is None


def test_a_rank_that_computes_longer_is_distinguished_from_one_whose_storage_is_slow() -> None:
    facts = ranks(5.0, 45.0)
    slow = facts.ranks[1]
    batches = replace(slow.batches, blocked_us=np.full(300, 5_000.0), cpu_us=np.full(300, 60_000.0))
    facts = replace(facts, ranks=(facts.ranks[0], replace(slow, batches=batches)))
    assert "CPU is slower" in of("fix_rank", advise(facts, made_verdict("data", (1,), slow_rank=0.35))).why


def test_no_rank_is_blamed_that_the_verdict_does_not_mark() -> None:
    assert "fix_rank" not in changes(advise(ranks(5.0, 5.0), made_verdict(too_few_workers=0.1)))
