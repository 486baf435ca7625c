"""What is said of recorded real runs is what their programs saw by their own clocks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from tests.app.diagnosis.invariants import contradictions
from tests.app.judged_runs import JudgedRuns, judge
from tests.recorded_runs import loops_of, names, truth_of, windows_of
from tests.recorded_runs.answers import ANSWERS, ASKED, ENDED_AT, answer
from underfed.launcher.verdict import lines_of as last_lines
from underfed_server import figures
from underfed_server.advice.case import make_case
from underfed_server.advice.prediction.predict import Predictor
from underfed_server.advice.prediction.simulate import SimulatedSetting
from underfed_server.api.dependencies import choose
from underfed_server.diagnose import LoaderDiagnoses
from underfed_server.diagnosis.judge import judge as findings_of
from underfed_server.diagnosis.rounded import percent
from underfed_server.earlier import named, read_facts
from underfed_server.facts.pauses import Paused, read_paused
from underfed_server.model import Diagnosis, LoaderLine
from underfed_server.store.columns.lanes import steps_lane
from underfed_server.store.reading.series import read_series
from underfed_server.store.store import Store
from underfed_server.terminal.check import lines_of, stall_limit
from underfed_server.terminal.one_line import line_of
from underfed_server.terminal.rendering import render_diagnosis
from underfed_server.terminal.verdict import word_of

TIMED = [name for name in names() if any(each["spent_s"] for each in loops_of(name).values())]
"""A framework that requests its batches itself is not timed by its program."""
CLOCKS = 0.08
"""Two clocks of one loop, read a few lines apart, on a machine that has other work."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(f"sqlite:///{tmp_path}/underfed.db")
    yield store
    store.close()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JudgedRuns]:
    made = JudgedRuns(tmp_path_factory.mktemp("judged"), partial(windows_of, ended_at=ENDED_AT))
    yield made
    made.close()


def lines(found: Diagnosis) -> dict[str, LoaderLine]:
    return {line.loader: line for line in found.loaders}


@pytest.mark.parametrize("name", [name for name in TIMED if len(truth_of(name)) != 8])
def test_each_loader_lost_what_its_program_waited_for_it(name: str, runs: JudgedRuns) -> None:
    found = lines(runs.diagnosis(name))
    for loader, truth in loops_of(name).items():
        line = found[loader]
        assert line.steps == truth["steps"]
        assert line.role == truth["role"]
        assert line.hours_lost * 3600 == pytest.approx(truth["waited_s"], rel=CLOCKS, abs=0.1)


@pytest.mark.parametrize("name", names())
def test_the_loaders_of_a_run_add_up_to_it_and_no_figures_contradict(name: str, runs: JudgedRuns) -> None:
    found = runs.diagnosis(name)
    assert contradictions(found) == []
    loops: dict[int, float] = {}
    for line in found.loaders:
        loops[line.loop] = max(loops.get(line.loop, 0.0), line.share_of_run_fraction)
        assert found.hours_used is not None
        assert line.hours_lost <= line.share_of_run_fraction * found.hours_used * 1.001
        paused_s = sum(each["lasted_s"] for process in truth_of(name) for each in process["pauses"])
        spent_h = line.share_of_run_fraction * found.hours_used - paused_s / 3600
        if len(found.ranks) == 1 and line.steps > 100 and found.judged_from_step is None:
            assert line.hours_lost / spent_h == pytest.approx(line.data_stall_fraction, abs=0.06), "the same wait"
    assert sum(loops.values()) == pytest.approx(1)
    assert found.hours_lost == pytest.approx(sum(line.hours_lost for line in found.loaders))


def test_the_headline_is_the_loader_that_most_of_the_run_goes_to_waiting_for(runs: JudgedRuns) -> None:
    found, truth = runs.diagnosis("three_loaders"), loops_of("three_loaders")
    spent_s = sum(each["spent_s"] for each in truth.values())
    shares = {name: each["waited_s"] / spent_s for name, each in truth.items()}
    worst = max(shares, key=lambda name: shares[name])
    assert found.loader == worst == "held_out"
    sentence = re.fullmatch(
        r"([\d.]+)% of the time in the loops goes to waiting for data: ([\d.]+)% for the validation loader held_out, "
        r"([\d.]+)% for the training loader captions, ([\d.]+)% for the training loader pictures\.",
        found.sentence,
    )
    assert sentence
    all_of_them = [sum(shares.values()), shares["held_out"], shares["captions"], shares["pictures"]]
    assert [float(share) / 100 for share in sentence.groups()] == pytest.approx(all_of_them, abs=0.015)
    for name, line in lines(found).items():
        assert line.share_of_run_fraction == pytest.approx(truth[name]["spent_s"] / spent_s, abs=0.015)
        assert line.data_stall_fraction == pytest.approx(truth[name]["waited_s"] / truth[name]["spent_s"], abs=0.03)


