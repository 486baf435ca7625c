"""What steps lost to input, on a device that is timed in some of them, against a truth that is known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from underfed_server.store.columns.stall import has_device_clock, stall_us

Column = NDArray[np.float64]
STEPS = 2_000
EVERY = 16


def sampled(idle: Column, depth: Column) -> Column:
    """As the agent times: every step that could block, and every 16th else."""
    timed = ~(depth >= 1)
    timed[::EVERY] = True
    return np.where(timed, idle, np.nan)


def made(seed: int, *, ready: float, hidden: float) -> tuple[Column, Column, Column]:
    """Waits, device idle times and queue depths: a share of requests finds a batch, a share of waits is hidden."""
    chance = np.random.default_rng(seed)
    depth = np.where(chance.random(STEPS) < ready, chance.integers(1, 5, STEPS), 0).astype(np.float64)
    wait = np.where(depth >= 1, chance.lognormal(7.5, 0.8, STEPS), chance.lognormal(10, 0.8, STEPS)).round()
    idle = (wait * np.where(chance.random(STEPS) < hidden, chance.uniform(0, 0.2, STEPS), 1.0)).round()
    return wait, idle, depth


@pytest.mark.parametrize("ready", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("hidden", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_steps_that_were_not_timed_are_estimated_by_those_of_their_kind(seed: int, ready: float, hidden: float) -> None:
    wait, idle, depth = made(seed, ready=ready, hidden=hidden)
    known = sampled(idle, depth)
    estimate = stall_us(wait, known, depth)
    assert has_device_clock(known, depth)
    assert np.array_equal(estimate[np.isfinite(known)], idle[np.isfinite(known)]), "what was measured stays"
    # The blocking ones are all known. Of the ready ones n were timed: three standard errors of a share that is 0 or 1
    # under unequal waits are about 2 / √n of what these waited.
    timed = max(1, int(np.sum(np.isfinite(known) & (depth >= 1))))
    assert abs(np.sum(estimate) - np.sum(idle)) <= 2 / np.sqrt(timed) * np.sum(wait[depth >= 1])
    assert (estimate <= wait).all()


def test_a_ready_batch_that_the_device_waited_for_is_not_taken_for_nothing() -> None:
    wait, depth = np.full(STEPS, 4_000.0), np.full(STEPS, 3.0)
    assert np.mean(stall_us(wait, sampled(wait, depth), depth)) == 4_000


def test_one_long_wait_among_the_timed_steps_does_not_count_sixteen_times() -> None:
    """The plain mean of the timed steps would: a ratio knows how long the others really waited."""
    wait, depth = np.full(STEPS, 1_000.0), np.full(STEPS, 2.0)
    wait[EVERY * 7] = 2_000_000
    known = sampled(wait, depth)
    plain = np.where(np.isnan(known), np.nanmean(known), known)
    assert np.sum(plain) > 5 * np.sum(wait)
    assert np.sum(stall_us(wait, known, depth)) == np.sum(wait)


def test_the_kinds_do_not_speak_for_each_other() -> None:
    """Empty queues stall the device for all of the wait, ready batches for nothing of it."""
    depth = np.tile([0.0, 3.0], STEPS // 2)
    wait = np.where(depth >= 1, 2_000.0, 50_000.0)
    idle = np.where(depth >= 1, 0.0, wait)
    known = sampled(idle, depth)
    known[1::EVERY] = 0.0
    assert np.sum(stall_us(wait, known, depth)) == np.sum(idle)


def test_without_a_device_the_wait_is_the_hosts() -> None:
    wait, _, depth = made(1, ready=0.5, hidden=0.5)
    nothing = np.full(STEPS, np.nan)
    assert not has_device_clock(nothing, depth)
    assert np.array_equal(stall_us(wait, nothing, depth), wait)


@pytest.mark.parametrize(("kept", "is_enough"), [(1.0, True), (0.9, True), (0.5, False), (0.0, False)])
def test_steps_that_could_block_must_mostly_have_been_timed(kept: float, is_enough: bool) -> None:
    wait, idle, depth = made(2, ready=0.5, hidden=0.0)
    known = sampled(idle, depth)
    blocking = np.flatnonzero(~(depth >= 1))
    known[blocking[int(kept * len(blocking)) :]] = np.nan
    assert has_device_clock(known, depth) is is_enough
    if not is_enough:
        assert np.array_equal(stall_us(wait, known, depth), wait)


def test_ready_steps_must_have_been_sampled_where_there_are_many() -> None:
    depth = np.concatenate([np.zeros(20), np.full(20, 2.0)])
    known = np.where(depth >= 1, np.nan, 5.0)
    assert has_device_clock(known, depth), "20 steps may lie between two that are timed"
    depth = np.concatenate([np.zeros(20), np.full(500, 2.0)])
    assert not has_device_clock(np.where(depth >= 1, np.nan, 5.0), depth)


def test_a_few_ready_steps_of_which_none_was_timed_count_in_full() -> None:
    depth = np.array([0.0] * 20 + [2.0] * 3)
    wait = np.full(23, 1_000.0)
    known = np.where(depth >= 1, np.nan, 0.0)
    assert stall_us(wait, known, depth).tolist() == [0.0] * 20 + [1_000.0] * 3, "the most that they can have lost"


def test_no_step_has_no_clock() -> None:
    assert not has_device_clock(np.empty(0), np.empty(0))
