"""CPU time that grows with the number of busy processes: read where a run shows it, feared where it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.app.made_facts import made_run
from underfed_server.advice.prediction import simulate as simulation
from underfed_server.advice.prediction.company import busy_beside
from underfed_server.advice.prediction.predict import Predictor, make_predictor
from underfed_server.advice.prediction.processor import Compute, Processor, Request
from underfed_server.advice.prediction.simulate import (
    Batch,
    Cores,
    HandoverTimes,
    LoopInputs,
    SimulatedSetting,
    Work,
    simulate,
)
from underfed_server.facts.record import RunFacts

TWO: dict[str, Any] = {"usable_cores": 2.0, "cpu_slowdown": ((1.0, 1.0), (2.0, 1.0))}
GROWTH = 0.42
"""168 ms of CPU in one process, 239 in each of two."""

SEEDS = (0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in (1, 2)))
"""Of loops by chance: that one is as predicted is asked each time, that others are in ``make soak``."""


def in_turns(growth: float, seed: int = 0, batches: int = 400, noise: float = 0.05, **changes: Any) -> RunFacts:
    """Two workers, of which for stretches of 20 batches one loads, and for as many both do; the loop sleeps."""
    chance = np.random.default_rng(seed)
    both = np.arange(batches) // 20 % 2 == 1
    alone_ms = 100.0 * np.exp(noise * chance.standard_normal(batches))
    load_ms = alone_ms * np.where(both, 1 + growth, 1.0)
    start_ms, now = np.zeros(batches), np.zeros(2)
    for batch in range(batches):
        worker = batch % 2 if both[batch] else 0
        if not both[batch] or (batch and not both[batch - 1]):
            now[:] = now.max()
        start_ms[batch] = now[worker]
        now[worker] += load_ms[batch]
    usual: dict[str, Any] = {
        "wait_ms": 60.0,
        "work_ms": 20.0,
        "num_workers": 2,
        "process_cores": 0.02,
        "workers_cores": 1.5,
    }
    facts = made_run(
        steps=batches, load_cpu_ms=100.0, queue_depth=0.0, **{**usual, "busy_cores": 1.52, **TWO, **changes}
    )
    (rank,) = facts.ranks
    columns = dict.fromkeys(("load_us", "cpu_us", "process_cpu_us"), load_ms * 1000.0)
    rows = replace(rank.batches, start_us=start_ms * 1e3, **columns)
    return replace(facts, ranks=(replace(rank, batches=rows),))


def predictor(facts: RunFacts) -> Predictor:
    assert facts.loader is not None
    return make_predictor(facts.ranks[0], facts.loader, facts.host)


@pytest.mark.parametrize("growth", [0.0, 0.2, GROWTH])
@pytest.mark.parametrize("seed", SEEDS)
def test_growth_is_read_off_loads_with_and_without_company(growth: float, seed: int) -> None:
    company = predictor(in_turns(growth, seed)).workload.company
    assert company.is_seen
    assert company.lowest - 0.03 <= growth <= company.highest + 0.03
    assert company.growth == pytest.approx(growth, abs=0.06)


def test_company_counts_processes_that_compute() -> None:
    facts = in_turns(0.0, noise=0.0)
    (rank,) = facts.ranks
    beside = busy_beside(rank, ())
    assert np.median(beside[:20]) == pytest.approx(0.0, abs=0.1)
    assert np.median(beside[22:38]) == pytest.approx(1.0, abs=0.1)
    asleep = replace(rank, batches=replace(rank.batches, cpu_us=rank.batches.cpu_us / 10))
    assert np.median(busy_beside(asleep, ())[22:38]) == pytest.approx(0.1, abs=0.05)
    assert np.median(busy_beside(rank, (asleep,))[:20]) > 0.05


def test_what_the_calibration_says_is_not_counted_twice() -> None:
    facts = in_turns(GROWTH, cpu_slowdown=((1.0, 1.0), (2.0, 1 + GROWTH)))
    assert predictor(facts).workload.company.growth == pytest.approx(0.0, abs=0.05)


def test_the_same_number_all_the_time_shows_nothing() -> None:
    facts = made_run(wait_ms=60.0, work_ms=20.0, load_cpu_ms=60.0, process_cores=1.0, busy_cores=1.0, **TWO)
    company = predictor(facts).workload.company
    assert (company.is_seen, company.growth) == (False, 0.0)
    assert company.highest > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_load_that_grows_with_company_is_predicted_as_it_goes(seed: int) -> None:
    """From two workers to one and to none, as the same loop goes with loads that really grow."""
    facts = in_turns(GROWTH, seed)
    known = predictor(facts)

    def truth(setting: SimulatedSetting) -> float:
        cores = Cores(2.0, lambda _busy: 1.0, 0.0, lambda busy: 1 + GROWTH * max(0.0, busy - 1))
        works = known.workload.works if setting.num_workers else known.workload.works_alone
        inputs = LoopInputs([Batch(100_000, 0)], works, known.workload.handover, cores)
        return simulate(inputs, setting).step_us

    for setting in (SimulatedSetting(1), SimulatedSetting(0)):
        gain = known.predict(setting)
        assert gain.low <= truth(SimulatedSetting(2)) / truth(setting) <= gain.high
        assert gain.speedup == pytest.approx(truth(SimulatedSetting(2)) / truth(setting), rel=0.08)


def without_workers(**host: Any) -> RunFacts:
    facts = made_run(wait_ms=168.0, work_ms=20.0, load_cpu_ms=168.0, process_cores=0.9, busy_cores=0.9, **TWO)
    return replace(facts, host=facts.host.model_copy(update=host))


def test_a_run_without_workers_fears_the_memory_of_its_host() -> None:
    """Two workers gain × 2 if loading stays within the caches, and × 1.4 if it does not."""
    calm = predictor(without_workers()).predict(SimulatedSetting(2))
    assert calm.low < 168 / 239 * calm.speedup
    memory = {"memory_slowdown": [(1.0, 1.0), (2.0, 2.0)], "memory_bytes_per_s": 5e9}
    feared = predictor(without_workers(**memory)).predict(SimulatedSetting(2))
    assert feared.speedup == pytest.approx(calm.speedup, rel=0.01)
    assert feared.high == pytest.approx(calm.high, rel=0.05)
    assert feared.low < 0.9 * calm.low
    huge = without_workers(**memory)
    assert huge.loader is not None
    huge = replace(huge, loader=huge.loader.model_copy(update={"batch_bytes": 200_000_000}))
    assert predictor(huge).workload.company.highest > predictor(without_workers(**memory)).workload.company.highest


def recorded(
    growth: float, workers: int, factor: int, cores: float, seed: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[RunFacts, LoopInputs]:
    """A loop that is simulated, as an agent sees it: loads of 80 ms, more or less, that grow with company."""
    alone_us = np.random.default_rng(seed).gamma(6.0, 80_000 / 6, 900)
    of_cores = Cores(cores, lambda _busy: 1.0, 0.0, lambda busy: 1 + growth * max(0.0, busy - 1))
    handover = HandoverTimes(feed_us=300, receive_us=500, receive_wait_us=500, busy_wait_us=2_000)
    inputs = LoopInputs([Batch(us, 0) for us in alone_us], [Work(9_000, 36_000)], handover, of_cores)
    rows: list[tuple[float, float, float]] = []

    def seen(processor: Processor, batch: Batch) -> Iterator[Request]:
        begun, before = processor.now, processor.delayed
        yield Compute(batch.cpu_us)
        delay = processor.delayed - before
        yield Compute(delay)
        rows.append((begun, processor.now - begun, batch.cpu_us + delay))

    loops: list[Any] = []
    with monkeypatch.context() as patched:
        patched.setattr(simulation, "_load", seen)
        patched.setattr(simulation, "_outcome", lambda found, _skip, _steps: loops.extend(found))
        simulate(inputs, SimulatedSetting(workers, factor), 500)
    asked, got = np.array(loops[0].asked[10:491]), np.array(loops[0].got[10:490])
    start_us, load_us, cpu_us = np.array(rows[10:490]).T
    step_us = np.diff(asked)
    used, trained = float(np.sum(cpu_us) / np.sum(step_us)), float(9_500 / np.mean(step_us))
    facts = made_run(
        steps=480, num_workers=workers, prefetch_factor=factor, load_cpu_ms=80.0, queue_depth=0.0, usable_cores=cores,
        process_cores=trained, workers_cores=used, busy_cores=used + trained, cpu_slowdown=((1.0, 1.0), (cores, 1.0)),
    )  # fmt: skip
    rank = facts.ranks[0]
    steps = replace(rank.steps, start_us=asked[:-1], step_us=step_us, data_wait_us=got - asked[:-1])
    columns = {"start_us": start_us, "load_us": load_us, "cpu_us": cpu_us, "process_cpu_us": cpu_us + 300}
    return replace(facts, ranks=(replace(rank, steps=steps, batches=replace(rank.batches, **columns)),)), inputs


@pytest.mark.parametrize("growth", [0.0, pytest.param(0.2, marks=pytest.mark.soak), GROWTH])
@pytest.mark.parametrize(
    ("workers", "factor", "cores", "to"),
    [(1, 2, 2.0, 2), (2, 2, 2.0, 1), pytest.param(2, 1, 2.0, 1, marks=pytest.mark.soak)],
)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_loop_whose_loads_differ_and_grow_is_predicted_within_its_interval(
    growth: float, workers: int, factor: int, cores: float, to: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts, inputs = recorded(growth, workers, factor, cores, seed, monkeypatch)
    gain = predictor(facts).predict(SimulatedSetting(to))
    paces = [simulate(inputs, one, 500).step_us for one in (SimulatedSetting(workers, factor), SimulatedSetting(to))]
    assert gain.low <= paces[0] / paces[1] <= gain.high


@pytest.mark.parametrize("seed", SEEDS)
def test_loads_that_differ_by_what_they_load_are_not_taken_for_company(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long load outlasts its company, and holds the others up: by itself that looks like growth."""
    facts, _ = recorded(0.0, 4, 1, 4.0, seed, monkeypatch)
    company = predictor(facts).workload.company
    assert company.growth < 0.06
    assert not company.is_seen or company.lowest == 0.0


