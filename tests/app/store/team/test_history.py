"""What past weeks lost does not change because somebody archives or deletes runs."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update

from tests.app.made_diagnosis import made_advice, made_cause, made_diagnosis, made_entry
from tests.app.made_windows import RUN, made_window
from tests.app.store.clock import WallClock
from tests.app.store.listing import listed
from tests.app.store.posting import post
from underfed_server.model import Team
from underfed_server.store.databases import tables
from underfed_server.store.store import Store
from underfed_server.team.lost_hours import read_team

HOUR_US = 3_600_000_000
MOUNT = {"loader": "train", "mount": "/data", "file_system": "nfs4", "device": "nas:/data", "kind": "network",
         "files_seen": 900, "example": None}  # fmt: skip


@pytest.fixture
def two(store: Store) -> Store:
    """``kept``, and ``thrown``, which gained by advice that it carried."""
    for run_id in ("kept", "thrown"):
        run = RUN | {"name": run_id, "hostname": "gpu-03"}
        post(
            store,
            [made_window(0, run_id=run_id, run=run, end_us=HOUR_US, storage=[MOUNT], end={"status": "finished"})],
        )
        found = made_diagnosis(run_id, hours_lost=1.0, hours_used=2.0, causes=[made_cause()], advice=[made_advice()])
        store.save_diagnosis(found.model_copy(update={"ledger": [made_entry(run_id, 1.6)]}))
    proven = update(tables.run).values(observed_speedup=1.5)
    store.write(lambda connection: connection.execute(proven))
    return store


def figures(store: Store) -> tuple[Any, Any]:
    return listed(store).week, read_team(store).model_copy(update={"shared_causes": []})


def remove_for_good(store: Store, clock: WallClock) -> None:
    clock.advance(minutes=2)
    while (run_id := store.forgettable()) is not None:
        store.forget_some(run_id)


def hours_of(store: Store) -> tuple[float, ...]:
    (project,), (user,) = store.projects(), store.users()
    return project.hours_lost, project.hours_used, user.hours_lost, user.hours_used


def test_the_week_and_the_team_say_the_same_whatever_is_archived_deleted_or_removed(
    database_url: str, two: Store, clock: WallClock
) -> None:
    clock.advance(minutes=1)
    before, hours = figures(two), hours_of(two)
    assert before[0].hours_lost == 2.0
    team: Team = before[1]
    assert ([each.name for each in team.mounts], team.hit_rates[0].proven) == (["nas:/data"], 2)

    two.edit_run("thrown", {"archived": True})
    assert (figures(two), hours_of(two)) == (before, hours)
    two.delete_run("thrown")
    assert (figures(two), hours_of(two)) == (before, hours)
    two.keep_deleted = two.keep_deleted * 0
    remove_for_good(two, clock)
    assert two.projects()[0].runs == 1
    assert (figures(two), hours_of(two)) == (before, hours)
    assert listed(two, within=frozenset(("vision",))).week == before[0]
    assert listed(two, within=frozenset(("other",))).week.hours_used == 0


@pytest.mark.sql
def test_of_a_removed_run_nothing_but_its_figures_stays(two: Store, clock: WallClock) -> None:
    two.edit_run("thrown", {"notes": "secret"})
    clock.advance(minutes=1)
    two.delete_run("thrown")
    two.keep_deleted = two.keep_deleted * 0
    remove_for_good(two, clock)
    with two.reading() as reader:
        (row,) = reader.connection.exec_driver_sql("SELECT * FROM removed_run").mappings()
    assert set(row) == set(tables.removed_run.c.keys())
    assert "secret" not in str(dict(row))


def test_an_id_that_is_used_again_counts_once(two: Store, clock: WallClock) -> None:
    clock.advance(minutes=1)
    two.delete_run("thrown")
    two.keep_deleted = two.keep_deleted * 0
    remove_for_good(two, clock)
    post(two, [made_window(0, run_id="thrown", run=RUN, end_us=HOUR_US, end={"status": "finished"})])
    two.save_diagnosis(made_diagnosis("thrown", hours_lost=0.5, hours_used=2.0, causes=[made_cause()]))
    assert listed(two).week.hours_lost == 1.5
    # And is removed again, with what it lost the second time.
    two.delete_run("thrown")
    remove_for_good(two, clock)
    assert listed(two).week.hours_lost == 1.5


@pytest.mark.sql
def test_a_run_that_was_never_judged_leaves_nothing(store: Store, clock: WallClock) -> None:
    post(store, [made_window(0, end={"status": "finished"})])
    store.delete_run("run-1")
    store.keep_deleted = store.keep_deleted * 0
    remove_for_good(store, clock)
    with store.reading() as reader:
        assert reader.connection.exec_driver_sql("SELECT count(*) FROM removed_run").scalar() == 0


@pytest.mark.sql
def test_what_is_predicted_learns_nothing_from_deleted_runs(two: Store, clock: WallClock) -> None:
    assert len(two.observed(["gpu-03"], 50)) == 2
    clock.advance(minutes=1)
    two.delete_run("thrown")
    assert [sorted(each.run_ids) for each in two.observed(["gpu-03"], 50)] == [["earlier", "kept"]]
    assert len(two.proven()) == 2


@pytest.mark.sql
def test_deleted_runs_are_listed_searched_and_sorted_until_they_are_removed(two: Store, clock: WallClock) -> None:
    clock.advance(minutes=1)
    two.edit_run("kept", {"archived": True})
    for run_id in ("kept", "thrown"):
        two.delete_run(run_id)
        clock.advance(minutes=1)
    since = clock.now - two.keep_deleted
    page = listed(two, deleted_since=since, sort="-deleted_at", limit=1)
    assert [run.run_id for run in page.runs] == ["thrown"]
    assert page.counts.all == 2
    rest = listed(two, deleted_since=since, sort="-deleted_at", limit=1, cursor=page.next_cursor)
    assert [run.run_id for run in rest.runs] == ["kept"]
    assert [run.run_id for run in listed(two, deleted_since=since, q="name:thr").runs] == ["thrown"]
    two.restore_run("thrown")
    assert [run.run_id for run in listed(two, deleted_since=since).runs] == ["kept"]
    clock.advance(days=31)
    assert listed(two, deleted_since=clock.now - two.keep_deleted).runs == []
