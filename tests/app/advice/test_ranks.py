"""Ranks that share a host, and ranks that wait for each other in each step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.app.advice.made_case import made_case, made_verdict, of
from tests.app.made_facts import made_run, starved
from underfed_server.advice.advise import advise
from underfed_server.advice.prediction.predict import make_predictor
from underfed_server.advice.prediction.ranks import Ranks
from underfed_server.advice.prediction.simulate import (
    Batch,
    Cores,
    HandoverTimes,
    LoopInputs,
    SimulatedSetting,
    Work,
    simulate,
)
from underfed_server.diagnosis.judge import judge
from underfed_server.facts.record import RunFacts


def cores(usable: float) -> Cores:
    return Cores(usable=usable, slowdown=lambda _busy: 1.0)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_ranks_on_one_host_divide_its_cores(ranks: int) -> None:
    """Each rank loads 80 ms of CPU and computes nothing else: four cores do so many steps, whatever the workers."""
    inputs = LoopInputs([Batch(80_000, 0)], [Work(0, 10_000)], HandoverTimes(), cores(4.0), ranks=ranks)
    assert simulate(inputs, SimulatedSetting(4)).step_us / 1e3 == pytest.approx(80 * ranks / 4, rel=0.03)


def test_a_few_ranks_on_their_share_of_the_cores_go_as_all_do() -> None:
    eight = LoopInputs([Batch(80_000, 5_000)], [Work(5_000, 10_000)], HandoverTimes(), cores(8.0), ranks=8)
    few = Ranks(on_host=8).share(cores(8.0))
    two = replace(eight, cores=few, ranks=Ranks(on_host=8).simulated)
    assert (few.usable, two.ranks) == (2.0, 2)
    paces = [simulate(inputs, SimulatedSetting(2)).step_us for inputs in (eight, two)]
    assert paces[0] == pytest.approx(paces[1], rel=0.02)


def test_ranks_that_synchronise_go_at_the_pace_of_the_one_that_waits() -> None:
    """Each rank has one load of 200 ms in twelve of nothing, each elsewhere: four ranks meet one in each third step."""
    batches = [Batch(0, 200_000)] + [Batch(0, 0)] * 11
    alone = LoopInputs(batches, [Work(0, 50_000)], HandoverTimes(), cores(8.0))
    together = replace(alone, ranks=4, is_in_step=True, steps_ahead=0)
    assert simulate(alone, SimulatedSetting(0)).step_us / 1e3 == pytest.approx(50 + 200 / 12, rel=0.01)
    outcome = simulate(together, SimulatedSetting(0))
    assert outcome.step_us / 1e3 == pytest.approx(50 + 200 / 3, rel=0.01)
    assert outcome.data_wait_us / 1e3 == pytest.approx(200 / 3, rel=0.01)


def test_what_other_ranks_use_now_is_not_taken_from_the_change() -> None:
    """Eight cores, two ranks that use one each. One rank's others are the other rank alone."""
    facts = starved(busy_cores=2.0, usable_cores=4.0, load_cpu_ms=300.0, wait_ms=300.0)
    two = replace(facts, ranks=tuple(replace(facts.ranks[0], rank=rank, hostname="a") for rank in range(2)))
    case = made_case(two, made_verdict(no_workers=0.7))
    assert case.predictor is not None
    known = case.predictor.workload
    assert (known.cores.others, known.ranks.simulated, known.cores.usable) == (0.0, 2, 4.0)
    # 350 ms without workers; 350 ms of CPU a step and rank on four cores for two of them.
    assert case.predictor.quick(SimulatedSetting(2)) == pytest.approx(350 / 175, rel=0.06)


def late_in_turn(count: int, seed: int = 0, work_ms: float = 100.0, slow_ms: float = 500.0) -> RunFacts:
    """Loads of 60 ms, one in a hundred 300 ms longer than it is waited for, two workers; each rank waits for all."""
    chance = np.random.default_rng(seed)
    slow = chance.random((count, 1_000)) < 0.01
    waits = np.where(slow, slow_ms, 0.0)
    step_us = (work_ms + waits.max(axis=0)) * 1e3
    ranks = []
    for rank in range(count):
        made = made_run(
            steps=1_000, wait_ms=list(waits[rank]), work_ms=work_ms, num_workers=2, process_cores=0.05, queue_depth=0.0,
            load_ms=list(np.where(slow[rank], slow_ms + 300.0, 60.0)), usable_cores=16.0, busy_cores=1.0,
            workers_cores=0.1,
        )  # fmt: skip
        (one,) = made.ranks
        steps = replace(one.steps, step_us=step_us, start_us=np.cumsum(step_us) - step_us)
        ranks.append(replace(one, rank=rank, hostname=f"node{rank // 8}", steps=steps))
    return replace(made, ranks=tuple(ranks))


def test_stalls_of_single_ranks_are_cured_for_the_whole_job() -> None:
    facts = late_in_turn(32)
    verdict = judge(facts)
    assert verdict.bound == "data" and verdict.steps_per_s and verdict.instant_data_steps_per_s
    best = of("prefetch_factor", advise(facts, verdict))
    assert best.ceiling == pytest.approx(verdict.instant_data_steps_per_s / verdict.steps_per_s)
    assert best.ceiling is not None and best.ceiling > 2
    # A queue of 16 batches lasts for 1.6 s of work: no load is longer than that.
    assert best.settings["prefetch_factor"] in (4, 8)
    assert (best.predicted_speedup or best.high or 0.0) > 1.5


def test_a_rank_by_itself_is_predicted_as_before() -> None:
    facts = starved()
    assert facts.loader is not None
    alone = make_predictor(facts.ranks[0], facts.loader, facts.host)
    assert (alone.workload.ranks.simulated, alone.workload.ranks.is_in_step) == (1, False)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 6))])
@pytest.mark.parametrize("count", [1, 2, 8, 32])
def test_what_instant_data_would_gain_is_one_value(count: int, seed: int) -> None:
    """As the verdict says it, as a prediction is held below it, and as a cure without one is."""
    chance = np.random.default_rng(seed)
    facts = late_in_turn(count, seed, work_ms=chance.uniform(20.0, 200.0), slow_ms=chance.uniform(100.0, 1_500.0))
    verdict = judge(facts)
    assert verdict.instant_data_steps_per_s and verdict.steps_per_s
    said = verdict.instant_data_steps_per_s / verdict.steps_per_s
    case = made_case(facts, made_verdict(slow_sampler=0.3))
    assert case.predictor is not None
    assert [case.predictor.ceiling, case.ceiling(case.rank).speedup] == pytest.approx([said, said])
    assert case.predictor.highest == case.ceiling(case.rank).highest >= said * (1 - 1e-9)
