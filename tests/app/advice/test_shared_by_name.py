"""What sharing tensors by name gains, beside loops that were run with both strategies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.app.made_facts import made_run
from underfed_server.advice.prediction.altered import changed
from underfed_server.advice.prediction.simulate import Batch, HandoverTimes, SimulatedSetting, Work, simulate
from underfed_server.advice.prediction.workload import Workload, read_workload
from underfed_server.facts.record import RankFacts

HANDSHAKES = SimulatedSetting(1)
BY_NAME = replace(HANDSHAKES, shares_by_name=True)


def loop(tensors: int, work_us: float, load_us: float, handover: HandoverTimes) -> tuple[RankFacts, Workload]:
    """One worker on two cores."""
    facts = made_run(steps=200, wait_ms=1.0, num_workers=1, load_ms=[1.0])
    (rank,) = facts.ranks
    assert facts.loader is not None
    made = read_workload(rank, facts.loader, facts.host)
    cores, batch = replace(made.cores, usable=2.0), Batch(load_us, 0.0)
    return rank, replace(
        made,
        batches=(batch,),
        alone=(batch,),
        works=(Work(work_us, 0.0),),
        handover=handover,
        cores=cores,
        batch_tensors=tensors,
        setting=HANDSHAKES,
    )


def gain(rank: RankFacts, workload: Workload) -> float:
    steps = [
        simulate(changed(workload, rank, setting).inputs(setting), setting).step_us for setting in (HANDSHAKES, BY_NAME)
    ]
    return steps[0] / steps[1]


@pytest.mark.parametrize(
    ("tensors", "work_us", "load_us", "receive_us", "wait_us", "measured"),
    [
        (1, 1_000, 167, 532, 355, 1.20),
        (1, 4_427, 144, 630, 647, 1.12),
        (2, 63, 280, 760, 798, 2.27),
        (2, 4_380, 171, 760, 713, 1.12),
        (6, 245, 362, 1_280, 2_422, 2.84),
        (6, 4_344, 786, 1_280, 2_287, 1.42),
        (24, 518, 1_548, 3_620, 5_560, 2.88),
        (24, 4_187, 1_778, 3_620, 6_671, 2.02),
    ],
)
def test_the_gain_is_that_of_loops_that_were_run_with_both(
    tensors: int, work_us: float, load_us: float, receive_us: float, wait_us: float, measured: float
) -> None:
    """Own study: torch 2.13, one worker, two cores of an EPYC. Hand-over as read from the run with handshakes."""
    handover = HandoverTimes(
        feed_us=15.0,
        feed_wait_us=200.0,
        receive_us=receive_us,
        receive_wait_us=wait_us,
        busy_wait_us=wait_us,
        early_us=500.0,
        pause_us=900.0,
    )
    assert gain(*loop(tensors, work_us, load_us, handover)) == pytest.approx(measured, rel=0.25)


def test_where_nothing_waits_for_handshakes_names_gain_no_wait() -> None:
    rank, workload = loop(2, 1_000, 100, HandoverTimes(receive_us=300.0, receive_wait_us=40.0, busy_wait_us=50.0))
    handover = changed(workload, rank, BY_NAME).handover
    assert (handover.receive_wait_us, handover.busy_wait_us) == (40.0, 50.0)


def test_a_worker_that_loads_all_the_time_gains_nothing_by_names() -> None:
    handover = HandoverTimes(receive_us=760.0, receive_wait_us=700.0, busy_wait_us=700.0, pause_us=250.0)
    assert gain(*loop(2, 500, 20_000, handover)) == pytest.approx(1.0, abs=0.02)