IN_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}


@pytest.mark.parametrize(
    "name", ["three_loaders", "crash", "straggler", "checkpoints", "paired", "shell_loop", "tuned", "with_trainer"]
)
def test_who_divides_what_was_lost_by_what_it_is_of_finds_a_share_that_is_stated(name: str, runs: JudgedRuns) -> None:
    found, console = runs.diagnosis(name), Console(width=500, highlight=False, force_terminal=False)
    with console.capture() as capture:
        console.print(render_diagnosis(found))
    amount, line = r"([\d.]+) (s|min|h)\b", " ".join(capture.get().split())
    stated = re.search(
        rf"{amount}(?: on each rank \(.*?\))? lost to waiting for data, of {amount}.*?(?:: (\d+)%|[.;])", line
    )
    assert stated is not None
    lost, of = (float(number) * IN_SECONDS[unit] for number, unit in (stated.group(1, 2), stated.group(3, 4)))
    shares = [float(stated[5])] if stated[5] else [float(share) for share in re.findall(r"([\d.]+)%", found.sentence)]
    assert any(abs(100 * lost / of - share) <= 0.7 for share in shares), (stated[0], found.sentence)


def test_the_terminal_says_the_same_of_each_loader(runs: JudgedRuns) -> None:
    found = runs.diagnosis("three_loaders")
    console = Console(width=110, highlight=False, force_terminal=False)
    with console.capture() as capture:
        console.print(render_diagnosis(found))
    printed = capture.get()
    assert found.sentence in " ".join(printed.split())
    for name, line in lines(found).items():
        (row,) = [each for each in printed.splitlines() if each.startswith(f"  {name} ")]
        assert found.hours_used is not None
        shares = (line.hours_lost / found.hours_used, line.share_of_run_fraction)
        assert [part for part in row.split() if part.endswith("%")] == [figures.fraction(share) for share in shares]


def test_a_speed_says_whose_loop_it_is_of(runs: JudgedRuns) -> None:
    lightning, trainer = (figures.speed(runs.diagnosis(name)) or "" for name in ("with_lightning", "with_trainer"))
    assert " in the validation loop over loader-1 alone, as it ran; " in lightning
    assert " in the training loop over loader-1 alone, as it ran; " in trainer
    assert "loop over" not in (figures.speed(runs.diagnosis("crash")) or "")


def test_a_loader_that_is_chosen_is_judged_by_its_own_steps(runs: JudgedRuns) -> None:
    found, truth = runs.diagnosis("three_loaders"), loops_of("three_loaders")
    said = {name: LoaderDiagnoses().read(runs.store("three_loaders"), found.run_id, name) for name in truth}
    assert [each.level for each in said.values()] == ["limited", "bound", "bound"]
    for name, each in said.items():
        share = truth[name]["waited_s"] / truth[name]["spent_s"]
        stated = re.fullmatch(r"The (training loop|validation) waits for data (\d+)% of every step\.", each.sentence)
        assert stated and int(stated[2]) / 100 == pytest.approx(share, abs=0.03)
        assert {advice.loader for advice in each.advice} <= {name}


def test_time_that_a_validation_takes_within_an_epoch_is_not_the_trainings(runs: JudgedRuns) -> None:
    found = lines(runs.diagnosis("with_trainer"))
    train, validation = found["loader-1"], found["loader-2"]
    (truth,) = truth_of("with_trainer")
    assert [train.steps, validation.steps] == [each["steps"] for each in truth["loaders"]]
    # Loading takes 2 × 8 ms and 4 × 12 ms, a step of the training 45 ms more and one of the evaluation 10 ms.
    assert train.share_of_run_fraction / validation.share_of_run_fraction == pytest.approx(
        180 * 61 / (60 * 58), rel=0.25
    )


