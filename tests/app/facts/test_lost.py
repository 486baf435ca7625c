"""What instant data would have saved, compared with loops that were simulated with and without waits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.app.device_loop import Column, Recorded, loop
from underfed_server.facts.lost import input_lost_us, steps_ahead
from underfed_server.store.columns.stall import stall_us

STEPS = 2_000


def lost(recorded: Recorded, work: Column, *, timed_every: int = 1) -> float | None:
    """In all steps together, from what an agent that times every n-th step would have seen."""
    timed = np.arange(len(recorded.step)) % timed_every == 0
    idle, work = (np.where(timed, column, np.nan) for column in (recorded.idle, work))
    depth = np.full(len(timed), 2.0 if timed_every > 1 else 0.0)
    stalled = float(np.mean(stall_us(recorded.wait, idle, depth)))
    mean = input_lost_us(recorded.step, recorded.step - recorded.wait, stalled, idle, work)
    return None if mean is None else mean * len(timed)


def made(chance: np.random.Generator, wait_ms: float, host_ms: float, work_ms: float) -> Sequence[Column]:
    return [chance.gamma(4.0, ms / 4, STEPS) * 1e3 if ms else np.zeros(STEPS) for ms in (wait_ms, host_ms, work_ms)]


CASES: dict[str, tuple[float, float, float, int]] = {
    "hidden behind the device": (5, 2, 20, 0),
    "half hidden": (15, 2, 14, 0),
    "starved": (40, 3, 10, 0),
    "waits delay a busy host": (5, 8, 11, 0),
    "the host waits for the device now and then": (12, 2, 12, 10),
    "nothing to wait for": (0, 3, 10, 0),
}


@pytest.mark.parametrize("launches_last", [False, True])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_the_replay_finds_what_instant_data_would_have_saved(name: str, seed: int, launches_last: bool) -> None:
    *times, syncs_every = CASES[name]
    wait, host, work = made(np.random.default_rng(seed), *times)
    recorded = loop(wait, host, work, syncs_every=syncs_every, launches_last=launches_last)
    instant = loop(np.zeros(STEPS), host, work, syncs_every=syncs_every, launches_last=launches_last)
    truth, whole = recorded.end_us - instant.end_us, np.sum(recorded.step)
    exact, found = lost(recorded, work), lost(recorded, recorded.work_seen)
    assert exact is not None and found is not None
    assert exact == pytest.approx(truth, abs=0.04 * whole)
    # Where the host computes first, the device's pause before the work begins is taken for work: less is found.
    assert np.sum(recorded.idle) - 1 <= found <= min(truth + 0.04 * whole, np.sum(wait) + 1)
    if not launches_last:
        assert found == pytest.approx(truth, abs=0.06 * whole)


@pytest.mark.parametrize("name", CASES)
def test_a_sixteenth_of_the_steps_is_enough(name: str) -> None:
    *times, syncs_every = CASES[name]
    wait, host, work = made(np.random.default_rng(1), *times)
    recorded = loop(wait, host, work, syncs_every=syncs_every)
    truth = recorded.end_us - loop(0 * wait, host, work, syncs_every=syncs_every).end_us
    found = lost(recorded, recorded.work_seen, timed_every=16)
    # 125 steps speak for 2,000, whose waits and work spread by half of their mean.
    assert found == pytest.approx(truth, abs=0.08 * np.sum(recorded.step))


def test_a_wait_that_the_device_works_through_costs_nothing() -> None:
    wait, host, work = (np.full(STEPS, us) for us in (5_000.0, 1_000.0, 20_000.0))
    recorded = loop(wait, host, work, ahead=4)
    assert np.sum(wait) > 300 * np.sum(recorded.idle)
    assert lost(recorded, recorded.work_seen) == pytest.approx(np.sum(recorded.idle), abs=1_000)


def test_a_wait_may_cost_more_than_the_device_idled_in_it() -> None:
    """Work 10, wait 5, other host work 8 before it: idle in ``next()`` never, and yet 13 a step where 10 would do."""
    wait, host, work = (np.full(STEPS, us) for us in (5_000.0, 8_000.0, 10_000.0))
    recorded = loop(wait, host, work, launches_last=True)
    assert np.sum(recorded.idle) <= 0.01 * np.sum(recorded.step)
    assert lost(recorded, work) == pytest.approx(3_000 * STEPS, rel=0.01)


def test_where_the_host_waits_for_the_device_in_every_step_the_idle_time_says_all() -> None:
    wait, host, work = (np.full(STEPS, us) for us in (5_000.0, 1_000.0, 10_000.0))
    recorded = loop(wait, host, work, syncs_every=1)
    assert np.isnan(recorded.work_seen).all()
    assert lost(recorded, recorded.work_seen) is None
    assert np.mean(recorded.idle) == 5_000


def test_without_a_step_the_loss_is_not_known() -> None:
    nothing = np.empty(0)
    assert input_lost_us(nothing, nothing, 0.0, nothing, nothing) is None


@pytest.mark.parametrize("seed", range(20))
def test_a_few_uneven_steps_are_replayed_as_host_and_device_take_turns(seed: int) -> None:
    """The device begins a step's work when the host has reached the step's end and the work before is done."""
    chance = np.random.default_rng(seed)
    wait, rest, work = chance.exponential(10_000.0, (3, 6))

    def finish(host: Column) -> float:
        done = 0.0
        for reached, its_work in zip(np.cumsum(host), work, strict=True):
            done = max(float(reached), done) + float(its_work)
        return done

    expected = (finish(wait + rest) - finish(rest)) / len(work)
    found = input_lost_us(wait + rest, rest, 0.0, np.zeros(len(work)), work)
    assert found == pytest.approx(min(expected, float(np.mean(wait))))


def test_a_host_that_is_never_ahead_may_still_launch_a_step_beside_the_one_before() -> None:
    assert steps_ahead(np.full(50, 100e3), np.full(50, 60e3)) == 1


@pytest.mark.parametrize("seed", range(5))
def test_the_host_is_as_far_ahead_as_steps_are_pending_when_it_launches(seed: int) -> None:
    chance = np.random.default_rng(seed)
    host, work = chance.exponential(10_000.0, (2, 40))
    done: list[float] = []
    most = 1
    for reached, its_work in zip(np.cumsum(host), work, strict=True):
        most = max(most, sum(each > reached for each in done))
        done.append(max(float(reached), done[-1] if done else 0.0) + float(its_work))
    assert steps_ahead(host, work) == most
