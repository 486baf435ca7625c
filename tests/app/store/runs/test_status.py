"""Running, finished, crashed, or lost: by what the ranks reported and how long they were silent."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.made_diagnosis import made_diagnosis
from tests.app.made_windows import made_window
from tests.app.store.clock import WallClock
from tests.app.store.listing import listed
from tests.app.store.posting import post
from underfed_server.store.store import Store

FINISHED = {"end": {"status": "finished", "exit_code": 0}}
CRASHED = {"end": {"status": "crashed", "exit_reason": "CUDA out of memory", "exit_code": 1}}


def status(store: Store) -> str:
    """The status from the row, and the same from the filter that the database evaluates."""
    said = store.summary("run-1").status
    found = [name for name in ("running", "finished", "crashed", "lost") if listed(store, status=name).runs]
    assert found == [said]
    assert getattr(listed(store).counts, said) == 1
    return said


def test_a_run_is_running_while_windows_come_and_lost_after_30_s(store: Store, clock: WallClock) -> None:
    post(store, [made_window(0)])
    clock.advance(seconds=30)
    assert status(store) == "running"
    clock.advance(seconds=1)
    assert status(store) == "lost"
    post(store, [made_window(1)])
    assert status(store) == "running"


@pytest.mark.parametrize(("end", "expected"), [(FINISHED, "finished"), (CRASHED, "crashed")])
def test_a_run_that_said_how_it_ended_stays_so(
    store: Store, clock: WallClock, end: dict[str, Any], expected: str
) -> None:
    post(store, [made_window(0), made_window(1, **end)])
    assert status(store) == expected
    clock.advance(days=3)
    assert status(store) == expected
    run = store.run("run-1")
    assert run.exit_reason == end["end"].get("exit_reason")
    assert run.ended_at is not None
    assert (run.ended_at - run.started_at).total_seconds() == 2


def test_a_run_ends_with_its_last_rank(store: Store, clock: WallClock) -> None:
    post(store, [made_window(0), made_window(0, rank=1), made_window(1, **FINISHED)])
    assert status(store) == "running"
    assert store.run("run-1").ended_at is None
    post(store, [made_window(1, rank=1, **FINISHED)])
    assert status(store) == "finished"


def test_one_crashed_rank_makes_the_run_crashed_once_the_others_are_silent(store: Store, clock: WallClock) -> None:
    post(store, [made_window(0), made_window(0, rank=1), made_window(1, rank=1, **CRASHED)])
    assert status(store) == "running"
    clock.advance(seconds=31)
    assert status(store) == "crashed"
    assert store.run("run-1").exit_reason == "CUDA out of memory"


def test_a_rank_that_was_started_again_runs_again(store: Store, clock: WallClock) -> None:
    post(store, [made_window(0), made_window(1, **CRASHED)])
    assert status(store) == "crashed"
    post(store, [made_window(0, incarnation=2)])
    assert status(store) == "running"
    assert store.run("run-1").exit_reason is None
    post(store, [made_window(1, incarnation=2, **FINISHED)])
    assert status(store) == "finished"


def test_runs_are_unjudged_after_every_window_and_when_they_fall_silent(store: Store, clock: WallClock) -> None:
    post(store, [made_window(0)])
    assert store.unjudged() == ["run-1"]
    clock.advance(seconds=1)
    store.note_judged("run-1", [])
    assert store.unjudged() == []
    clock.advance(seconds=1)
    post(store, [made_window(1)])
    assert store.unjudged() == ["run-1"]
    clock.advance(seconds=1)
    store.note_judged("run-1", [])
    clock.advance(seconds=31)
    assert store.unjudged() == ["run-1"]
    store.note_judged("run-1", [])
    assert store.unjudged() == []


def test_a_clock_that_is_set_back_does_not_keep_a_silent_run_running(store: Store, clock: WallClock) -> None:
    post(store, [made_window(0)])
    clock.advance(hours=-2)
    assert status(store) == "lost"
    post(store, [made_window(1)])
    assert status(store) == "running"
    clock.advance(seconds=31)
    assert status(store) == "lost"


def test_a_clock_that_is_set_forward_loses_a_run_until_its_next_window(store: Store, clock: WallClock) -> None:
    post(store, [made_window(0)])
    clock.advance(hours=2)
    assert status(store) == "lost"
    post(store, [made_window(1)])
    assert status(store) == "running"


def test_a_run_is_judged_again_though_the_clock_was_set_back_since(store: Store, clock: WallClock) -> None:
    post(store, [made_window(0)])
    clock.advance(seconds=1)
    store.note_judged("run-1", [])
    clock.advance(hours=-2)
    post(store, [made_window(1)])
    assert store.unjudged() == ["run-1"]
    clock.advance(seconds=1)
    store.note_judged("run-1", [])
    assert store.unjudged() == []


def test_the_figures_of_an_ended_run_are_final_once_its_last_window_was_judged(store: Store, clock: WallClock) -> None:
    post(store, [made_window(0)])
    clock.advance(seconds=1)
    store.note_judged("run-1", [])
    assert not store.summary("run-1").is_final, "it runs"
    began = store.now()
    clock.advance(seconds=1)
    post(store, [made_window(1, **FINISHED)])
    store.save_diagnosis(made_diagnosis(status="finished"))
    store.note_judged("run-1", [], began)
    assert store.unjudged() == ["run-1"], "the last window came while it was judged"
    for final in (False, True):
        diagnosis = store.diagnosis("run-1")
        assert diagnosis is not None
        assert (store.summary("run-1").is_final, diagnosis.is_final) == (final, final)
        clock.advance(seconds=1)
        store.note_judged("run-1", [])
