"""What is said of recorded real runs is what their programs saw by their own clocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.store.posting import post
from tests.recorded_runs import loops_of, names, truth_of, windows_of
from underfed_server.diagnose import Diagnoser, LoaderDiagnoses
from underfed_server.model import Diagnosis, LoaderLine
from underfed_server.store.store import Store

TIMED = [name for name in names() if any(each["spent_s"] for each in loops_of(name).values())]
"""A framework that requests its batches itself is not timed by its program."""
CLOCKS = 0.08
"""Two clocks of one loop, read a few lines apart, on a machine that has other work."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(f"sqlite:///{tmp_path}/underfed.db")
    yield store
    store.close()


def judged(store: Store, name: str) -> Diagnosis:
    windows = windows_of(name)
    post(store, windows)
    Diagnoser()(store, windows[0]["run_id"])
    found = store.diagnosis(windows[0]["run_id"])
    assert found is not None
    return found


def lines(found: Diagnosis) -> dict[str, LoaderLine]:
    return {line.loader: line for line in found.loaders}


@pytest.mark.parametrize("name", [name for name in TIMED if len(truth_of(name)) != 8])
def test_each_loader_lost_what_its_program_waited_for_it(name: str, store: Store) -> None:
    found = lines(judged(store, name))
    for loader, truth in loops_of(name).items():
        line = found[loader]
        assert line.steps == truth["steps"]
        assert line.role == truth["role"]
        assert line.hours_lost * 3600 == pytest.approx(truth["waited_s"], rel=CLOCKS, abs=0.1)


@pytest.mark.parametrize("name", names())
def test_the_loaders_of_a_run_add_up_to_it(name: str, store: Store) -> None:
    found = judged(store, name)
    loops: dict[int, float] = {}
    for line in found.loaders:
        loops[line.loop] = max(loops.get(line.loop, 0.0), line.share_of_run_fraction)
        assert found.hours_used is not None
        assert line.hours_lost <= line.share_of_run_fraction * found.hours_used * 1.001
    assert sum(loops.values()) == pytest.approx(1)
    assert found.hours_lost == pytest.approx(sum(line.hours_lost for line in found.loaders))


def test_the_headline_is_the_loader_that_most_of_the_run_goes_to_waiting_for(store: Store) -> None:
    found, truth = judged(store, "three_loaders"), loops_of("three_loaders")
    spent_s = sum(each["spent_s"] for each in truth.values())
    shares = {name: each["waited_s"] / spent_s for name, each in truth.items()}
    worst = max(shares, key=lambda name: shares[name])
    assert found.loader == worst == "held_out"
    told = re.fullmatch(r"(\d+)% of the run goes to waiting for a validation loader without workers\.", found.sentence)
    assert told and int(told[1]) / 100 == pytest.approx(shares[worst], abs=0.015)
    for name, line in lines(found).items():
        assert line.share_of_run_fraction == pytest.approx(truth[name]["spent_s"] / spent_s, abs=0.015)
        assert line.data_stall_fraction == pytest.approx(truth[name]["waited_s"] / truth[name]["spent_s"], abs=0.03)


def test_a_loader_that_is_chosen_is_judged_by_its_own_steps(store: Store) -> None:
    found, truth = judged(store, "three_loaders"), loops_of("three_loaders")
    said = {name: LoaderDiagnoses().read(store, found.run_id, name) for name in truth}
    assert [each.level for each in said.values()] == ["limited", "bound", "bound"]
    for name, each in said.items():
        share = truth[name]["waited_s"] / truth[name]["spent_s"]
        told = re.fullmatch(r"The (training loop|validation) waits for data (\d+)% of every step\.", each.sentence)
        assert told and int(told[2]) / 100 == pytest.approx(share, abs=0.03)
        assert {advice.loader for advice in each.advice} <= {name}


def test_time_that_a_validation_takes_within_an_epoch_is_not_the_trainings(store: Store) -> None:
    found = lines(judged(store, "with_trainer"))
    train, validation = found["loader-1"], found["loader-2"]
    (truth,) = truth_of("with_trainer")
    assert [train.steps, validation.steps] == [each["steps"] for each in truth["loaders"]]
    assert train.share_of_run_fraction + validation.share_of_run_fraction == pytest.approx(1)
    # Loading takes 2 × 8 ms and 4 × 12 ms, a step of the training 45 ms more and one of the evaluation 10 ms.
    assert train.share_of_run_fraction == pytest.approx(180 * 61 / (180 * 61 + 60 * 58), abs=0.06)


def test_a_straggler_costs_each_rank_what_it_waits_itself(store: Store) -> None:
    found, told = judged(store, "straggler"), truth_of("straggler")
    slow = told[0]["slow_rank"]
    waited_s = next(each["loaders"][0]["waited_s"] for each in told if each["rank"] == slow)
    assert [rank.rank for rank in found.ranks if rank.straggler] == [slow]
    assert [line.rank for line in found.loaders] == [slow]
    assert found.hours_lost is not None and found.hours_used is not None
    assert found.hours_lost * 3600 == pytest.approx(len(told) * waited_s, rel=CLOCKS)
    assert found.hours_used * 3600 == pytest.approx(sum(each["loaders"][0]["spent_s"] for each in told), rel=CLOCKS)
    for advice in found.advice:
        assert advice.predicted_speedup is not None
        assert found.hours_used * (1 - 1 / advice.predicted_speedup) <= found.hours_lost * 1.05


@pytest.mark.parametrize(("name", "words"), [("short_run", "every step"), ("with_accelerate", "the time")])
def test_of_every_step_is_said_where_every_step_waits(name: str, words: str, store: Store) -> None:
    assert judged(store, name).sentence.endswith(f" of {words}.")
