"""Which run is judged next, by a clock that tests turn."""

from __future__ import annotations

from itertools import count
from math import ceil
from typing import Any

import pytest

from tests.app.made_windows import made_window, posted_window
from underfed_server.api.due_runs import (
    APART_S,
    CONFIRM_S,
    FIRST_AGAIN_S,
    FORGET_S,
    LATE_S,
    MOST_CONFIRMED_S,
    SPARED,
    DueRuns,
)
from underfed_server.store.writing.counted_window import CountedWindow, counted

SLOW = ("data", "bound", "too_few_workers")


def judge(due: DueRuns, now: float, verdict: object | None = SLOW) -> str | None:
    """The next run; ``None``: none is due."""
    run_id = next(iter(due.ready(now)), None)
    if run_id is not None:
        due.take(run_id, now)
        due.note_verdict(run_id, verdict)
    return run_id


def test_a_first_verdict_comes_before_a_fresher_one() -> None:
    due = DueRuns()
    due.touch(["a", "b"], 0)
    assert [judge(due, 0), judge(due, 0)] == ["a", "b"]
    due.touch(["a", "b"], 10)
    due.touch(["new"], 11)
    assert [judge(due, 11) for _ in range(4)] == ["new", "a", "b", None]


def test_a_run_that_has_no_verdict_yet_does_not_keep_others_waiting() -> None:
    due = DueRuns()
    due.touch(["warming"], 0)
    assert judge(due, 0, None) == "warming"
    due.touch(["a"], 0)
    judge(due, 0)
    due.touch(["warming", "a"], 2)
    due.take("a", 2)
    due.touch(["a"], 2)
    assert due.ready(3.5) == ["warming", "a"], "the older judgement"
    due.take("warming", 3.5)
    due.touch(["warming"], 3.5)
    assert due.ready(5) == ["a", "warming"], "its turn"
    assert due.ready(3.5 + FIRST_AGAIN_S) == ["warming", "a"]


def test_one_run_is_judged_once_a_second_at_most() -> None:
    due = DueRuns()
    due.touch(["a"], 0)
    judge(due, 0)
    due.touch(["a"], 0.1)
    assert (judge(due, 0.9), due.next_at()) == (None, APART_S)
    assert judge(due, APART_S) == "a"


def test_what_changes_is_judged_more_often_and_nothing_waits_for_long() -> None:
    """Twenty runs that post every second, of which one changes its verdict each time; four are judged in a second."""
    due, judged_at, ages, verdicts = DueRuns(), dict.fromkeys(RUNS, 0.0), dict.fromkeys(RUNS, 0.0), count()
    turns = dict.fromkeys(RUNS, 0)
    for quarter in range(4 * 60):
        now = quarter / 4
        due.touch(RUNS, now)
        run_id = next(iter(due.ready(now)))
        due.take(run_id, now)
        due.note_verdict(run_id, next(verdicts) if run_id == "changing" else SLOW)
        ages[run_id] = max(ages[run_id], now - judged_at[run_id])
        judged_at[run_id], turns[run_id] = now, turns[run_id] + 1
    steady = [turns[run_id] for run_id in RUNS if run_id != "changing"]
    assert turns["changing"] > 2 * max(steady)
    assert max(ages.values()) < 10


def test_a_late_verdict_comes_before_what_changes() -> None:
    due = DueRuns()
    due.touch(["steady", "changing"], 0)
    judge(due, 0), judge(due, 1, "first")
    due.touch(["steady", "changing"], 1)
    judge(due, 1), judge(due, 2, "second")
    due.touch(["steady", "changing"], 2)
    assert due.ready(4)[0] == "changing", "what stays as it was can wait"
    due.take("changing", 4)
    due.note_verdict("changing", "third")
    due.touch(["changing"], 4)
    assert due.ready(1 + LATE_S - 0.1)[0] == "changing"
    assert due.ready(1 + LATE_S)[0] == "steady"


def windows(*indices: int, run_id: str = "a", **changes: Any) -> list[CountedWindow]:
    return [counted(posted_window(made_window(index, run_id=run_id, **changes))) for index in indices]


