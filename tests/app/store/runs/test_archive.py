"""Archived runs: out of the list and its counts, unless requested."""

from __future__ import annotations

import pytest

from tests.app.made_diagnosis import made_cause, made_diagnosis
from tests.app.made_windows import RUN, made_window
from tests.app.store.clock import WallClock
from tests.app.store.listing import listed
from tests.app.store.posting import post
from underfed_server.store.store import Store


@pytest.fixture(scope="module")
def two(shared_store: Store, shared_clock: WallClock) -> Store:
    return add_two(shared_store, shared_clock)


def add_two(store: Store, clock: WallClock) -> Store:
    """``kept``, and ``away``, which was archived."""
    for run_id in ("kept", "away"):
        end = {"end_us": 3_600_000_000, "end": {"status": "finished"}}
        post(store, [made_window(0, run_id=run_id, run=RUN | {"name": run_id}, **end)])
        store.save_diagnosis(made_diagnosis(run_id, hours_lost=1.0, hours_used=2.0, causes=[made_cause()]))
    clock.advance(minutes=1)
    store.edit_run("away", {"archived": True})
    return store


def ids(store: Store, **asked: str) -> set[str]:
    return {run.run_id for run in listed(store, **asked).runs}


def test_an_archived_run_is_out_of_list_and_counts_and_not_out_of_the_week(two: Store) -> None:
    page = listed(two)
    assert [run.run_id for run in page.runs] == ["kept"]
    assert (page.counts.all, page.week.hours_used) == (1, 4.0)
    assert two.run("away").archived_at is not None


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"archived": "true"}, {"away"}),
        ({"archived": "any"}, {"away", "kept"}),
        ({"archived": "false"}, {"kept"}),
        ({"q": "is:archived"}, {"away"}),
        ({"q": "-is:archived"}, {"kept"}),
        ({"q": "is:archived", "archived": "false"}, set()),
        ({"q": "away"}, set()),
        ({"q": "away", "archived": "any"}, {"away"}),
    ],
)
def test_archived_runs_are_listed_when_they_are_asked_for(
    two: Store, asked: dict[str, str], expected: set[str]
) -> None:
    assert ids(two, **asked) == expected


def test_a_run_is_unarchived_and_keeps_the_time_of_its_first_archiving(store: Store, clock: WallClock) -> None:
    two = add_two(store, clock)
    first = two.run("away").archived_at
    clock.advance(minutes=1)
    two.edit_run("away", {"archived": True})
    assert two.run("away").archived_at == first
    two.edit_run("away", {"archived": False})
    assert ids(two) == {"away", "kept"}


def test_projects_and_users_say_how_many_of_their_runs_are_archived(two: Store) -> None:
    (project,), (user,) = two.projects(), two.users()
    assert (project.project, project.runs, project.archived_runs, project.hours_lost) == ("vision", 2, 1, 2.0)
    assert (user.user, user.runs, user.archived_runs, user.hours_used) == ("ada", 2, 1, 4.0)
    assert (two.projects(frozenset(("vision",))), two.projects(frozenset(("other",)))) == ([project], [])
