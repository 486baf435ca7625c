"""The list of runs: filtered, sorted, a page at a time; and what a person changes in it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.made_diagnosis import made_advice, made_cause, made_diagnosis, made_entry
from tests.app.made_windows import LOADER, RUN, made_stream, made_window
from tests.app.store.clock import WallClock
from tests.app.store.listing import listed
from tests.app.store.posting import post
from underfed_server.errors import InvalidError, NotFoundError
from underfed_server.model import Advice
from underfed_server.store.runs import listing
from underfed_server.store.runs.listing import SORTS
from underfed_server.store.store import Store

ENDED = {"end": {"status": "finished"}}


def add(store: Store, run_id: str, **described: Any) -> None:
    post(store, [made_window(0, run_id=run_id, run=RUN | {"name": run_id} | described)])


def ids(store: Store, **asked: Any) -> list[str]:
    return [run.run_id for run in listed(store, **asked).runs]


def add_three(store: Store) -> Store:
    add(store, "alpha", project="vision", tags={"team": "vision", "debug": ""}, hostname="node-1", user="ada")
    add(store, "beta", project="speech", tags={"team": "speech"}, hostname="gpu-07", user="Grace")
    add(store, "gamma", name="gamma_100%", project="vision", tags={}, hostname="node-2", user="ada")
    store.save_diagnosis(made_diagnosis("alpha", hours_lost=1.0, data_stall_fraction=0.1, bound="compute"))
    store.save_diagnosis(made_diagnosis("beta", hours_lost=9.0, data_stall_fraction=0.9))
    return store


@pytest.fixture
def three(store: Store) -> Store:
    return add_three(store)


@pytest.fixture(scope="module")
def listed_three(shared_store: Store) -> Store:
    """Only read."""
    return add_three(shared_store)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, {"alpha", "beta", "gamma"}),
        ({"project": "vision"}, {"alpha", "gamma"}),
        ({"bound": "data"}, {"beta"}),
        ({"bound": "unknown"}, {"gamma"}),
        ({"status": "running"}, {"alpha", "beta", "gamma"}),
        ({"status": "lost"}, set()),
        ({"tag": "team=vision"}, {"alpha"}),
        ({"tag": "team"}, {"alpha", "beta"}),
        ({"tag": "debug"}, {"alpha"}),
        ({"tag": "debug="}, {"alpha"}),
        ({"tag": "team="}, set()),
        ({"q": "ALPH"}, {"alpha"}),
        ({"q": "gpu-07"}, {"beta"}),
        ({"q": "grace speech"}, {"beta"}),
        ({"q": "ada team=vis"}, {"alpha"}),
        ({"q": "ada nowhere"}, set()),
        ({"q": "100%"}, {"gamma"}),
        ({"q": "gamma_"}, {"gamma"}),
        ({"q": "_"}, {"gamma"}),
        ({"q": "%"}, {"gamma"}),
        ({"project": "vision", "q": "beta"}, set()),
    ],
)
def test_a_filter_keeps_the_runs_that_it_names(listed_three: Store, asked: dict[str, Any], expected: set[str]) -> None:
    assert set(ids(listed_three, **asked)) == expected


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("name", ["alpha", "beta", "gamma"]),
        ("-name", ["gamma", "beta", "alpha"]),
        ("hours_lost", ["alpha", "beta", "gamma"]),
        ("-hours_lost", ["beta", "alpha", "gamma"]),
        ("-data_stall_fraction", ["beta", "alpha", "gamma"]),
    ],
)
def test_runs_are_sorted_with_those_that_lack_the_value_last(
    listed_three: Store, sort: str, expected: list[str]
) -> None:
    assert ids(listed_three, sort=sort) == expected


@pytest.mark.parametrize("sort", SORTS)
def test_every_key_sorts_both_ways(listed_three: Store, sort: str) -> None:
    assert len(ids(listed_three, sort=sort)) == len(ids(listed_three, sort=f"-{sort}")) == 3


def test_a_key_that_does_not_exist_is_named(listed_three: Store) -> None:
    with pytest.raises(InvalidError, match="'colour' is none of status, name") as raised:
        ids(listed_three, sort="colour")
    assert raised.value.field == "sort"


def test_counts_are_of_the_filter_whatever_status_it_asks_for(three: Store) -> None:
    post(three, [made_window(1, run_id="alpha", **ENDED)])
    counts = listed(three, project="vision", status="finished").counts
    assert (counts.all, counts.running, counts.finished) == (2, 1, 1)


def test_a_line_shows_what_was_recorded_and_judged(store: Store) -> None:
    post(store, made_stream(3))
    diagnosis = made_diagnosis(causes=[made_cause()], ledger=[made_entry("run-1", 1.5), made_entry("other", 9.0)])
    store.save_diagnosis(diagnosis)
    run = store.summary("run-1")
    assert (run.steps, run.num_workers, run.hostnames, run.gpus) == (60, 2, ["node-1"], 0)
    assert (run.bound, run.level, run.cause, run.data_stall_fraction) == ("data", "bound", "no_workers", 0.4)
    assert (run.step_us, run.observed_speedup, run.hours_lost) == (100_000, 1.5, 2.0)
    assert run.observed_low is None, "it has no interval"
    assert run.best_advice is not None
    assert (run.best_advice.change, run.best_advice.to, run.best_advice.predicted_speedup) == ("num_workers", 4, 1.6)


def test_a_run_has_gained_where_the_lower_end_of_what_was_observed_is_a_gain(store: Store) -> None:
    post(store, made_stream(1))
    for low, gained in ((0.9, []), (1.2, ["run-1"])):
        entry = made_entry("run-1", 1.5).model_copy(update={"observed_low": low, "observed_high": 2.0})
        store.save_diagnosis(made_diagnosis(ledger=[entry]))
        assert store.summary("run-1").observed_low == low
        assert [run.run_id for run in listed(store, q="gained>1").runs] == gained


def advised(change: str, speedup: float | None, low: float | None, high: float | None, **figures: Any) -> Advice:
    prediction = {"change": change, "predicted_speedup": speedup, "low": low, "high": high}
    return Advice.model_validate(dict(made_advice()) | prediction | figures)


def test_the_list_shows_the_gain_of_the_first_fix_and_says_which(store: Store) -> None:
    post(store, made_stream(1))
    store.save_diagnosis(made_diagnosis(advice=[advised("in_order", 1.5, 1.3, 1.6), made_advice(None)]))
    best = store.summary("run-1").best_advice
    assert best is not None
    assert (best.change, best.predicted_speedup, best.is_promised) == ("in_order", 1.5, True)


@pytest.mark.parametrize("low", [0.9, 1.1], ids=["nor_another", "but_another"])
def test_where_the_first_fix_promises_no_gain_the_list_shows_it_as_one_to_try(store: Store, low: float) -> None:
    post(store, made_stream(1))
    store.save_diagnosis(made_diagnosis(advice=[made_advice(None), advised("in_order", 1.2, low, 1.6)]))
    best = store.summary("run-1").best_advice
    assert best is not None
    assert (best.change, best.is_promised) == ("num_workers", False)
    assert listed(store, q="gain>0").runs == []


def test_runs_are_in_order_of_what_they_gain_at_least(three: Store) -> None:
    gains = {
        "alpha": advised("num_workers", 1.9, 1.1, 2.0),
        "beta": advised("num_workers", 1.4, 1.3, 1.5),
        "gamma": advised("num_workers", 1.67, 1.5, 1.8, run_speedup=1.19, run_low=1.15, run_high=1.22),
    }
    for run_id, advice in gains.items():
        three.save_diagnosis(made_diagnosis(run_id, advice=[advice]))
    assert ids(three, sort="-predicted_speedup") == ["beta", "gamma", "alpha"]
    assert set(ids(three, q="gain>1.12")) == {"gamma", "beta"}


def test_a_judgement_that_takes_back_a_verdict_takes_back_its_figures(store: Store) -> None:
    post(store, made_stream(1))
    store.save_diagnosis(made_diagnosis())
    store.save_diagnosis(
        made_diagnosis(bound="unknown", level="unknown", causes=[], advice=[], anatomy=None, data_stall_fraction=None)
    )
    run = store.summary("run-1")
    assert (run.bound, run.cause, run.best_advice, run.step_us) == ("unknown", None, None, None)


def test_a_diagnosis_is_kept_word_for_word(store: Store) -> None:
    post(store, [made_window(0)])
    assert store.diagnosis("run-1") is None
    diagnosis = made_diagnosis(advice=[made_advice(None)])
    store.save_diagnosis(diagnosis)
    kept = store.diagnosis("run-1")
    assert kept is not None
    assert kept.judged_at is not None
    assert kept == diagnosis.model_copy(update={"judged_at": kept.judged_at})
    with pytest.raises(NotFoundError):
        store.save_diagnosis(made_diagnosis("nobody"))


def test_the_steps_of_a_run_are_those_of_its_furthest_rank_with_the_loader_it_shows(store: Store) -> None:
    post(store, made_stream(4))
    post(store, made_stream(6, rank=1))
    val = [{**window, "steps": [{**window["steps"][0], "loader": "val"}]} for window in made_stream(1, rank=2)]
    post(store, val)
    run = store.summary("run-1")
    assert run.steps == 120
    assert store.shown_loader("run-1") == "train"
    totals = {(each.loader, each.rank): each.steps for each in store.step_totals("run-1")}
    assert totals == {("train", 0): 80, ("train", 1): 120, ("val", 2): 20}


def test_totals_are_those_of_all_windows(store: Store) -> None:
    windows = list(made_stream(9))
    post(store, windows)
    totals = store.step_totals("run-1")[0]
    assert totals.step_us == sum(sum(window["steps"][0]["step_us"]) for window in windows)
    assert totals.data_wait_us == sum(sum(window["steps"][0]["data_wait_us"]) for window in windows)


def test_edits_by_a_person_stay_whatever_the_agent_sends_again(three: Store) -> None:
    three.edit_run("alpha", {"name": "my baseline", "tags": {"keep": "yes"}, "notes": "look again"})
    post(three, [made_window(1, run_id="alpha", run=RUN | {"name": "again", "tags": {"team": "speech"}})])
    run = three.run("alpha")
    assert (run.name, run.tags, run.notes) == ("my baseline", {"keep": "yes"}, "look again")
    assert ids(three, tag="keep=yes") == ["alpha"]
    assert ids(three, q="baseline") == ["alpha"]
    assert "alpha" not in ids(three, tag="team")
    three.edit_run("alpha", {"name": None, "tags": None})
    assert (three.run("alpha").name, three.run("alpha").tags) == ("again", {"team": "speech"})
    assert three.run("alpha").notes == "look again"
    assert set(ids(three, tag="team=speech")) == {"alpha", "beta"}


def test_a_tag_that_was_undone_leaves_the_tags_to_the_agent(three: Store) -> None:
    had, name = three.run("alpha").tags, three.run("alpha").name
    three.edit_run("alpha", {"tags": had | {"mine": ""}, "name": "mine"})
    three.edit_run("alpha", {"tags": had, "name": name})
    post(three, [made_window(1, run_id="alpha", run=RUN | {"name": "again", "tags": {"team": "speech"}})])
    assert (three.run("alpha").name, three.run("alpha").tags) == ("again", {"team": "speech"})


def test_earlier_runs_are_of_the_same_job_and_the_newest_first(store: Store) -> None:
    for name, hour, job in (("first", 1, "a"), ("second", 2, "a"), ("other", 2, "b"), ("third", 3, "a")):
        started_at = f"2026-11-20T0{hour}:00:00Z"
        post(store, [made_window(0, run_id=name, started_at=started_at, run=RUN | {"job": job})])
    assert [run.run_id for run in store.earlier_runs("third")] == ["second", "first"]
    assert [run.run_id for run in store.earlier_runs("third", limit=1)] == ["second"]
    assert store.earlier_runs("first") == []


def test_a_device_is_counted_once_though_every_rank_of_its_host_names_it(store: Store) -> None:
    devices = [{"gpu_index": index, "uuid": f"GPU-{index}", "name": "H100"} for index in range(2)]
    for rank in range(2):
        post(store, [made_window(0, rank=rank, run=RUN | {"devices": devices, "world_size": 2})])
    run = store.run("run-1")
    assert (run.gpus, run.gpu_name, len(run.devices), run.world_size) == (2, "H100", 2, 2)


def test_a_loader_that_is_reported_again_replaces_what_was_known_of_it(store: Store) -> None:
    post(store, [made_window(0)])
    post(store, [made_window(1, loaders=[LOADER | {"batches_per_epoch": 40, "settings": {"num_workers": 8}}])])
    run = store.run("run-1")
    assert [(each.batches_per_epoch, each.settings) for each in run.loaders] == [(40, {"num_workers": 8})]


def test_of_too_many_changes_the_newest_are_read(
    store: Store, clock: WallClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MOST_CHANGED", 3)
    before = clock()
    for number in range(5):
        clock.advance(seconds=1)
        add(store, f"run-{number}")
    assert [run.run_id for run in store.changed_since(before)] == ["run-2", "run-3", "run-4"]
