"""The simulator against arithmetic that can be done by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from underfed_server.advice.prediction.simulate import (
    Batch,
    Cores,
    HandoverTimes,
    LoopInputs,
    Outcome,
    SimulatedSetting,
    Work,
    simulate,
)

FREE = Cores(usable=8.0, slowdown=lambda _busy: 1.0)
TWO = Cores(usable=2.0, slowdown=lambda _busy: 1.0)


def simulated(
    batches: Sequence[Batch], work: Work, setting: SimulatedSetting, cores: Cores = FREE, **handover: float
) -> Outcome:
    return simulate(LoopInputs(batches, [work], HandoverTimes(**handover), cores), setting)


def step_ms(batch: Batch, work: Work, setting: SimulatedSetting, cores: Cores = FREE) -> float:
    return simulated([batch], work, setting, cores).step_us / 1e3


def test_without_workers_load_and_work_alternate() -> None:
    outcome = simulated([Batch(30_000, 10_000)], Work(20_000, 5_000), SimulatedSetting(0))
    assert outcome.step_us == pytest.approx(65_000)
    assert outcome.data_wait_us == pytest.approx(40_000)


@pytest.mark.parametrize(("workers", "expected_ms"), [(1, 100.0), (2, 50.0), (4, 25.0), (8, 20.0), (16, 20.0)])
def test_blocked_loads_divide_by_the_workers_until_the_work_is_the_limit(workers: int, expected_ms: float) -> None:
    assert step_ms(Batch(0, 100_000), Work(0, 20_000), SimulatedSetting(workers)) == pytest.approx(
        expected_ms, rel=0.01
    )


def test_loads_that_wait_leave_the_cores_to_others() -> None:
    assert step_ms(Batch(0, 100_000), Work(0, 10_000), SimulatedSetting(8), TWO) == pytest.approx(12.5, rel=0.01)


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_cpu_bound_loads_stop_at_the_cores(workers: int) -> None:
    # 120 + 60 ms of CPU a step on two cores: 90 ms, whatever the workers.
    assert step_ms(Batch(120_000, 0), Work(60_000, 0), SimulatedSetting(workers), TWO) == pytest.approx(90.0, rel=0.02)


def test_a_slow_sibling_core_stretches_every_piece_of_cpu_work() -> None:
    siblings = Cores(usable=2.0, slowdown=lambda busy: 1.8 if busy > 1 else 1.0)
    assert step_ms(Batch(100_000, 0), Work(100_000, 0), SimulatedSetting(1), siblings) == pytest.approx(180.0, rel=0.02)


def test_one_core_gains_nothing_from_workers() -> None:
    one = Cores(usable=1.0, slowdown=lambda _busy: 1.0)
    alone = step_ms(Batch(50_000, 0), Work(50_000, 0), SimulatedSetting(0), one)
    assert step_ms(Batch(50_000, 0), Work(50_000, 0), SimulatedSetting(4), one) == pytest.approx(alone, rel=0.02)


def test_threads_beside_the_loading_one_take_their_cores_from_the_other_workers() -> None:
    # 40 ms of CPU a batch by the loading thread and 120 by its helpers: two cores do one every 80 ms.
    outcome = simulated([Batch(40_000, 0, helpers_us=120_000)], Work(0, 10_000), SimulatedSetting(4), TWO)
    assert outcome.step_us / 1e3 == pytest.approx(80.0, rel=0.03)


def test_in_order_delivery_makes_one_slow_batch_hold_back_the_ready_ones() -> None:
    batches = [Batch(0, 400_000)] + [Batch(0, 10_000)] * 15
    short = simulated(batches, Work(0, 30_000), SimulatedSetting(2, 1)).step_us
    long = simulated(batches, Work(0, 30_000), SimulatedSetting(2, 8)).step_us
    assert short > 1.15 * long


def test_out_of_order_nobody_waits_for_the_slow_batch_while_another_is_ready() -> None:
    batches = [Batch(0, 400_000)] + [Batch(0, 10_000)] * 15
    in_order = simulated(batches, Work(0, 30_000), SimulatedSetting(2, 2)).step_us
    out_of_order = simulated(batches, Work(0, 30_000), SimulatedSetting(2, 2, in_order=False)).step_us
    assert out_of_order == pytest.approx(30_040, rel=0.02)
    assert in_order > 1.1 * out_of_order


def test_handing_over_costs_the_training_process_even_when_batches_are_ready() -> None:
    outcome = simulated(
        [Batch(1_000, 0)], Work(0, 50_000), SimulatedSetting(2), receive_us=2_000, receive_wait_us=3_000
    )
    assert outcome.data_wait_us == pytest.approx(5_040, rel=0.02)


def test_a_worker_that_loads_its_next_batch_is_slower_to_hand_over_the_last() -> None:
    idle = simulated(
        [Batch(0, 1_000)], Work(0, 20_000), SimulatedSetting(1), receive_wait_us=1_000, busy_wait_us=15_000
    )
    busy = simulated(
        [Batch(0, 30_000)], Work(0, 5_000), SimulatedSetting(1), receive_wait_us=1_000, busy_wait_us=15_000
    )
    assert idle.data_wait_us == pytest.approx(1_040, rel=0.05)
    assert busy.data_wait_us > 15_000


def test_the_pin_thread_copies_beside_the_loop_and_limits_it_alone() -> None:
    beside = simulated([Batch(0, 1_000)], Work(0, 20_000), SimulatedSetting(4), pin_us=5_000)
    limit = simulated([Batch(0, 1_000)], Work(0, 20_000), SimulatedSetting(4), pin_us=50_000)
    assert beside.step_us == pytest.approx(20_040, rel=0.02)
    assert limit.step_us == pytest.approx(50_000, rel=0.02)


def test_a_task_that_wakes_on_full_cores_waits_for_one() -> None:
    free = simulated([Batch(100_000, 0)], Work(0, 20_000), SimulatedSetting(2), Cores(8.0, lambda _busy: 1.0))
    full = simulated([Batch(100_000, 0)], Work(0, 20_000), SimulatedSetting(2), Cores(2.0, lambda _busy: 1.0))
    assert full.step_us >= free.step_us


def test_nothing_to_simulate_is_an_error_and_not_a_figure() -> None:
    with pytest.raises(ValueError, match="nothing to simulate"):
        simulated([], Work(1, 1), SimulatedSetting(1))


@pytest.mark.parametrize("workers", [0, 4])
@pytest.mark.parametrize(("load_ms", "expected_ms"), [(0, 60), (40, 60), (90, 100)])
def test_a_device_that_works_on_its_own_sets_the_pace_where_loading_is_faster(
    workers: int, load_ms: int, expected_ms: int
) -> None:
    each = Batch(0, load_ms * 1e3 * max(1, workers))
    outcome = simulated([each], Work(0, 10_000, device_us=60_000), SimulatedSetting(workers))
    expected = max(60, load_ms) if workers and load_ms else expected_ms
    assert outcome.step_us / 1e3 == pytest.approx(expected, rel=0.02)


def test_the_loop_is_no_further_ahead_of_the_device_than_it_was() -> None:
    """The device works 100 ms and nothing in turn: a loop that waits for the step before cannot hide all of it."""
    works = [Work(0, 30_000, device_us=100_000), Work(0, 30_000, device_us=0)]

    def step_ms(ahead: int) -> float:
        inputs = LoopInputs([Batch(0, 0)], works, HandoverTimes(), FREE, steps_ahead=ahead)
        return simulate(inputs, SimulatedSetting(0)).step_us / 1e3

    assert step_ms(1) == pytest.approx(65.0, rel=0.02)
    assert step_ms(8) == pytest.approx(50.0, rel=0.03)