def test_a_straggler_costs_each_rank_what_it_waits_itself(runs: JudgedRuns) -> None:
    found, truth = runs.diagnosis("straggler"), truth_of("straggler")
    slow = truth[0]["slow_rank"]
    waited_s = next(each["loaders"][0]["waited_s"] for each in truth if each["rank"] == slow)
    assert [rank.rank for rank in found.ranks if rank.straggler] == [slow]
    assert [line.rank for line in found.loaders] == [slow]
    assert found.hours_lost is not None and found.hours_used is not None
    assert found.hours_lost * 3600 == pytest.approx(len(truth) * waited_s, rel=CLOCKS)
    assert found.hours_used * 3600 == pytest.approx(sum(each["loaders"][0]["spent_s"] for each in truth), rel=CLOCKS)
    assert found.sentence == "All 8 ranks lose 42% of every step to rank 5, which waits for data."
    assert [advice.low for advice in found.advice] == sorted(
        (advice.low or 0.0 for advice in found.advice), reverse=True
    )
    first = found.advice[0]
    assert first.change == "fix_rank" and "on one of the others" not in first.diff, "all are here"
    assert first.title == "Copy the data of rank 5 to where the others read theirs", "no host that all of them are on"
    assert "node-03" not in f"{found.why} {first.why}"
    assert first.why.startswith("It loads a batch in 92.9 ms on average, the median rank in 22.1 ms.")
    for advice in found.advice:
        assert advice.predicted_speedup is not None
        assert found.hours_used * (1 - 1 / advice.predicted_speedup) <= found.hours_lost * 1.05


def shown(runs: JudgedRuns, name: str, loader: str, buckets: int = 240) -> Paused:
    run_id = runs.diagnosis(name).run_id
    with runs.store(name).reading() as reader:
        rank = min(reader.ranks(run_id))
        names = ["step_us", "data_wait_us"]
        steps = read_series(reader, run_id, rank, steps_lane(loader), names=names, buckets=buckets)
        assert steps is not None
        paused = read_paused(reader, run_id, rank, loader, steps)
    assert paused is not None
    return paused


@pytest.mark.parametrize("buckets", [500, 40])
def test_pauses_of_a_program_are_where_it_made_them(buckets: int, runs: JudgedRuns) -> None:
    paused = shown(runs, "checkpoints", "train", buckets)
    (truth,) = truth_of("checkpoints")
    assert [each.kind for each in paused.pauses] == [each["what"] for each in truth["pauses"]]
    for seen, made in zip(paused.pauses, truth["pauses"], strict=True):
        assert seen.start_us / 1e6 == pytest.approx(made["after_s"], abs=0.05)
        assert (seen.end_us - seen.start_us) / 1e6 == pytest.approx(made["lasted_s"], abs=0.05)
    made_s = sum(each["lasted_s"] for each in truth["pauses"])
    assert float(np.sum(paused.within.sum)) / 1e6 == pytest.approx(made_s, abs=0.2)
    assert paused.end_us / 1e6 == pytest.approx(truth["wall_s"], abs=0.2)


def test_a_pass_over_another_loader_is_a_pause_of_this_one(runs: JudgedRuns) -> None:
    pauses = shown(runs, "three_loaders", "captions").pauses
    assert [each.label for each in pauses] == ["pictures", *["validation", "pictures"] * 4], "until its last step"
    (validation,) = [each for each in truth_of("three_loaders")[0]["loaders"] if each["loader"] == "held_out"]
    took_s = sum(each.end_us - each.start_us for each in pauses if each.kind == "validation") / 1e6
    assert took_s == pytest.approx(validation["spent_s"] * 4 / 5, rel=CLOCKS)


def test_a_validation_within_an_epoch_is_a_pause_and_no_step(runs: JudgedRuns) -> None:
    paused = shown(runs, "with_trainer", "loader-1")
    assert [each.kind for each in paused.pauses] == ["validation", "validation"], "the last comes after the last step"
    assert not np.any(paused.within.sum)


def test_training_is_a_pause_of_the_validation_but_for_its_passes(runs: JudgedRuns) -> None:
    pauses = shown(runs, "with_trainer", "loader-2").pauses
    assert [(each.kind, each.label) for each in pauses] == [("loader", "loader-1")] * 3


