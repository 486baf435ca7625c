"""The simulator against arithmetic that can be done by hand."""

from __future__ import annotations

import pytest

from underfed_server.advice.simulate import Batch, Cores, LoaderSetting, Work, simulate

FREE = Cores(usable=8.0, slowdown=lambda _busy: 1.0)
TWO = Cores(usable=2.0, slowdown=lambda _busy: 1.0)


def step_ms(batch: Batch, work: Work, setting: LoaderSetting, cores: Cores = FREE) -> float:
    return simulate([batch], [work], setting, cores).step_us / 1e3


def test_without_workers_load_and_work_alternate() -> None:
    outcome = simulate([Batch(30_000, 10_000)], [Work(20_000, 5_000)], LoaderSetting(0), FREE)
    assert outcome.step_us == pytest.approx(65_000)
    assert outcome.data_wait_us == pytest.approx(40_000)


@pytest.mark.parametrize(("workers", "expected_ms"), [(1, 100.0), (2, 50.0), (4, 25.0), (8, 20.0), (16, 20.0)])
def test_blocked_loads_divide_by_the_workers_until_the_work_is_the_limit(workers: int, expected_ms: float) -> None:
    assert step_ms(Batch(0, 100_000), Work(0, 20_000), LoaderSetting(workers)) == pytest.approx(expected_ms, rel=0.01)


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_cpu_bound_loads_stop_at_the_cores(workers: int) -> None:
    # 120 + 60 ms of CPU a step on two cores: 90 ms, whatever the workers.
    assert step_ms(Batch(120_000, 0), Work(60_000, 0), LoaderSetting(workers), TWO) == pytest.approx(90.0, rel=0.02)


def test_a_slow_sibling_core_stretches_every_piece_of_cpu_work() -> None:
    siblings = Cores(usable=2.0, slowdown=lambda busy: 1.8 if busy > 1 else 1.0)
    assert step_ms(Batch(100_000, 0), Work(100_000, 0), LoaderSetting(1), siblings) == pytest.approx(180.0, rel=0.02)


def test_one_core_gains_nothing_from_workers() -> None:
    one = Cores(usable=1.0, slowdown=lambda _busy: 1.0)
    alone = step_ms(Batch(50_000, 0), Work(50_000, 0), LoaderSetting(0), one)
    assert step_ms(Batch(50_000, 0), Work(50_000, 0), LoaderSetting(4), one) == pytest.approx(alone, rel=0.02)


def test_in_order_delivery_makes_one_slow_batch_hold_back_the_ready_ones() -> None:
    batches = [Batch(0, 400_000)] + [Batch(0, 10_000)] * 15
    short = simulate(batches, [Work(0, 30_000)], LoaderSetting(2, 1), FREE).step_us
    long = simulate(batches, [Work(0, 30_000)], LoaderSetting(2, 8), FREE).step_us
    assert short > 1.15 * long


def test_handing_over_costs_the_training_process_even_when_batches_are_ready() -> None:
    batch = Batch(1_000, 0, handover_us=0, receive_us=2_000, receive_wait_us=3_000)
    outcome = simulate([batch], [Work(0, 50_000)], LoaderSetting(2), FREE)
    assert outcome.data_wait_us == pytest.approx(5_040, rel=0.02)


def test_nothing_to_replay_is_an_error_and_not_a_figure() -> None:
    with pytest.raises(ValueError, match="nothing to replay"):
        simulate([], [Work(1, 1)], LoaderSetting(1), FREE)
