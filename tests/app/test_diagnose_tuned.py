"""A run that tunes itself: which of its steps are judged, what it is given to try, what is proved by it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from tests.app.made_tuning import BLOCK, NONE, THREE, TunedRun, loader, searching, tuned_windows, waiting
from tests.app.made_windows import posted_window
from tests.app.store.posting import post
from underfed_server.diagnose import Diagnoser
from underfed_server.earlier import named, read_facts, with_proven
from underfed_server.ingest.posted import Ack
from underfed_server.model import Diagnosis
from underfed_server.store.reading.details import read_epochs
from underfed_server.store.store import Store


def judged(store: Store, run_id: str = "tuned") -> Diagnosis:
    Diagnoser()(store, run_id)
    found = store.diagnosis(run_id)
    assert found is not None
    return found


def candidates_sent(store: Store, window: dict[str, Any]) -> list[Any]:
    outcome = store.submit(posted_window(window)).result(timeout=30)
    assert isinstance(outcome, Ack)
    return list(outcome.candidates)


@pytest.mark.sql
def test_a_run_that_asks_receives_what_to_try_once_it_was_judged(store: Store) -> None:
    run = TunedRun()
    assert candidates_sent(store, waiting(run)) == [], "nothing is known of it yet"
    found = judged(store)
    assert found.candidates is not None and found.candidates.why_none is None
    assert found.candidates.settings == NONE
    first = found.candidates.candidates[0]
    assert first.settings == {"num_workers": 3, "prefetch_factor": 2}
    assert first.predicted_speedup == pytest.approx(3.4, rel=0.1)
    again = waiting(run, 10)
    sent = [found.candidates.model_dump(mode="json")]
    assert candidates_sent(store, again) == sent
    assert candidates_sent(store, again) == sent, "an answer that was lost is given again"
    assert candidates_sent(store, run.block(0, NONE)) == [], "it has what it needs"


def test_a_run_that_does_not_tune_itself_receives_nothing(store: Store) -> None:
    run = TunedRun()
    post(store, [run.train(60, NONE)])
    found = judged(store)
    assert (found.tuning, found.candidates, found.trials) == (None, None, [])
    assert candidates_sent(store, run.train(10, NONE)) == []


def test_what_speaks_against_workers_is_not_advised(store: Store) -> None:
    run, why = TunedRun(), "its data set holds an open file"
    said = run.tuning("left_alone", reason=why, why_no_workers=why)
    post(store, [waiting(run), run.train(60, NONE, tuning=[said])])
    found = judged(store)
    assert "num_workers" not in {advice.change for advice in found.advice}
    refusal = next(refusal for refusal in found.refusals if refusal.change == "num_workers")
    assert refusal.why == "Not as the program is: its data set holds an open file."
    assert found.candidates is not None
    assert (found.candidates.candidates, found.candidates.why_none) == ([], why)


def test_a_healthy_run_has_the_reason_why_there_is_nothing_to_try(store: Store) -> None:
    run = TunedRun()
    post(store, [run.train(60, THREE, tuning=[run.tuning("waiting")])])
    found = judged(store).candidates
    assert found is not None and not found.candidates
    assert found.why_none == "the run hardly waits for this loader"


def test_while_it_tries_settings_it_is_judged_by_the_steps_before(store: Store) -> None:
    run = TunedRun()
    post(store, [waiting(run), *searching(run)])
    found = judged(store)
    assert found.judged_steps == 55 + BLOCK, "with those that it was measured by as it was"
    assert found.data_stall_fraction == pytest.approx(120 / 170)
    assert found.tuning is not None and found.tuning.status_label == "trying settings"
    assert [trial.speedup for trial in found.trials] == [pytest.approx(1.0), pytest.approx(3.4)]


@pytest.mark.parametrize("end", ["finished", "crashed"])
def test_a_run_that_ended_within_its_trials_is_not_said_to_be_trying(store: Store, end: str) -> None:
    run = TunedRun()
    post(store, [waiting(run), *searching(run), run.train(5, NONE, end={"status": end})])
    found = judged(store).tuning
    assert found is not None
    assert (found.status, found.status_label) == ("ended", "ended within its trials")
    assert found.reason == "the run ended within its trials: what they would have shown is not known"


def test_a_run_that_ended_before_its_trials_was_left_as_it_was(store: Store) -> None:
    run = TunedRun()
    post(store, [waiting(run), run.train(5, NONE, end={"status": "finished"})])
    found = judged(store).tuning
    assert found is not None
    assert (found.status, found.reason) == ("left_alone", "the run ended before anything was tried")


def test_since_a_setting_is_kept_it_is_judged_by_the_steps_with_that_one(store: Store) -> None:
    run = TunedRun()
    post(store, tuned_windows(run))
    found = judged(store)
    assert (found.judged_from_step, found.judged_steps) == (60 + 4 * BLOCK, 55)
    assert found.reason == "judged from step 140 on: num_workers was 0 before and is 3 since, prefetch_factor " \
        "was None before and is 2 since"  # fmt: skip
    assert (found.bound, found.data_stall_fraction) == ("compute", 0.0)
    assert found.steps == 200
    assert [(trial.kept, len(trial.blocks)) for trial in found.trials] == [(False, 2), (True, 2)]


def test_while_it_searches_again_it_is_judged_by_what_it_kept_before(store: Store) -> None:
    run = TunedRun()
    post(store, tuned_windows(run))
    again = run.tuning("searching")["trials"]
    first = [each | {"kept": each["number"] == 1} for each in run.trials(is_over=True)]
    block = {"first_step_index": run.steps, "steps": BLOCK, "start_us": run.at_us, "end_us": run.at_us + 1_000}
    second = [again[0] | {"search": 1, "settings": THREE, "blocks": []}]
    second += [again[1] | {"search": 1, "settings": THREE | {"num_workers": 4}, "blocks": [block]}]
    post(store, [run.train(BLOCK, THREE, tuning=[run.tuning("searching", trials=[*first, *second])])])
    found = judged(store)
    assert (found.judged_from_step, found.judged_steps) == (60 + 4 * BLOCK, 55)
    assert (found.bound, found.data_stall_fraction) == ("compute", 0.0)


def test_what_was_left_alone_is_judged_without_the_search(store: Store) -> None:
    run = TunedRun()
    windows = [waiting(run), *searching(run)]
    left = run.tuning("left_alone", kept=NONE, kept_from_step=run.steps)
    few = run.train(15, NONE, tuning=[left])
    post(store, [*windows, few])
    assert judged(store).judged_steps == 55 + BLOCK, "too few since: those before it"
    post(store, [run.train(20, NONE, tuning=[left])])
    found = judged(store)
    assert found.judged_steps == 35
    assert found.judged_from_step is None
    assert found.data_stall_fraction == pytest.approx(120 / 170)


def test_what_was_kept_is_an_observed_gain_beside_what_was_predicted(store: Store) -> None:
    run = TunedRun()
    windows = tuned_windows(run)
    post(store, windows[:-1])
    cause = judged(store).causes[0].cause
    post(store, windows[-1:])
    for _ in range(2):
        (entry,) = judged(store).ledger
        assert (entry.run_id, entry.advice_of, entry.change, entry.cause) == ("tuned", "tuned", "num_workers", cause)
        assert entry.settings == {"num_workers": 3, "prefetch_factor": 2}
        assert (entry.predicted_speedup, entry.low, entry.high) == (3.2, 2.0, 3.6)
        assert (entry.observed_speedup, entry.observed_low, entry.observed_high) == (3.4, 3.3, 3.5)
        assert entry.inside_interval
    post(store, [run.train(1, THREE, end={"status": "finished"})])
    assert len(judged(store).ledger) == 1
    assert store.summary("tuned").observed_speedup == 3.4


def test_a_search_that_kept_nothing_leaves_the_gain_of_a_later_one_as_the_agent_found_it(store: Store) -> None:
    run = TunedRun()
    windows = [waiting(run), *searching(run)]
    first = [each | {"kept": not each["number"]} for each in run.trials(is_over=False)]
    second = [each | {"search": 1} for each in run.trials(is_over=True)]
    kept = run.kept(trials=[*first, *second])
    post(store, [*windows, run.train(60, THREE, tuning=[kept], loaders=[loader(THREE)])])
    (entry,) = judged(store).ledger
    assert (entry.observed_speedup, entry.observed_low, entry.observed_high) == (3.4, 3.3, 3.5)


def test_predictions_for_its_host_learn_from_every_setting_that_it_measured(store: Store) -> None:
    run = TunedRun()
    post(store, tuned_windows(run))
    judged(store)
    (gain,) = store.observed({"node-1"}, 50)
    assert (gain.predicted, round(gain.observed, 3)) == (3.2, 3.4)
    assert store.observed({"node-2"}, 50) == []
    own = read_facts(store, "tuned", named("train"))
    assert with_proven(store, own).proven == (), "no run proves its own advice"
    (residual,) = with_proven(store, replace(own, run_id="other")).proven
    assert residual == pytest.approx(math.log(3.4 / 3.2))


def test_a_process_that_is_started_again_counts_its_trials_on(store: Store) -> None:
    first, again = TunedRun(), TunedRun(incarnation=2)
    post(store, tuned_windows(first))
    post(store, [each | {"started_at": "2026-11-20T11:00:00Z"} for each in tuned_windows(again)])
    found = judged(store)
    assert [trial.search for trial in found.trials] == [0, 0, 1, 1]
    assert found.trials[2].blocks[0].first_step_index == first.steps + 60
    assert found.trials[2].blocks[0].start_us == 3_600_000_000 + 60 * 170_000
    assert found.judged_from_step == first.steps + 140


def test_the_other_ranks_of_a_host_are_judged_since_the_same_step(store: Store) -> None:
    run, other = TunedRun(), TunedRun()
    first = tuned_windows(run)
    second = [{**each, "rank": 1} for each in tuned_windows(other)]
    for each in second:
        each.pop("tuning")
    post(store, [*first, *second])
    Diagnoser()(store, "tuned")
    found = judged(store)
    assert (found.judged_from_step, found.judged_steps, len(found.ranks)) == (140, 55, 2)


def test_an_epoch_in_which_settings_were_switched_is_one(store: Store) -> None:
    run, parts = TunedRun(), []
    for index, settings in enumerate((NONE, THREE)):
        window = run.block(index, settings)
        at_us, end_us, first = window["start_us"], window["end_us"], window["steps"][0]["first_step_index"]
        part = {"loader": "train", "epoch_index": index, "start_us": at_us, "first_step_index": first}
        ended = {"steps": BLOCK, "end_us": end_us, "ended": "exhausted", "startup_us": 1_000 * (index + 1)}
        parts.append(window | {"epochs": [part | ended | ({"program_epoch": 0} if index else {})]})
    further = {"loader": "train", "epoch_index": 2, "program_epoch": 1, "first_step_index": run.steps}
    post(store, [*parts, run.train(BLOCK, THREE, epochs=[further | {"start_us": run.at_us}])])
    whole, newest = store.run("tuned").epochs
    assert (whole.epoch_index, whole.steps, whole.startup_us) == (0, 2 * BLOCK, 1_000)
    assert (whole.end_us, newest.start_us, newest.program_epoch) == (newest.start_us, whole.end_us, 1)
    assert [each.epochs for each in store.step_totals("tuned")] == [2]
    with store.reading() as reader:
        assert read_epochs(reader.connection, "tuned", 0, "train", 10) == (whole, newest)


def test_what_is_kept_is_not_taken_for_set_from_outside(store: Store) -> None:
    run = TunedRun()
    post(store, [*tuned_windows(run, after=30), run.train(10, THREE, loaders=[loader(THREE)])])
    assert store.run("tuned").overrides == {}
    assert store.run("tuned").num_workers == 3


@pytest.mark.parametrize("status", ["finished", "crashed"])
def test_a_run_that_ends_with_its_trials_says_what_they_found(store: Store, status: str) -> None:
    run = TunedRun()
    windows = tuned_windows(run, after=3)
    post(store, [*windows, run.train(1, THREE, end={"status": status})])
    found = judged(store)
    assert found.bound == "unknown"
    assert found.sentence == (
        "By its trials the run is × 3.40 as fast (95%: 3.30 to 3.50) with num_workers 0 → 3, prefetch_factor None → 2."
    )