def test_a_process_that_starts_again_is_named(runs: JudgedRuns) -> None:
    pauses = shown(runs, "shell_loop", "loader-1").pauses
    assert [each.label for each in pauses] == ["started again"] * 2


def answered(runs: JudgedRuns, name: str) -> dict[str, Any]:
    return answer(runs.store(name), runs.diagnosis(name).run_id, name)


@pytest.mark.parametrize("name", ASKED)
def test_what_the_page_is_tested_with_is_what_the_service_answers(name: str, runs: JudgedRuns) -> None:
    assert answered(runs, name) == json.loads((ANSWERS / f"{name}.json").read_text())


def test_a_chart_opens_on_the_rank_and_the_loader_that_the_verdict_names(runs: JudgedRuns) -> None:
    straggler, several = answered(runs, "straggler"), answered(runs, "three_loaders")
    assert straggler["rank"] == truth_of("straggler")[0]["slow_rank"]
    assert several["loader"] == "held_out"
    with runs.store("straggler").reading() as reader:
        rank, loader = choose(reader, straggler["run_id"], None, None)
        assert (rank, loader) == (straggler["rank"], straggler["loader"]), "as of workers and timeline"
        assert choose(reader, straggler["run_id"], 2, None).rank == 2


@pytest.mark.parametrize(
    ("name", "words"),
    [("short_run", "every step"), ("with_accelerate", "the time"), ("checkpoints", "the time between pauses")],
)
def test_of_every_step_is_said_where_every_step_waits(name: str, words: str, runs: JudgedRuns) -> None:
    assert re.search(rf" of {words}(?:, and [\d.]+% over all \d+ steps)?\.$", runs.diagnosis(name).sentence)


def predictor_of(runs: JudgedRuns, name: str) -> Predictor:
    facts = read_facts(runs.store(name), runs.diagnosis(name).run_id, named("loader-1"))
    case = make_case(facts, findings_of(facts))
    assert case is not None
    return case.predicting()


def step_s(name: str) -> float:
    (truth,) = loops_of(name).values()
    return float(truth["spent_s"]) / int(truth["steps"])


def test_waits_for_cores_that_others_fill_are_named_so(runs: JudgedRuns) -> None:
    found = runs.diagnosis("crowded_worker")
    assert [each.cause for each in found.causes] == ["cpu_limited"], "nothing is slow about handing over"
    assert (found.why or "").startswith("Other jobs use 1.8 of the 2 cores that this run may use")
    assert "no cause" not in (found.why or "")
    assert found.advice == [] and found.beside_loader is not None
    assert found.beside_loader.startswith("Move the other jobs, which use 1.8 of the 2 cores")


def test_handing_tiny_batches_over_on_cores_that_others_fill_is_not_called_slow(runs: JudgedRuns) -> None:
    """What is known to wait for a core is the busy cores'; of the rest nobody can say what it waits for."""
    found = runs.diagnosis("crowded_tiny")
    assert [each.cause for each in found.causes] == ["cpu_limited"]
    assert (found.why or "").startswith("Other jobs use 1.4 of the 2 cores that this run may use")
    assert (found.why or "").endswith("The rest of the wait has no known cause.")


@pytest.mark.parametrize(("name", "workers", "other"), [
    ("crowded_worker", 0, "crowded_alone"), ("crowded_alone", 1, "crowded_worker"),
])  # fmt: skip
def test_a_prediction_on_crowded_cores_holds_what_the_other_run_showed(
    name: str, workers: int, other: str, runs: JudgedRuns
) -> None:
    predictor = predictor_of(runs, name)
    assert predictor.own_error < 0.05, "it reproduces the run that it was read from"
    found = predictor.predict(SimulatedSetting(workers))
    assert found.low <= step_s(name) / step_s(other) <= found.high
    assert found.high < 1 or workers, "sleeping in the loop is no faster than beside it"
    if not workers:
        assert predictor.rank.step_us / found.high >= predictor.rank.rest_us / 1.3 + 16 * 5_000, "16 samples take 5 ms"


def figures_of(found: Diagnosis, cause: str) -> dict[str, float]:
    (evidence,) = [each.evidence for each in found.causes if each.cause == cause]
    return {row.what: row.value for row in evidence if isinstance(row.value, float)}