def busy() -> DueRuns:
    """So many runs train that one whose verdict holds is judged anew after twenty seconds; ``a`` is one of them."""
    due = DueRuns()
    due.note(windows(0), 0)
    judge(due, 0)
    due.note_pace(20 / SPARED, 0)
    return due


def test_a_verdict_that_holds_is_confirmed_where_there_is_more_to_judge_than_time() -> None:
    due = busy()
    found_at: list[int] = []
    confirmed_at: list[int] = []
    for second in range(1, 50):
        due.note(windows(second), second)
        if judge(due, second):
            found_at.append(second)
        if due.confirm(second):
            confirmed_at.append(second)
    assert found_at == [20, 40]
    assert confirmed_at == [5, 10, 15, 25, 30, 35, 45]


def test_where_there_is_time_it_is_found_anew_each_time() -> None:
    due = DueRuns()
    due.note(windows(0), 0)
    judge(due, 0)
    due.note(windows(1), 0.5)
    assert (judge(due, APART_S), due.confirm(APART_S)) == ("a", [])


def test_a_verdict_that_is_contradicted_is_due_at_once() -> None:
    due = busy()
    due.note(windows(1), 2)
    assert due.next_at() == 20
    due.note(windows(2, end={"status": "finished"}), 6)
    assert (due.ready(6), due.confirm(6)) == (["a"], [])


def test_one_that_holds_is_found_anew_in_the_end_before_fresher_ones() -> None:
    due = busy()
    due.note(windows(0, run_id="changes"), 0)
    for second in range(1, ceil(MOST_CONFIRMED_S) + 5):
        due.note(windows(second), second)
        if second > 20:
            due.note(windows(second, run_id="changes", end={"status": "finished"}), second)
            assert due.ready(second)[0] == ("changes" if second < MOST_CONFIRMED_S else "a")
            due.take("changes", second)
            due.note_verdict("changes", second)
        if second < MOST_CONFIRMED_S:
            assert bool(due.confirm(second)) == (second % 5 == 0)
    assert due.confirm(second) == []


@pytest.mark.parametrize("has_failed", [False, True])
def test_there_is_nothing_to_confirm_without_a_verdict(has_failed: bool) -> None:
    due = busy()
    due.note(windows(1), 2)
    due.take("a", 5)
    if not has_failed:
        due.note_verdict("a", None)
    due.note(windows(2), 6)
    assert due.ready(6) == ["a"]
    assert due.confirm(5 + CONFIRM_S) == []


def test_a_window_that_comes_while_the_run_is_judged_does_not_hurry_the_next_judgement() -> None:
    due = busy()
    due.note(windows(1), 2)
    due.take("a", 20)
    due.note(windows(2), 20.5)
    due.note_verdict("a", SLOW)
    assert due.next_at() == 20 + 20


def test_a_run_that_has_fallen_silent_is_found_anew() -> None:
    due = busy()
    due.note(windows(1), 2)
    assert due.confirm(5) == ["a"]
    assert due.confirm(10) == [], "no window came"
    due.note(windows(run_id="other"), 10)
    judge(due, 20)
    due.touch(["a"], 25)
    assert due.ready(25) == ["a"], "what has changed is its status"


def test_runs_that_another_thread_judges_are_not_what_is_waited_for() -> None:
    due = DueRuns()
    due.touch(["a"], 1)
    due.touch(["b"], 3)
    assert (due.next_at(), due.next_at(but={"a"}), due.next_at(but={"a", "b"})) == (1, 3, None)


RUNS = ["changing", *(f"steady-{number}" for number in range(19))]


def test_a_run_that_another_process_judges_is_asked_for_later() -> None:
    due = DueRuns()
    due.touch(["a"], 0)
    due.take("a", 0)
    due.defer("a", 5)
    due.touch(["a"], 1)
    assert (judge(due, 4.9), judge(due, 5)) == (None, "a")


def test_nothing_is_kept_of_runs_that_are_over() -> None:
    due = DueRuns()
    due.touch(["a"], 0)
    judge(due, 0)
    due.forget_silent(FORGET_S + 1)
    due.touch(["b", "a"], FORGET_S + 2)
    assert due.ready(FORGET_S + 2) == ["b", "a"], "as one that was never judged"