@pytest.mark.parametrize("workers", [1, 2])
def test_only_loads_that_compute_together_slow_each_other(workers: int) -> None:
    cores = Cores(2.0, lambda _busy: 1.0, 0.0, lambda busy: 1 + GROWTH * (busy - 1))
    inputs = LoopInputs([Batch(100_000, 0)], [Work(0, 1_000)], HandoverTimes(), cores)
    expected = 100.0 if workers == 1 else 142.0 / 2
    assert simulate(inputs, SimulatedSetting(workers)).step_us / 1e3 == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("growth", [0.3, pytest.param(0.6, marks=pytest.mark.soak), 0.8])
@pytest.mark.parametrize(
    ("workers", "factor", "to"),
    [(1, 2, 2), (4, 2, 1), *(pytest.param(n, 1, 2, marks=pytest.mark.soak) for n in (3, 4))],
)
@pytest.mark.parametrize("seed", SEEDS)
def test_growth_beyond_any_that_was_seen_lies_inside_or_has_no_figure(
    growth: float, workers: int, factor: int, to: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loads of which twice as many take up to 1.8 times as long, in runs that do not show it."""
    facts, inputs = recorded(growth, workers, factor, 2.0, seed, monkeypatch)
    gain = predictor(facts).predict(SimulatedSetting(to))
    paces = [simulate(inputs, one, 500).step_us for one in (SimulatedSetting(workers, factor), SimulatedSetting(to))]
    assert gain.low <= paces[0] / paces[1] <= gain.high
