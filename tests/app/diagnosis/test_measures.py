"""Quantities read off a rank, where a plain mean would mislead."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.app.made_facts import made_run, starved
from underfed_server.diagnosis import measures


def test_hand_over_is_read_off_batches_that_were_waited_for() -> None:
    rank = starved(num_workers=1, late_us=2_500.0).ranks[0]
    assert measures.handover_us(rank) == pytest.approx(2_500.0)


def test_batches_that_lay_ready_say_nothing_of_the_hand_over() -> None:
    rank = made_run(wait_ms=1.0, work_ms=100.0, num_workers=2, load_cpu_ms=60.0, late_us=90_000.0).ranks[0]
    assert measures.handover_us(rank) is None


def test_copies_that_were_looked_at_in_few_steps_count_for_all_steps_of_their_kind() -> None:
    """Every copy of a step that found no batch ready is timed, and one in ten of the others."""
    is_ready = np.arange(300) % 10 != 0
    exposed_us = np.where(is_ready, np.where(np.arange(300) % 10 == 1, 10e3, np.nan), 30e3)
    rank = made_run(wait_ms=1.0, work_ms=99.0, uses_gpu=True).ranks[0]
    steps = replace(rank.steps, queue_depth=np.where(is_ready, 2.0, 0.0), h2d_exposed_us=exposed_us)
    assert measures.exposed_copy_us(replace(rank, steps=steps)) == pytest.approx(0.9 * 10e3 + 0.1 * 30e3)


def test_others_on_the_host_leave_a_fair_share_of_the_cores() -> None:
    assert measures.attainable_cores(2.0, 0.0) == pytest.approx(2.0)
    # Three busy tasks of ours and one of theirs on two cores: three quarters are ours.
    assert measures.attainable_cores(2.0, 1.0) == pytest.approx(1.5)


def test_busy_cores_are_not_called_others_where_our_own_were_not_measured() -> None:
    process = starved(usable_cores=2.0, busy_cores=1.2, process_cores=None).ranks[0].process
    assert measures.other_cores(process) is None
    assert measures.attainable_cores(2.0, None) == pytest.approx(2.0)


def test_ranks_of_one_host_have_its_cores_together() -> None:
    """A step of 100 ms, half of it a wait for workers that compute 320 ms for it, on eight cores."""
    alone = made_run(
        wait_ms=50.0, work_ms=50.0, num_workers=4, load_cpu_ms=320.0, process_cores=0.2, workers_cores=3.2,
        busy_cores=6.8, uses_gpu=True,
    )  # fmt: skip
    (rank,) = alone.ranks
    together = replace(alone, ranks=(rank, replace(rank, rank=1)))
    apart = replace(alone, ranks=(rank, replace(rank, rank=1, hostname="another")))
    # 0.34 core-seconds of its own want 6.8 cores at twice the pace; the other rank's as many again.
    assert measures.recoverable_share(together, rank, 0.5) == pytest.approx((1 - 6.8 / 8) / 0.5)
    assert measures.recoverable_share(apart, rank, 0.5) > 0.8


def test_what_workers_compute_beside_their_loads_fills_cores_too() -> None:
    run = made_run(
        wait_ms=50.0, work_ms=50.0, num_workers=4, load_cpu_ms=320.0, process_cores=0.2, workers_cores=6.6,
        busy_cores=6.8, uses_gpu=True,
    )  # fmt: skip
    assert measures.recoverable_share(run, run.ranks[0], 0.5) == pytest.approx((1 - 6.8 / 8) / 0.5)


def test_a_run_that_never_read_has_no_storage_share() -> None:
    assert measures.storage_fraction(starved(asked_bytes=0.0, read_bytes=0.0).ranks[0]) is None


@pytest.mark.parametrize(
    ("asked", "batches", "share"), [(20.0, 1, None), (20.0, 30, 1.0), (100_000.0, 1, pytest.approx(0.1))]
)
def test_code_that_first_batches_bring_into_memory_is_no_reading(
    asked: float, batches: int, share: float | None
) -> None:
    (rank,) = starved(asked_bytes=asked, read_bytes=0.0).ranks
    read = np.zeros_like(rank.batches.read_bytes)
    read[:batches] = 0.1 * 100_000 * len(read) / batches
    assert measures.storage_fraction(replace(rank, batches=replace(rank.batches, read_bytes=read))) == share