def test_others_cost_what_loading_took_longer_than_it_computed(runs: JudgedRuns) -> None:
    """By the program's own clock in its samples, on cores of which it got a fourth of what it wanted."""
    found, (truth,) = runs.diagnosis("crowded_pictures"), truth_of("crowded_pictures")
    loading, loop = truth["loading"], truth["loaders"][0]
    waited = 1 - loading["cpu_s"] / loading["wall_s"]
    stall = loop["waited_s"] / loop["spent_s"]
    (crowded, few) = found.causes
    assert (crowded.cause, few.cause) == ("cpu_limited", "too_few_workers")
    assert crowded.sentence.startswith("Other jobs use 1.7 of the 2 cores that this run may use")
    assert crowded.cost_fraction == pytest.approx(waited * stall, abs=0.08)
    ready = figures_of(found, "cpu_limited")["Ready to run, no core free, of load time that is waited for"]
    assert ready == pytest.approx(waited, abs=0.05)


@pytest.mark.parametrize(("name", "workers", "other"), [
    ("crowded_pictures", 2, "crowded_pictures_by_two"), ("crowded_pictures_by_two", 1, "crowded_pictures"),
])  # fmt: skip
def test_no_gain_is_promised_of_sharing_crowded_cores_with_itself(
    name: str, workers: int, other: str, runs: JudgedRuns
) -> None:
    """Two workers together got hardly more of the cores than one had."""
    found = predictor_of(runs, name).predict(SimulatedSetting(workers))
    assert found.low <= step_s(name) / step_s(other) <= found.high
    assert found.low < 1
    said = runs.diagnosis(name)
    assert [each.change for each in said.advice if each.change == "num_workers" and each.predicted_speedup] == []


def test_joining_is_judged_without_its_waits_for_a_core_and_these_are_others(runs: JudgedRuns) -> None:
    found, (truth,) = runs.diagnosis("joined_volumes"), truth_of("joined_volumes")
    joining, loop = truth["joining"], truth["loaders"][0]
    measured, stall = figures_of(found, "slow_collate"), loop["waited_s"] / loop["spent_s"]
    assert measured["Joining one batch"] == pytest.approx(joining["cpu_s"] / loop["steps"] * 1e6, rel=CLOCKS)
    assert measured["Loading one batch"] == pytest.approx(joining["wall_s"] / loop["steps"] * 1e6, rel=CLOCKS)
    costs = {each.cause: each.cost_fraction for each in found.causes}
    computed = joining["cpu_s"] / joining["wall_s"]
    assert costs["slow_collate"] == pytest.approx(computed * stall, abs=0.05)
    assert costs["cpu_limited"] == pytest.approx((1 - computed) * stall, abs=0.05)
    sentence = next(each.sentence for each in found.causes if each.cause == "slow_collate")
    assert sentence.startswith("Joining its samples is all of the work of loading a batch, about as fast as memory is ")
    assert "no known cause" not in (found.why or "")
    refused = {each.change: each.why for each in found.refusals}
    assert "copies no faster" in refused["vectorize_collate"]


@pytest.mark.parametrize(("name", "limit"), [
    ("web_stream", "other processes use 1.7 of the 2 that this run may use."),
    ("joined_volumes", "other processes use 1.3 of the 2 that this run may use."),
    # Their loading sleeps.
    ("three_loaders", "so that of 8 workers one is ready every 19.3 ms"),
    ("short_run", "so that of 2 workers one is ready every 25.4 ms"),
])  # fmt: skip
def test_cores_are_the_limit_of_workers_only_for_who_computes_on_them(name: str, limit: str, runs: JudgedRuns) -> None:
    best = runs.diagnosis(name).best_advice
    assert best is not None and best.change == "num_workers" and limit in best.why
    assert ("other processes" in best.why) == ("other processes" in limit)


def test_what_to_do_first_is_about_the_cause_that_is_said_first(runs: JudgedRuns) -> None:
    found = runs.diagnosis("web_stream")
    assert found.causes[0].cause == "cpu_limited" and found.is_beside_first
    assert found.beside_loader is not None and found.beside_loader.startswith("Move the other jobs, which use 1.7 of")
    console = Console(width=110, highlight=False, force_terminal=False)
    with console.capture() as capture:
        console.print(render_diagnosis(found))
    printed = capture.get()
    assert (
        0
        < printed.index("Move the other jobs off these 2 cores   × 2.35 at most for the run")
        < printed.index("Raise num_workers")
    )


