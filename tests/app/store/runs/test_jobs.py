"""The list grouped by job, and columns of what runs were configured with: alike on every database."""

from __future__ import annotations

from typing import Any

import pytest

from tests.app.made_diagnosis import made_cause, made_diagnosis
from tests.app.made_windows import RUN, made_window
from tests.app.store.clock import WallClock
from tests.app.store.listing import listed
from tests.app.store.posting import post
from underfed_server.errors import InvalidError
from underfed_server.model import JobsPage
from underfed_server.store.runs.listing import RunFilter
from underfed_server.store.store import Store

RUNS: tuple[tuple[str, str, float, dict[str, Any]], ...] = (
    ("a1", "a", 0.5, {"lr": 0.1, "net": "b"}),
    ("b1", "b", 0.1, {"lr": 10, "net": "a"}),
    ("a2", "a", 0.3, {"lr": 9, "net": 7}),
    ("alone", "", 0.2, {}),
    ("a3", "a", 0.1, {"lr": True, "net": "c" * 1_000}),
    ("alone-too", "", 0.0, {"lr": None}),
)
"""Id, job, share of data wait, and configuration, oldest first."""


@pytest.fixture(scope="module")
def several(shared_store: Store, shared_clock: WallClock) -> Store:
    return add_runs(shared_store, shared_clock)


def add_runs(store: Store, clock: WallClock) -> Store:
    for run_id, job, stall, config in RUNS:
        run = RUN | {"name": run_id, "job": job, "config": config}
        started = clock.now.isoformat()
        post(store, [made_window(0, run_id=run_id, run=run, started_at=started, end={"status": "finished"})])
        found = made_diagnosis(run_id, hours_lost=stall * 10, hours_used=10.0, causes=[made_cause()])
        store.save_diagnosis(found.model_copy(update={"data_stall_fraction": stall}))
        clock.advance(minutes=1)
    return store


def jobs(store: Store, **asked: Any) -> JobsPage:
    return JobsPage.model_validate_json(store.jobs(RunFilter(**asked)))


def rows(page: JobsPage) -> list[tuple[str, int, str]]:
    return [(each.job, each.runs, each.newest.run_id) for each in page.jobs]


def test_runs_are_grouped_by_job_and_led_by_the_newest(several: Store) -> None:
    page = jobs(several)
    assert rows(page) == [("", 1, "alone-too"), ("a", 3, "a3"), ("", 1, "alone"), ("b", 1, "b1")]
    line = page.jobs[1]
    assert (line.trend, line.hours_lost, line.project) == ([0.5, 0.3, 0.1], 9.0, "vision")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"sort": "-hours_lost"}, ["a3", "alone", "b1", "alone-too"]),
        ({"sort": "-runs"}, ["a3", "alone-too", "alone", "b1"]),
        ({"sort": "-data_stall_fraction"}, ["alone", "a3", "b1", "alone-too"]),
        ({"sort": "name"}, ["a3", "alone", "alone-too", "b1"]),
        ({"q": "stall>0.2"}, ["a2"]),
        ({"within": "other"}, []),
    ],
)
def test_jobs_are_sorted_and_filtered(several: Store, asked: dict[str, str], expected: list[str]) -> None:
    assert [each.newest.run_id for each in jobs(several, **asked).jobs] == expected


@pytest.mark.parametrize("sort", ["-started_at", "hours_lost", "-runs", "name", "status", "-step_us"])
def test_jobs_come_page_by_page_each_once(several: Store, sort: str) -> None:
    whole = [each.newest.run_id for each in jobs(several, sort=sort).jobs]
    seen, cursor = [], None
    for _ in whole:
        page = jobs(several, sort=sort, limit=1, cursor=cursor)
        seen += [each.newest.run_id for each in page.jobs]
        cursor = page.next_cursor
    assert (seen, cursor) == (whole, None)


def test_an_unknown_sort_of_jobs_is_refused(several: Store) -> None:
    with pytest.raises(InvalidError, match="runs"):
        jobs(several, sort="config:lr")


def test_the_runs_of_one_job_are_listed(several: Store) -> None:
    assert [run.run_id for run in listed(several, job="a").runs] == ["a3", "a2", "a1"]


def test_values_of_configurations_come_beside_the_runs_that_have_them(several: Store) -> None:
    page = listed(several, config=("lr", "net", "nothing"))
    assert page.config == {
        "a1": {"lr": 0.1, "net": "b"},
        "b1": {"lr": 10, "net": "a"},
        "a2": {"lr": 9, "net": 7},
        "a3": {"lr": True, "net": "c" * 200},
        "alone-too": {"lr": None},
    }
    assert listed(several).config == {}
    assert [(each.key, each.runs) for each in several.config_keys()] == [("lr", 5), ("net", 4)]
    assert several.config_keys(frozenset(("other",))) == []


SORTED = {
    "config:lr": ["a1", "a2", "b1", "a3", "alone-too", "alone"],
    "-config:lr": ["b1", "a2", "a1", "a3", "alone-too", "alone"],
    "config:net": ["a2", "b1", "a1", "a3", "alone-too", "alone"],
    "-config:net": ["a2", "a3", "a1", "b1", "alone-too", "alone"],
    "config:nothing'\"": ["alone-too", "a3", "alone", "a2", "b1", "a1"],
}
"""Numbers by their size, then texts, then runs without a value, the newest first."""


@pytest.mark.parametrize("sort", SORTED)
def test_runs_are_sorted_by_a_value_and_come_page_by_page(several: Store, sort: str) -> None:
    assert [run.run_id for run in listed(several, sort=sort).runs] == SORTED[sort]
    seen, cursor = [], None
    for _ in RUNS:
        page = listed(several, sort=sort, limit=1, cursor=cursor)
        seen += [run.run_id for run in page.runs]
        cursor = page.next_cursor
    assert (seen, cursor) == (SORTED[sort], None)


def test_a_configuration_that_is_sent_again_replaces_the_one_before(store: Store, clock: WallClock) -> None:
    several = add_runs(store, clock)
    run = RUN | {"name": "a1", "job": "a", "config": {"lr": 5}}
    post(several, [made_window(1, run_id="a1", run=run)])
    assert listed(several, config=("lr", "net"), q="id=a1").config == {"a1": {"lr": 5}}


def test_the_runs_of_a_job_around_one_are_listed_oldest_first(several: Store) -> None:
    assert several.job_runs("a2", 30) == ["a1", "a2", "a3"]
    assert several.job_runs("a2", 2) == ["a2", "a3"]
    assert several.job_runs("a3", 2) == ["a2", "a3"]
    assert several.job_runs("a1", 1) == ["a1"]
    assert several.job_runs("alone", 30) == ["alone"]
