"""What comes of a run after it was judged: whether it says the same."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.made_windows import made_stream, made_window, posted_window
from underfed_server.api.held_verdicts import SAYS_MORE, HeldVerdicts
from underfed_server.ingest.wire import Window, WindowRows
from underfed_server.store.writing.counted_window import CountedWindow, counted

STEPS = 100
HALF = 50_000


def window(index: int = 1, *, rank: int = 0, wait_us: int = HALF, step_us: int = 100_000, **more: Any) -> CountedWindow:
    """Of so many equal steps."""
    idle_us = more.pop("idle_us", None)
    steps = {
        "loader": more.pop("loader", "train"), "epoch_index": 0, "first_step_index": index * STEPS,
        "first_batch_index": index * STEPS, "start_us": 0, "step_us": [step_us] * STEPS,
        "data_wait_us": [wait_us] * STEPS, "gpu_idle_us": None if idle_us is None else [idle_us] * STEPS,
    }  # fmt: skip
    return counted(posted_window(made_window(index, rank=rank, steps=[steps], **more)))


@pytest.fixture
def held() -> HeldVerdicts:
    """Of a run of eight ranks that was judged after ten windows of each."""
    held = HeldVerdicts()
    held.note([window(index, rank=rank) for index in range(10) for rank in range(8)])
    held.begin("run-1")
    return held


def test_a_verdict_holds_while_steps_go_on_as_before(held: HeldVerdicts) -> None:
    assert held.note([window(10 + index, rank=rank) for index in range(40) for rank in range(8)]) == set()
    assert held.holds("run-1")


def test_what_was_never_judged_or_had_no_window_since_holds_for_nothing(held: HeldVerdicts) -> None:
    assert not held.holds("run-1"), "a run may have fallen silent"
    held.note([window(10)])
    assert held.holds("run-1")
    held.confirm("run-1")
    assert not held.holds("run-1")
    held.note([window(0, run_id="new")])
    assert not held.holds("new")
    assert not held.holds("unheard of")


@pytest.mark.parametrize(
    "other",
    [
        {"wait_us": 70_000},
        {"wait_us": 30_000},
        {"idle_us": 20_000},
        {"step_us": 130_000, "wait_us": 65_000},
        {"loader": "validation"},
        {"rank": 8},
    ],
    ids=str,
)
def test_what_would_change_its_figures_contradicts_it_once(held: HeldVerdicts, other: dict[str, Any]) -> None:
    """Ten windows of one rank: a twentieth of what the run was judged by, and all of what the rank was."""
    contradicted = [held.note([window(10 + index, **other)]) for index in range(10)]
    assert sum(map(len, contradicted)) == 1
    assert not held.holds("run-1")
    held.begin("run-1")
    held.note([window(20, **other)])
    assert held.holds("run-1"), "it is what the run is judged by now"


@pytest.mark.parametrize(
    "more",
    [
        {"end": {"status": "finished"}},
        {"loaders": [{"loader": "train", "settings": {"num_workers": 4}}]},
        {"workers": [{"loader": "train", "iterator_index": 0, "worker": 0}]},
        {"run": {"project": "vision", "name": "again"}},
    ],
    ids=lambda more: next(iter(more)),
)
def test_anything_but_steps_may_change_it(held: HeldVerdicts, more: dict[str, Any]) -> None:
    assert held.note([window(10, **more)]) == {"run-1"}


@pytest.mark.parametrize(
    ("epoch", "holds"),
    [({"iterator_us": 300_000}, True), ({"iterator_us": 30_000_000}, False), ({"loader": "validation"}, False)],
    ids=str,
)
def test_an_epoch_that_begins_is_of_its_loader_and_takes_its_time(
    held: HeldVerdicts, epoch: dict[str, Any], holds: bool
) -> None:
    begun = {"loader": "train", "epoch_index": 1, "start_us": 0, "first_step_index": 1_000, **epoch}
    held.note([window(10, epochs=[begun])])
    assert held.holds("run-1") is holds


def test_each_part_of_a_window_is_rows_or_may_change_a_verdict_or_can_wait_until_it_is_found_anew() -> None:
    """One that is new is in none of these, and its author decides."""
    where_and_when = {
        "version", "run_id", "rank", "incarnation", "window_index", "previous_window_index", "started_at", "start_us",
        "end_us",
    }  # fmt: skip
    can_wait = {"epochs", "stacks", "losses", "overhead_us"}
    parts = [*where_and_when, *can_wait, *SAYS_MORE, *WindowRows.__struct_fields__]
    assert sorted(parts) == sorted(Window.__struct_fields__)


def test_of_a_window_that_was_counted_its_rows_are_not_kept() -> None:
    posted = posted_window(next(made_stream(1, end={"status": "finished"})))
    kept = counted(posted).window
    assert all(getattr(posted.window, name) for name in WindowRows.__struct_fields__)
    assert [name for name in WindowRows.__struct_fields__ if getattr(kept, name)] == []
    assert (kept.run, kept.loaders, kept.end) == (posted.window.run, posted.window.loaders, posted.window.end)


def test_one_rank_that_falls_behind_contradicts_though_the_run_is_as_before() -> None:
    """One of a thousand, whose steps are few among all."""
    held = HeldVerdicts()
    held.note([window(0, rank=rank) for rank in range(1_000)])
    held.begin("run-1")
    assert held.note([window(1, rank=7, wait_us=90_000)]) == {"run-1"}


def test_what_one_rank_may_vary_by_all_of_them_may_not(held: HeldVerdicts) -> None:
    """By three points in the end."""
    of_one = [window(10 + index, wait_us=HALF + 3_000) for index in range(60)]
    assert held.note(of_one) == set()
    of_others = [window(10 + index, rank=rank, wait_us=HALF + 3_000) for rank in range(1, 8) for index in range(60)]
    assert held.note(of_others) == {"run-1"}


def test_small_changes_add_up(held: HeldVerdicts) -> None:
    """A wait that grows by half a point from window to window, of all ranks."""
    contradicted = [
        index
        for index in range(30)
        if held.note([window(10 + index, rank=rank, wait_us=HALF + 500 * index) for rank in range(8)])
    ]
    assert len(contradicted) == 1
    assert 3 < contradicted[0] < 25


def test_a_run_that_waits_for_nothing_is_contradicted_by_little() -> None:
    held = HeldVerdicts()
    held.note([window(index, wait_us=100) for index in range(10)])
    held.begin("run-1")
    assert held.note([window(10, wait_us=200)]) == set()
    assert held.note([window(11, wait_us=20_000)]) == {"run-1"}


@pytest.mark.parametrize(("windows", "wait_us", "holds"), [(1, 58_000, True), (1, 70_000, False), (20, 58_000, False)])
def test_of_few_steps_a_mean_may_move_further(windows: int, wait_us: int, holds: bool) -> None:
    """In each case the mean moves by four points or ten, from half of the time."""
    held = HeldVerdicts()
    held.note([window(index) for index in range(windows)])
    held.begin("run-1")
    held.note([window(windows + index, wait_us=wait_us) for index in range(windows)])
    assert held.holds("run-1") is holds


def test_what_is_forgotten_is_as_never_seen(held: HeldVerdicts) -> None:
    held.forget("run-1")
    held.note([window(10)])
    assert not held.holds("run-1")
