"""Whole runs that nobody changed for long are archived, then deleted, as their project's retention says."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import update

from tests.app.made_windows import RUN, made_window
from tests.app.store.clock import WallClock
from tests.app.store.listing import listed
from tests.app.store.posting import post
from underfed_server.model import RunSummary
from underfed_server.store.databases import tables
from underfed_server.store.runs.ageing import MOST_AT_ONCE, Ages
from underfed_server.store.runs.audit_log import AuditFilter, Author
from underfed_server.store.store import Store
from underfed_server.store.team.retention_policy import FOR_EVER, RetentionPolicy
from underfed_server.store.upkeep.retention import Retention

DAY_US = 24 * 3_600 * 1_000_000
AGES = RetentionPolicy(archive_after_us=30 * DAY_US, delete_after_us=90 * DAY_US)


def record(store: Store, run_id: str, project: str = "vision", *, ended: bool = True) -> None:
    end = {"end": {"status": "finished"}} if ended else {}
    post(store, [made_window(0, run_id=run_id, run=RUN | {"project": project, "name": run_id}, **end)])


def age(store: Store, policy: RetentionPolicy = AGES) -> list[RunSummary]:
    """The runs that open pages receive."""
    published: list[RunSummary] = []
    Retention(store, policy, published.append).age_runs()
    return published


def places(store: Store) -> dict[str, str]:
    found = {run.run_id: "listed" for run in listed(store).runs}
    found |= {run.run_id: "archived" for run in listed(store, archived="true").runs}
    return found | {run.run_id: "deleted" for run in listed(store, deleted_since=tables.UNIX_EPOCH).runs}


def test_a_run_is_archived_and_later_deleted_and_can_be_restored(store: Store, clock: WallClock) -> None:
    record(store, "old")
    clock.advance(days=30)
    assert (age(store), places(store)) == ([], {"old": "listed"})
    clock.advance(seconds=1)
    assert [(run.run_id, run.archived_at) for run in age(store)] == [("old", clock.now)]
    assert (age(store), places(store)) == ([], {"old": "archived"}), "an archiving by age is no change"
    clock.advance(days=60)
    assert [(run.run_id, run.deleted_at) for run in age(store)] == [("old", clock.now)]
    assert places(store) == {"old": "deleted"}
    entries = [(each.action, each.by, each.run_id, each.project) for each in store.audit(AuditFilter()).entries]
    assert entries == [
        ("deleted_by_age", "retention", "old", "vision"),
        ("archived_by_age", "retention", "old", "vision"),
    ]
    store.restore_run("old", Author("ada"))
    clock.advance(days=29)
    assert (age(store), places(store)) == ([], {"old": "archived"}), "its age begins anew"
    clock.advance(days=62)
    assert [run.run_id for run in age(store)] == ["old"]


@pytest.mark.parametrize("change", [{"notes": "the baseline"}, {"name": "baseline"}, {"archived": False}])
def test_what_a_person_does_with_a_run_keeps_it(store: Store, clock: WallClock, change: dict[str, object]) -> None:
    record(store, "kept")
    record(store, "left")
    clock.advance(days=29)
    store.edit_run("kept", change, Author("ada"))
    clock.advance(days=2)
    assert [run.run_id for run in age(store)] == ["left"]


def test_a_window_is_a_change_and_a_running_run_is_left_alone(store: Store, clock: WallClock) -> None:
    record(store, "running", ended=False)
    clock.advance(days=100)
    post(store, [made_window(1, run_id="running")])
    clock.advance(seconds=10)
    assert age(store, RetentionPolicy(archive_after_us=1, delete_after_us=1)) == []
    clock.advance(days=91)
    assert [run.run_id for run in age(store)] == ["running"], "it sends no more, and never said that it ended"


def test_what_is_due_for_both_is_deleted_at_once(store: Store, clock: WallClock) -> None:
    record(store, "ancient")
    clock.advance(days=91)
    assert [(run.archived_at, run.deleted_at) for run in age(store)] == [(None, clock.now)]


def test_a_project_says_otherwise_than_the_service(store: Store, clock: WallClock) -> None:
    for project in ("vision", "speech", "text"):
        record(store, project, project)
    store.set_retention_policy("speech", RetentionPolicy(archive_after_us=FOR_EVER, delete_after_us=FOR_EVER))
    store.set_retention_policy("text", RetentionPolicy(delete_after_us=10 * DAY_US))
    clock.advance(days=31)
    assert {run.run_id for run in age(store)} == {"vision", "text"}
    assert places(store) == {"vision": "archived", "speech": "listed", "text": "deleted"}
    assert age(store, RetentionPolicy()) == []


@pytest.mark.sql
def test_what_runs_lost_stays_counted(store: Store, clock: WallClock) -> None:
    record(store, "old")
    values = {"hours_lost": 2.0, "hours_used": 5.0}
    store.write(lambda connection: connection.execute(update(tables.run).values(**values)))
    before = store.projects()[0].hours_lost
    clock.advance(days=31)
    age(store)
    assert store.projects()[0].hours_lost == before == 2.0
    clock.advance(days=60)
    age(store)
    store.keep_deleted = timedelta()
    clock.advance(seconds=1)
    while (run_id := store.forgettable()) is not None:
        store.forget_some(run_id)
    record(store, "new")
    assert store.projects()[0].hours_lost == before


@pytest.mark.sql
def test_what_would_be_done_is_shown_before_and_nothing_is_done(store: Store, clock: WallClock) -> None:
    record(store, "ancient")
    clock.advance(days=60)
    record(store, "old")
    clock.advance(days=31)
    record(store, "new")
    due = store.due_by_age("vision", AGES.ages, 10)
    assert (due.archived, due.deleted, due.archive_after_us) == (1, 1, 30 * DAY_US)
    assert [(run.run_id, run.fate, clock.now - run.unchanged_since) for run in due.runs] == [
        ("ancient", "deleted", timedelta(days=91)),
        ("old", "archived", timedelta(days=31)),
    ]
    assert store.due_by_age("vision", Ages(None, FOR_EVER), 10).runs == []
    assert places(store) == dict.fromkeys(("ancient", "old", "new"), "listed")
    assert {run.run_id for run in age(store)} == {"ancient", "old"}


def test_many_runs_are_done_in_pieces(store: Store, clock: WallClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("underfed_server.store.runs.ageing.MOST_AT_ONCE", 2)
    for count in range(5):
        record(store, f"run-{count}")
    clock.advance(days=31)
    assert len(store.age_runs("vision", AGES.ages)) == 2 < MOST_AT_ONCE
    assert len(age(store)) == 3
