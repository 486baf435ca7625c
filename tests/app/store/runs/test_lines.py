"""The list's line of a run is cached while the run does not change, and never longer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import event

from tests.app.made_diagnosis import made_cause, made_diagnosis
from tests.app.made_windows import RUN, made_stream, made_window
from tests.app.store.clock import WallClock
from tests.app.store.listing import listed
from tests.app.store.posting import post
from underfed_server.store.runs import lines
from underfed_server.store.store import Store


@pytest.fixture
def resting(store: Store, clock: WallClock) -> Store:
    """``run-1`` was listed and has not changed since."""
    post(store, made_stream(3))
    store.save_diagnosis(made_diagnosis())
    clock.advance(seconds=20)
    listed(store)
    return store


def asked_of(store: Store) -> list[str]:
    """The tables that a list is read from."""
    statements: list[str] = []
    note = lambda *about: statements.append(about[2])  # noqa: E731
    event.listen(store.database.reading, "before_cursor_execute", note)
    listed(store)
    event.remove(store.database.reading, "before_cursor_execute", note)
    return statements


def test_lines_of_unchanged_runs_are_not_built_again(resting: Store) -> None:
    assert not any("FROM rank" in statement for statement in asked_of(resting))


def test_a_line_of_a_run_that_just_changed_is_built_again(store: Store) -> None:
    post(store, made_stream(3))
    listed(store)
    assert any("FROM rank" in statement for statement in asked_of(store))


def delete_and_restore(store: Store) -> None:
    store.delete_run("run-1")
    store.restore_run("run-1")


CHANGES: dict[str, Callable[[Store], object]] = {
    "a window": lambda store: post(store, [list(made_stream(4))[3]]),
    "another rank": lambda store: post(store, [made_window(0, rank=1, run=RUN | {"hostname": "node-2"})]),
    "its end": lambda store: post(store, [made_window(3, end={"status": "crashed", "exit_reason": "killed"})]),
    "a judgement": lambda store: store.save_diagnosis(made_diagnosis(hours_lost=7.0, causes=[made_cause()])),
    "a spark": lambda store: store.note_judged("run-1", [0.5, None]),
    "a name": lambda store: store.edit_run("run-1", {"name": "mine"}),
    "tags": lambda store: store.edit_run("run-1", {"tags": {"a": "b"}}),
    "being put away": lambda store: store.edit_run("run-1", {"archived": True}),
    "being deleted and restored": delete_and_restore,
    "time": lambda _: None,
}


@pytest.mark.sql
@pytest.mark.parametrize("change", CHANGES)
def test_a_line_is_what_the_run_is_after_every_change(resting: Store, clock: WallClock, change: str) -> None:
    clock.advance(seconds=20)
    CHANGES[change](resting)
    for _ in range(3):
        assert listed(resting, archived="any").runs == [resting.summary("run-1")]
        clock.advance(seconds=10)


def test_no_more_lines_are_kept_than_may_be(store: Store, clock: WallClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MOST_KEPT", 2)
    for number in range(5):
        post(store, [made_window(0, run_id=f"run-{number}", run=RUN | {"name": str(number)})])
    clock.advance(minutes=1)
    for _ in range(3):
        assert [run.name for run in listed(store, sort="name").runs] == list("01234")
