"""Several loaders on one training thread: whose time is whose, what each is for, and what each cost the run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.app.made_loops import Thread, zipped
from tests.app.store.posting import post
from underfed_server.diagnosis.chosen_loader import lost_us
from underfed_server.facts.condense import condense
from underfed_server.facts.record import LoaderFacts, RankFacts, RunFacts, run_us
from underfed_server.facts.recorded import spent
from underfed_server.store.store import Store

MS = 1_000.0


def condensed(store: Store, loader: str, run_id: str = "run-1") -> RunFacts:
    return condense(store, run_id, choose=lambda _loaders, _status: loader, warmup_steps=5, judged_steps=2_000)


def recorded(store: Store, *threads: Thread) -> dict[str, LoaderFacts]:
    for thread in threads:
        post(store, [thread.window()])
    return {each.loader: each for each in condensed(store, "none").loaders}


def rank_of(facts: LoaderFacts) -> RankFacts:
    (rank,) = facts.ranks
    return rank


def roles(found: dict[str, LoaderFacts]) -> dict[str, str]:
    return {name: each.role for name, each in found.items()}


def train_and_validate(thread: Thread, epochs: int, train_ms: float = 60.0, val_ms: float = 60.0) -> None:
    for _ in range(epochs):
        thread.run_through("a", 40, 2, train_ms - 2)
        thread.run_through("b", 20, val_ms - 3, 3)


@pytest.mark.parametrize(
    ("spans", "asked", "expected"),
    [
        ([(0, 10), (20, 30)], (5, 25), 10),
        ([(0, 10), (2, 8)], (0, 10), 10),
        ([(0, 10), (2, 8), (9, 14)], (3, 20), 11),
        ([(5, 5)], (0, 10), 0),
        ([], (0, 10), 0),
    ],
)
def test_time_that_spans_share_counts_once(spans: list[Any], asked: tuple[int, int], expected: int) -> None:
    begin, end = (np.array([span[side] for span in spans], dtype=np.float64) for side in (0, 1))
    within = spent(begin, end, np.ones(len(spans))).between(np.array([asked[0]]), np.array([asked[1]]))
    assert within.tolist() == [expected]


@pytest.mark.sql
def test_time_in_another_loaders_request_is_no_work(store: Store) -> None:
    thread = Thread(ahead=2, starving=0)
    zipped(thread, 60, work=39, ahead=1, starving=60)
    found = recorded(store, thread)
    ahead, starving = rank_of(found["ahead"]), rank_of(found["starving"])
    assert ahead.step_us == pytest.approx(100 * MS, rel=0.01)
    assert [ahead.data_wait_us, starving.data_wait_us] == [1 * MS, 60 * MS]
    assert [ahead.rest_us, starving.rest_us] == pytest.approx([39 * MS, 39 * MS], rel=0.02)
    assert ahead.others_stall_fraction == pytest.approx(0.6, rel=0.02)
    assert found["ahead"].loop == found["starving"].loop
    assert roles(found) == {"ahead": "train", "starving": "train"}


def test_a_loader_read_within_anothers_request_takes_nothing_from_it(store: Store) -> None:
    thread = Thread(outer=0, inner=0)
    for loader in ("outer", "inner"):
        thread.begin(loader)
    for _ in range(40):
        thread.ask_through("outer", "inner", wait=30, own=10)
        thread.work(50)
    thread.exhaust("outer")
    found = recorded(store, thread)
    outer, inner = rank_of(found["outer"]), rank_of(found["inner"])
    assert (outer.data_wait_us, outer.rest_us) == (40 * MS, 50 * MS)
    # What the outer request took before and after the inner one.
    assert (inner.data_wait_us, inner.rest_us) == (30 * MS, 50 * MS)


def test_constructing_the_iterators_of_a_loop_is_each_loaders_own(store: Store) -> None:
    thread = Thread(a=2, b=2)
    for _ in range(3):
        thread.begin("a", constructing=20)
        thread.begin("b", constructing=70)
        for _ in range(10):
            thread.ask("a", 3)
            thread.ask("b", 5)
            thread.work(12)
        thread.exhaust("a", stopping=30)
        thread.exhaust("b", stopping=40)
    found = recorded(store, thread)
    firsts = {name: rank_of(each).steps.data_wait_us for name, each in found.items()}
    assert firsts["a"].max() == 20 * MS + 3 * MS + 30 * MS
    assert firsts["b"].max() == 70 * MS + 5 * MS + 40 * MS


def test_a_step_that_holds_a_whole_pass_over_another_loader_is_a_pause(store: Store) -> None:
    thread = Thread(a=0, b=0)
    thread.begin("a")
    for step in range(60):
        thread.ask("a", 2)
        thread.work(48)
        if step % 20 == 19:
            thread.run_through("b", 30, 9, 1)
            # An agent that did not see it recorded the step with all of it.
            now = thread.loaders["a"].now
            assert now
            now.is_pause = False
    thread.exhaust("a")
    found = recorded(store, thread)
    train = rank_of(found["a"])
    assert (len(train.steps), train.step_us, train.others_stall_us) == (52, 50 * MS, 0.0)
    assert roles(found) == {"a": "train", "b": "validation"}


@pytest.mark.parametrize(("train_ms", "val_ms"), [(60.0, 60.0), (60.0, 100.0)])
def test_what_is_passed_over_between_two_epochs_is_a_validation(store: Store, train_ms: float, val_ms: float) -> None:
    thread = Thread(a=2, b=0)
    train_and_validate(thread, 3, train_ms, val_ms)
    found = recorded(store, thread)
    assert roles(found) == {"a": "train", "b": "validation"}
    assert found["a"].loop != found["b"].loop
    assert run_us([*found.values()]) == pytest.approx(sum(each.spent_us for each in found.values()))


def test_names_say_only_what_nothing_else_does(store: Store) -> None:
    thread = Thread(val_images=2, fit=0)
    for _ in range(3):
        thread.run_through("val_images", 40, 2, 58)
        thread.run_through("fit", 10, 8, 2)
    assert roles(recorded(store, thread)) == {"val_images": "train", "fit": "validation"}
    after = Thread("run-2", images=2, test_images=0, more=0)
    for loader in after.loaders:
        after.run_through(loader, 30, 5, 5)
    post(store, [after.window()])
    found = {each.loader: each for each in condensed(store, "none", "run-2").loaders}
    assert roles(found) == {"images": "train", "test_images": "validation", "more": "other"}


def test_gradients_say_what_structure_cannot(store: Store) -> None:
    thread = Thread(first=0, second=0, third=0)
    thread.run_through("first", 30, 5, 5, grad_enabled=False)
    thread.run_through("second", 10, 5, 5, grad_enabled=True)
    thread.run_through("third", 10, 5, 5, grad_enabled=True)
    assert roles(recorded(store, thread)) == {"first": "validation", "second": "train", "third": "train"}


def test_a_framework_that_evaluates_with_gradients_enabled_around_the_loop_builds_no_graph(store: Store) -> None:
    thread = Thread(first=0, second=0)
    thread.run_through("first", 30, 5, 5, grad_enabled=True, graph_built=False)
    thread.run_through("second", 10, 5, 5, grad_enabled=True, graph_built=True)
    assert roles(recorded(store, thread)) == {"first": "validation", "second": "train"}


def test_a_run_without_gradients_trains_nothing(store: Store) -> None:
    thread = Thread(test=0)
    thread.run_through("test", 30, 5, 5, grad_enabled=False)
    assert roles(recorded(store, thread)) == {"test": "other"}


def test_a_run_that_leaves_gradients_enabled_trains_though_autograd_builds_nothing(store: Store) -> None:
    thread = Thread(only=0)
    thread.run_through("only", 30, 5, 5, grad_enabled=True, graph_built=False)
    assert roles(recorded(store, thread)) == {"only": "train"}


@pytest.mark.parametrize(("trained", "validated"), [(4, 16), (16, 4)])
@pytest.mark.parametrize("enabled", [(True, True), (False, False), (False, True)])
def test_where_no_loop_builds_a_graph_neither_length_nor_order_shows_which_one_trains(
    store: Store, enabled: tuple[bool, bool], trained: int, validated: int
) -> None:
    thread = Thread(one=0, other=0, val=0)
    for _ in range(3):
        thread.run_through("one", trained, 5, 5, grad_enabled=enabled[0], graph_built=False)
        thread.run_through("other", validated, 5, 5, grad_enabled=enabled[1], graph_built=False)
        thread.run_through("val", 4, 5, 5, grad_enabled=True, graph_built=False)
    assert roles(recorded(store, thread)) == {"one": "other", "other": "other", "val": "validation"}


def test_loaders_of_the_only_loop_are_trained_from_though_it_builds_no_graph(store: Store) -> None:
    thread = Thread(a=0, b=0, val=0)
    seen = {"grad_enabled": True, "graph_built": False}
    for name in ("a", "b"):
        thread.begin(name, **seen)
    for _ in range(30):
        for name in ("a", "b"):
            thread.ask(name, 5)
        thread.work(5)
    for name in ("a", "b"):
        thread.exhaust(name)
    thread.run_through("val", 90, 5, 5, **seen)
    assert roles(recorded(store, thread)) == {"a": "train", "b": "train", "val": "validation"}


def test_what_a_loader_cost_is_of_the_whole_run_and_of_all_ranks(store: Store) -> None:
    threads = [Thread(rank=rank, a=0) for rank in (0, 1)]
    for thread in threads:
        for _ in range(250):
            thread.run_through("a", 10, 6, 4, constructing=40)
    post(store, [thread.window() for thread in threads])
    limits = {"warmup_steps": 5, "judged_steps": 100}
    facts = condense(store, "run-1", choose=lambda _loaders, _status: "a", **limits)
    assert [len(rank.epochs) for rank in facts.ranks] == [200, 200]
    (loader,) = facts.loaders
    assert loader.steps == 2_500
    assert lost_us(loader) == pytest.approx(2 * 250 * (10 * 6 + 40) * MS)
    assert loader.spent_us == pytest.approx(2 * 250 * (10 * 10 + 40) * MS)


def test_of_a_whole_run_only_what_the_device_confirms_is_lost(store: Store) -> None:
    thread = Thread(a=2)
    thread.run_through("a", 400, 20, 30)
    window = thread.window()
    window["steps"][0] |= {"gpu_idle_us": [5_000] * 200 + [15_000] * 200, "queue_depth": [0] * 400}
    post(store, [window])
    facts = condense(store, "run-1", choose=lambda _loaders, _status: "a", warmup_steps=5, judged_steps=50)
    assert lost_us(facts.loaders[0]) == pytest.approx(400 * 10 * MS)


def test_loaders_beyond_the_first_twenty_are_counted(store: Store) -> None:
    thread = Thread("run-1", 0, **{f"loader_{number:02}": 0 for number in range(22)})
    for number, loader in enumerate(thread.loaders):
        thread.run_through(loader, 50 - number, 5, 5)
    found = recorded(store, thread)
    assert [each.judged_steps > 0 for each in found.values()] == [True] * 20 + [False] * 2
    assert found["loader_21"].steps == 29
    assert lost_us(found["loader_21"]) == 29 * 5 * MS


def test_a_loader_that_was_never_asked_is_listed_last(store: Store) -> None:
    thread = Thread(idle=0, a=0)
    thread.run_through("a", 30, 5, 5)
    found = recorded(store, thread)
    assert [(name, each.steps) for name, each in found.items()] == [("a", 30), ("idle", 0)]