@pytest.mark.parametrize(("name", "is_said"), [("three_loaders", True), ("with_lightning", True), ("paired", False)])
def test_a_wait_beyond_the_pace_of_the_workers_is_explained(name: str, is_said: bool, runs: JudgedRuns) -> None:
    best = runs.diagnosis(name).best_advice
    assert best is not None and ("Each pass begins with an empty queue" in best.why) is is_said


def test_what_others_take_comes_before_a_worker_that_may_gain_nothing(runs: JudgedRuns) -> None:
    found = runs.diagnosis("with_trainer")
    assert [each.title for each in found.beside] == ["Move the other jobs off these 2 cores"]
    assert found.is_beside_first and not found.advice[0].is_promised


def test_each_act_outside_the_loader_has_a_gain_of_its_own(runs: JudgedRuns) -> None:
    found, (truth,) = runs.diagnosis("checkpoints"), truth_of("checkpoints")
    save, shorten, move = found.beside
    assert save.title == "Save checkpoints less often"
    assert (shorten.title, move.title) == (
        "Shorten the program's other pauses",
        "Move the other jobs off these 2 cores",
    )
    for act, what in ((save, "checkpoint"), (shorten, "program")):
        took_s = sum(each["lasted_s"] for each in truth["pauses"] if each["what"] == what)
        assert (act.hours_saved or 0.0) * 3600 == pytest.approx(took_s, rel=CLOCKS)
    assert move.speedup is not None and shorten.speedup is not None and save.speedup is not None
    assert 1 < move.speedup < shorten.speedup < save.speedup
    assert "Other pauses of the program take 16% (4" in (found.why or ""), "with how long they took"
    assert found.is_mostly_paused and not runs.diagnosis("crash").is_mostly_paused


def test_starts_of_workers_that_a_fix_is_about_are_said_beside_what_others_take(runs: JudgedRuns) -> None:
    found = runs.diagnosis("with_accelerate")
    assert found.advice[0].change == "persistent_workers"
    assert re.search(
        r"An epoch has 36 steps, and new workers start with an empty queue \(\d+% of the wait\)\.", found.why or ""
    )


def test_pauses_that_take_more_than_waiting_are_said_first(runs: JudgedRuns) -> None:
    found, (truth,) = runs.diagnosis("checkpoints"), truth_of("checkpoints")
    headline = re.match(r"Pauses take (\d+)% of the time; ", found.sentence)
    assert headline and (found.why or "").startswith("Checkpoints take "), "the larger loss is said first"
    assert found.is_beside_first and (found.beside_loader or "").startswith("Save checkpoints less often, ")
    paused_s = sum(each["lasted_s"] for each in truth["pauses"])
    assert int(headline[1]) / 100 == pytest.approx(paused_s / truth["loaders"][0]["spent_s"], rel=CLOCKS)


@pytest.mark.parametrize("name", ["web_stream", "checkpoints", "shell_loop", "tuned"])
def test_what_comes_first_outside_the_loader_says_what_it_would_gain_the_run(name: str, runs: JudgedRuns) -> None:
    found = runs.diagnosis(name)
    assert found.is_beside_first and found.beside_speedup is not None
    paused = found.paused_fraction or 0.0
    waits = (1 - paused) * found.causes[0].cost_fraction
    if name == "checkpoints":
        (truth,) = truth_of(name)
        saved_s = sum(each["lasted_s"] for each in truth["pauses"] if each["what"] == "checkpoint")
        waits = saved_s / truth["loaders"][0]["spent_s"]
    assert found.beside_speedup == pytest.approx(1 / (1 - waits), rel=CLOCKS)


def test_lists_have_the_share_of_the_headline_and_its_parts_add_up(runs: JudgedRuns) -> None:
    found = runs.diagnosis("with_lightning")
    whole, *parts = [float(each) for each in re.findall(r"([\d.]+)%", found.sentence)]
    assert sum(parts) == whole, found.sentence
    row = runs.store("with_lightning").summary(found.run_id)
    assert row.data_stall_fraction == found.headline_stall_fraction
    assert row.data_stall_fraction == pytest.approx(whole / 100, abs=0.005)


