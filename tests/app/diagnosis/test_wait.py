"""The parts of the wait, compared with what the same loop loses without the injected fault."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.app.diagnosis.loop import Played
from tests.app.made_facts import made_run
from underfed_server.diagnosis.wait import Wait, split_wait
from underfed_server.facts.record import RunFacts


def wait_of(facts: RunFacts) -> Wait:
    return split_wait(facts.ranks[0], facts.loader)


def total(wait: Wait) -> float:
    parts = wait.startup, wait.sampler, wait.delivery, wait.pin, wait.held_back, wait.loading
    return sum(part or 0.0 for part in parts)


@pytest.mark.parametrize("delivery_ms", [2.0, 10.0, 40.0])
def test_delivery_is_what_the_loop_saves_when_receiving_takes_no_time(delivery_ms: float) -> None:
    played = Played(load_ms=30, work_ms=20, delivery_ms=delivery_ms)
    assert wait_of(played.facts()).delivery == pytest.approx(played.cost_of(delivery_ms=0.0), abs=0.02)


def test_batches_of_several_epochs_are_distinguished_though_they_have_one_number() -> None:
    played = Played(load_ms=30, work_ms=20, delivery_ms=10.0, epochs=4, epoch_steps=75)
    assert wait_of(played.facts()).delivery == pytest.approx(played.cost_of(delivery_ms=0.0), abs=0.02)


@pytest.mark.parametrize("delivery_ms", [1.0, 5.0, 20.0])
def test_delivery_costs_nothing_where_workers_cannot_keep_up_anyway(delivery_ms: float) -> None:
    played = Played(load_ms=80, work_ms=15, delivery_ms=delivery_ms)
    assert played.cost_of(delivery_ms=0.0) < 0.01
    wait = wait_of(played.facts())
    assert wait.delivery is not None and wait.delivery < 0.02
    assert wait.loading > 0.4


@pytest.mark.parametrize("pin_ms", [25.0, 40.0, 90.0])
def test_the_pin_thread_costs_what_it_is_slower_than_the_loop(pin_ms: float) -> None:
    played = Played(load_ms=30, work_ms=20, pin_ms=pin_ms)
    assert wait_of(played.facts()).pin == pytest.approx(played.cost_of(pin_ms=0.0), abs=0.03)


@pytest.mark.parametrize("load_ms", [45.0, 80.0])
def test_what_waits_behind_a_busy_pin_thread_waits_for_it(load_ms: float) -> None:
    """Here a batch that is itself pinned at once, and comes behind three that take long."""
    played = Played(load_ms=[load_ms, 20, 20, 20], work_ms=20, num_workers=4, pin_ms=[2, 50, 50, 50])
    wait = wait_of(played.facts())
    assert wait.pin == pytest.approx(played.cost_of(pin_ms=0.0), abs=0.03)


def test_pinning_beside_the_step_costs_nothing() -> None:
    wait = wait_of(Played(load_ms=30, work_ms=20, pin_ms=12.0).facts())
    assert wait.pin is not None and wait.pin < 0.03


@pytest.mark.parametrize("slow_ms", [150.0, 300.0, 900.0])
def test_held_back_is_what_a_slow_batch_costs_that_others_wait_behind(slow_ms: float) -> None:
    played = Played(load_ms=[8.0] * 15 + [slow_ms] + [8.0] * 14, work_ms=20)
    assert wait_of(played.facts()).held_back == pytest.approx(played.cost_of(load_ms=8.0), abs=0.03)


def test_slow_batches_hold_nothing_back_where_the_order_does_not_matter() -> None:
    wait = wait_of(Played(load_ms=[8.0] * 29 + [300.0], work_ms=20, in_order=False).facts())
    assert wait.held_back == 0.0


def test_what_workers_cannot_load_in_time_is_loading_however_uneven_it_is() -> None:
    played = Played(load_ms=[60.0] * 29 + [120.0], work_ms=5)
    wait = wait_of(played.facts())
    assert wait.loading > 5 * (wait.held_back or 0.0)


@pytest.mark.parametrize("sampler_ms", [2.0, 10.0, 40.0])
@pytest.mark.parametrize("num_workers", [0, 2])
def test_sampler_time_costs_what_it_takes(sampler_ms: float, num_workers: int) -> None:
    played = Played(load_ms=30, work_ms=20, sampler_ms=sampler_ms, num_workers=num_workers)
    assert wait_of(played.facts()).sampler == pytest.approx(played.cost_of(sampler_ms=0.0), abs=0.01)


@pytest.mark.parametrize("startup_ms", [100.0, 400.0, 2000.0])
def test_startup_is_the_first_wait_of_an_epoch_beyond_the_others(startup_ms: float) -> None:
    played = Played(load_ms=20, work_ms=20, startup_ms=startup_ms, epochs=10, epoch_steps=30)
    truth = played.cost_of(startup_ms=0.0)
    # The queue is empty, too, and the first load is waited for.
    assert truth * 0.9 < wait_of(played.facts()).startup < truth + 0.05


def test_without_workers_an_epoch_begins_with_a_load_like_any_other() -> None:
    wait = wait_of(Played(load_ms=[20.0, 40.0], work_ms=20, num_workers=0, epochs=10, epoch_steps=5).facts())
    assert wait.startup < 0.01
    assert wait.loading > 0.5


def test_what_a_consumer_waits_for_one_batch_ahead_is_no_slow_delivery() -> None:
    """Accelerate asks for the batch after the one that it hands out, so a step's wait is the next batch's."""
    facts = Played(load_ms=80, work_ms=20).facts()
    rank = facts.ranks[0]
    steps = replace(rank.steps, batch_index=rank.steps.batch_index - 1)
    wait = split_wait(replace(rank, steps=steps), facts.loader)
    assert wait.delivery is not None and wait.delivery < 0.05
    assert wait.loading > 0.4


def test_what_was_not_measured_stays_in_loading() -> None:
    facts = Played(load_ms=30, work_ms=20, delivery_ms=20.0).facts()
    rank = facts.ranks[0]
    lost = replace(rank.batches, batch_index=rank.batches.batch_index + 10_000)
    wait = split_wait(replace(rank, batches=lost), facts.loader)
    assert (wait.delivery, wait.pin, wait.held_back) == (None, None, None)
    assert wait.loading == pytest.approx(rank.stall_fraction)


def test_on_the_devices_clock_only_its_idle_time_is_taken_apart() -> None:
    facts = made_run(wait_ms=40.0, work_ms=60.0, uses_gpu=True, gpu_idle_ms=10.0, sampler_ms=20.0)
    wait = wait_of(facts)
    assert total(wait) == pytest.approx(0.10)
    assert wait.sampler == pytest.approx(0.05)


@pytest.mark.parametrize("seed", range(40))
def test_the_parts_of_any_loop_add_up_to_its_stall(seed: int) -> None:
    wait_parts_add_up(any_loop(np.random.default_rng(seed)).facts())


def wait_parts_add_up(facts: RunFacts) -> None:
    wait = wait_of(facts)
    assert total(wait) == pytest.approx(facts.ranks[0].stall_fraction, abs=1e-9)
    assert min(wait.startup, wait.loading, *(part or 0.0 for part in (wait.sampler, wait.delivery))) >= -1e-12


def any_loop(random: np.random.Generator) -> Played:
    """A loop with several faults at once."""
    return Played(
        load_ms=list(random.lognormal(3, random.uniform(0, 1.5), 97)),
        work_ms=random.uniform(0.5, 60),
        num_workers=int(random.integers(0, 5)),
        prefetch_factor=int(random.integers(1, 4)),
        delivery_ms=random.uniform(0, 10),
        pin_ms=random.uniform(0, 40) if random.random() < 0.4 else None,
        sampler_ms=random.uniform(0, 5),
        startup_ms=random.uniform(0, 300),
        epoch_steps=int(random.integers(5, 60)),
        epochs=int(random.integers(4, 8)),
        in_order=bool(random.random() < 0.8),
    )
