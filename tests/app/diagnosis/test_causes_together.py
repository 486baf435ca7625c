"""All causes of one run: what they cost together, and that a healthy run has none."""

from __future__ import annotations

import numpy as np
import pytest

from tests.app.diagnosis.altered import (
    with_batches,
    with_host,
    with_loader,
    with_rank,
    with_workers,
)
from tests.app.diagnosis.found import causes
from tests.app.diagnosis.loop import Played
from tests.app.diagnosis.test_wait import any_loop
from underfed_server.diagnosis.judge import judge


@pytest.mark.parametrize("seed", range(60))
def test_causes_of_any_run_cost_at_most_its_stall_and_come_in_order(seed: int) -> None:
    random = np.random.default_rng(seed)
    cpu, queued, blocked = random.dirichlet((1, 1, 1)) * 50
    facts = any_loop(random).facts(
        load_cpu_ms=cpu, load_runqueue_ms=queued, load_blocked_ms=blocked, read_bytes=random.choice([0.0, 1e6]),
        usable_cores=float(random.choice([1, 2, 8])), busy_cores=float(random.uniform(0.2, 8)),
        is_iterable=bool(random.random() < 0.3),
    )  # fmt: skip
    load = facts.ranks[0].batches.load_us
    facts = with_batches(facts, collate_us=load * random.uniform(0, 1), process_cpu_us=load * random.uniform(0, 4))
    facts = with_loader(
        with_workers(facts, threads=int(random.integers(2, 20))), compared_batches=8, repeated_batches=8
    )
    facts = with_host(facts, memory_pressure_us=(0.0, float(random.uniform(0, 600e6))))
    verdict = judge(facts)
    costs = [each.cost_fraction for each in verdict.causes]
    assert sum(costs) <= (verdict.data_stall_fraction or 0.0) + 1e-9
    assert costs == sorted(costs, reverse=True)
    assert all(cost >= 0 for cost in costs)


def test_a_loop_that_keeps_up_has_no_cause_whatever_its_loads_are_made_of() -> None:
    facts = Played(load_ms=30, work_ms=20).facts(load_blocked_ms=30.0, read_bytes=1e6)
    facts = with_workers(with_batches(facts, collate_us=29e3, process_cpu_us=90e3), threads=40)
    assert causes(with_rank(facts, gpu_util=None)) == []