def test_a_program_that_is_started_again_with_other_settings_is_judged_by_the_newest(runs: JudgedRuns) -> None:
    found, truth = runs.diagnosis("shell_loop"), truth_of("shell_loop")
    newest = truth[-1]["loaders"][0]
    assert found.judged_from_step == sum(each["loaders"][0]["steps"] for each in truth[:-1])
    assert found.reason == "judged from step 180 on: num_workers was 1 before and is 3 since"
    assert "; since step 180 the training loop waits " in found.sentence, "not the whole run"
    assert found.judged_steps == newest["steps"] - found.warmup_steps
    # Its whole epoch has the start of the workers too, in steps that are not judged.
    assert found.data_stall_fraction is not None
    assert found.data_stall_fraction <= newest["waited_s"] / newest["spent_s"] + 0.02
    (line,) = found.loaders
    assert line.steps == sum(each["loaders"][0]["steps"] for each in truth), "earlier ones are its history"
    console = Console(width=140, highlight=False, force_terminal=False)
    with console.capture() as capture:
        console.print(render_diagnosis(found))
    assert "over all 270 steps (180 of them with other settings): 44%." in capture.get()


def test_of_new_settings_with_few_steps_it_is_said_that_a_verdict_needs_more(store: Store) -> None:
    windows = windows_of("shell_loop")
    newest = max(each["incarnation"] for each in windows)
    found = judge(store, [each for each in windows if each["incarnation"] != newest or each["window_index"] == 0])
    assert found.bound == "unknown"
    since = "judged from step 180 on: num_workers was 1 before and is 3 since"
    assert found.reason == f"{since}; a verdict needs 25 steps, and there were 18"


def test_what_went_by_while_a_program_was_started_again_is_said(runs: JudgedRuns) -> None:
    why = runs.diagnosis("shell_loop").why or ""
    stated = re.search(r"The program was started again 2 times: ([\d.]+) s went by", why)
    spans = [each for each in shown(runs, "shell_loop", "loader-1").pauses if each.kind == "restart"]
    lasted_us = sum(each.end_us - each.start_us for each in spans)
    assert stated and float(stated[1]) == pytest.approx(lasted_us / 1e6, abs=0.06), "as its chart has it"
    assert "started again" not in (runs.diagnosis("crash").why or "")


def test_restarts_that_took_more_than_waiting_are_the_largest_words(runs: JudgedRuns) -> None:
    found, others = runs.diagnosis("shell_loop"), runs.diagnosis("tuned")
    again_s = sum(
        each.end_us - each.start_us
        for each in shown(runs, "shell_loop", "loader-1").pauses
        if each.kind == "restart"
    ) / 1e6  # fmt: skip
    assert found.hours_restarting is not None and found.hours_lost is not None
    assert found.hours_restarting * 3600 == pytest.approx(again_s, abs=0.06)
    assert found.hours_restarting > found.hours_lost
    assert found.sentence.startswith(f"Starting the program again took {again_s:.1f} s; since step 180 ")
    assert (found.why or "").startswith("The program was started again 2 times: ")
    assert others.hours_restarting is None and "again" not in others.sentence


@pytest.mark.parametrize("name", names())
def test_the_word_of_a_verdict_is_that_of_the_share_beside_it(name: str, runs: JudgedRuns) -> None:
    found = runs.diagnosis(name)
    row = runs.store(name).summary(found.run_id)
    assert row.data_stall_fraction is not None
    is_bound = percent(row.data_stall_fraction) in (*(f"{share}%" for share in range(20, 101)),)
    assert word_of(row).endswith("data-bound" if is_bound else "some wait"), (word_of(row), row.data_stall_fraction)
    assert word_of(row) == word_of(found), "lists have the word of the page"
    assert word_of(row).startswith("paused, ") == (name == "checkpoints")
    for line in found.loaders if len(found.loaders) > 1 else []:
        alone = LoaderDiagnoses().read(runs.store(name), found.run_id, line.loader)
        assert (alone.bound, alone.level) == (line.bound, line.level)


@pytest.mark.parametrize(
    ("name", "basis"),
    [
        ("straggler", "over all 150 steps on all 8 ranks (causes from the last 145, where it is 40%), host clock"),
        ("checkpoints", "from the last 489 steps, host clock"),
        ("paired", "over all 220 steps of paintings (causes from the last 214, where it is 40%), host clock"),
        ("three_loaders", "causes from the last 45 steps of held_out, host clock"),
        ("crash", "from the last 202 steps, host clock"),
        ("crowded_pictures", "from the last 235 steps, host clock"),
    ],
)
def test_a_headline_of_more_steps_than_the_causes_says_so(name: str, basis: str, runs: JudgedRuns) -> None:
    console = Console(width=500, highlight=False, force_terminal=False)
    with console.capture() as capture:
        console.print(render_diagnosis(runs.diagnosis(name)))
    assert re.search(rf"confidence \w+, {re.escape(basis)}$", capture.get().splitlines()[0])


def test_what_a_run_kept_by_tuning_is_the_first_thing_to_do(runs: JudgedRuns) -> None:
    found = runs.diagnosis("tuned")
    assert found.to_write is not None and found.tuning is not None
    assert found.to_write.title == "Write num_workers=2 into the program"
    assert found.to_write.gain == "× 1.91 measured" and found.to_write.lines == found.tuning.lines
    console = Console(width=140, highlight=False, force_terminal=False)
    with console.capture() as capture:
        console.print(render_diagnosis(found))
    printed = capture.get()
    assert printed.index(found.to_write.title) < printed.index("Move the other jobs off"), "before what gains less"
    assert "saved" not in printed, "what follows is not what to do first"
    for line in (line_of(found), "\n".join(lines_of(found, [stall_limit(found, 0.1)], "page"))):
        first, others = line.index("first fix: Write num_workers=2 into the program, "), line.count("first fix")
        assert first > 0 and others == 1, line
    assert [*last_lines(found.model_dump(by_alias=True), "page")][-3:-1] == [
        "first fix: Write num_workers=2 into the program, × 1.91 measured",
        "worth a try: Move the other jobs off these 2 cores, × 1.17 at most for the run",
    ]
    assert runs.diagnosis("crash").to_write is None


def test_a_few_first_steps_are_in_the_share_that_is_stated_or_it_is_stated_with_them(runs: JudgedRuns) -> None:
    crash, joined = runs.diagnosis("crash"), runs.diagnosis("joined_volumes")
    assert crash.sentence == "The training loop waits for data 26% of the time, and 29% with its slow first 5 steps."
    assert joined.sentence == "The training loop waits for data 51% of every step."
    assert joined.data_stall_fraction is not None and joined.data_stall_fraction < 0.505, "which decides the level"


def test_causes_are_said_in_the_order_of_what_is_done_about_them(runs: JudgedRuns) -> None:
    why = runs.diagnosis("with_trainer").why or ""
    assert 0 <= why.index("Other jobs use 2.0 of the 2 cores") < why.index("The training process loads every batch")
    assert "Of loading, 36% ± 17 is Image.convert at crowded_pictures.py:38" in (
        runs.diagnosis("crowded_pictures").why or ""
    )


def test_no_fix_gains_the_same_steps_more_than_they_lost(runs: JudgedRuns) -> None:
    found = runs.diagnosis("paired")
    (best,) = found.advice
    assert best.high is not None and found.hours_used and found.hours_saved
    assert found.hours_saved.high == pytest.approx(found.hours_used * (1 - 1 / best.high), rel=1e-6)
    assert best.high == pytest.approx(found.hours_used / (found.hours_used - lines(found)["paintings"].hours_lost))


def test_a_step_is_no_longer_for_the_pauses_of_its_program(runs: JudgedRuns) -> None:
    found, (truth,) = runs.diagnosis("checkpoints"), truth_of("checkpoints")
    loop, paused_s = truth["loaders"][0], sum(each["lasted_s"] for each in truth["pauses"])
    assert found.anatomy is not None
    usual_us = (loop["spent_s"] - paused_s) / loop["steps"] * 1e6
    assert found.anatomy.step_us == pytest.approx(usual_us, rel=CLOCKS)
    assert found.judged_steps == loop["steps"] - found.warmup_steps - len(truth["pauses"])
    assert found.paused_fraction == pytest.approx(paused_s / loop["spent_s"], rel=CLOCKS)
    for each in found.advice:
        assert each.predicted_speedup is None or each.run_speedup is not None, "the run gains less: it pauses, too"
