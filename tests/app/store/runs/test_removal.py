"""Deleting a run: it is hidden, can be restored for thirty days, and is then removed for good."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select

from tests.app.conftest import on_postgresql_alone
from tests.app.made_diagnosis import made_cause, made_diagnosis
from tests.app.made_windows import made_stream, made_window, posted_window
from tests.app.store.clock import WallClock
from tests.app.store.listing import listed
from tests.app.store.posting import post, settle
from underfed_server.errors import ConflictError, NotFoundError, OutOfOrderError
from underfed_server.model import Run
from underfed_server.names import CAUSES
from underfed_server.store.databases import tables
from underfed_server.store.runs import removal
from underfed_server.store.store import Store

ENDED = {"end": {"status": "finished"}}


def rows_left(store: Store) -> dict[str, int]:
    with store.reading() as reader:
        counts = {
            table.name: reader.connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in tables.RUN_TABLES
        }
    return {name: count for name, count in counts.items() if count}


def forget_all(store: Store) -> int:
    """How many pieces it took."""
    pieces = 0
    while (run_id := store.forgettable()) is not None:
        store.forget_some(run_id)
        pieces += 1
        assert pieces < 1_000
    return pieces


def all_but_the_moment(run: Run) -> Run:
    return run.model_copy(update={"last_seen_at": run.started_at})


@pytest.fixture
def ended(store: Store) -> Store:
    post(store, [*made_stream(30), made_window(30, **ENDED)])
    store.save_diagnosis(made_diagnosis(causes=[made_cause()]))
    settle(store)
    return store


def test_a_deleted_run_is_in_the_list_of_deleted_ones_alone(ended: Store) -> None:
    ended.delete_run("run-1")
    page = listed(ended)
    assert (page.runs, page.counts.all) == ([], 0)
    assert (ended.unjudged(), ended.projects(), ended.users(), ended.team_runs(tables.UNIX_EPOCH, CAUSES)) == (
        [],
        [],
        [],
        [],
    )
    (change,) = ended.changed_since(tables.UNIX_EPOCH)
    assert change.deleted_at is not None, "a page that was away has to take it out of its list"
    for read in (ended.run, ended.summary, ended.diagnosis, ended.delete_run, ended.replays, ended.earlier_runs):
        with pytest.raises(NotFoundError, match="no run 'run-1'"):
            read("run-1")


def test_a_deleted_run_comes_back_whole(ended: Store, clock: WallClock) -> None:
    before, diagnosis, steps = ended.run("run-1"), ended.diagnosis("run-1"), ended.steps("run-1", 0, "train")
    ended.delete_run("run-1")
    clock.advance(days=29)
    assert ended.forgettable() is None
    ended.restore_run("run-1")
    assert all_but_the_moment(ended.run("run-1")) == all_but_the_moment(before)
    assert ended.diagnosis("run-1") == diagnosis
    assert ended.steps("run-1", 0, "train").step_us.tolist() == steps.step_us.tolist()
    clock.advance(days=32)
    assert ended.forgettable() is None


def test_what_was_not_deleted_is_restored_by_doing_nothing(ended: Store) -> None:
    ended.restore_run("run-1")
    assert ended.run("run-1").run_id == "run-1"
    with pytest.raises(NotFoundError, match="no run 'nobody' to restore"):
        ended.restore_run("nobody")


def test_after_thirty_days_it_is_forgotten_in_pieces_until_nothing_is_left(
    ended: Store, clock: WallClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "ROWS_AT_ONCE", 2)
    ended.delete_run("run-1")
    clock.advance(days=31)
    with pytest.raises(NotFoundError, match="kept for 30 days"):
        ended.restore_run("run-1")
    assert forget_all(ended) > 3
    assert rows_left(ended) == {}
    # The same id may be used again, from its beginning.
    post(ended, made_stream(2))
    assert ended.summary("run-1").steps == 40


def test_a_run_that_has_lost_a_part_is_not_restored_by_a_clock_that_is_set_back(
    ended: Store, clock: WallClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "ROWS_AT_ONCE", 2)
    ended.delete_run("run-1")
    clock.advance(days=31)
    ended.forget_some("run-1")
    assert rows_left(ended) != {}
    clock.advance(days=-31)
    with pytest.raises(NotFoundError):
        ended.restore_run("run-1")


def test_late_windows_of_a_deleted_run_come_back_with_it_and_are_refused_once_it_is_forgotten(
    store: Store, clock: WallClock
) -> None:
    windows = list(made_stream(4))
    post(store, windows[:2])
    clock.advance(minutes=1)
    store.delete_run("run-1")
    post(store, windows[2:3])
    assert listed(store).runs == []
    clock.advance(minutes=1)
    store.restore_run("run-1")
    assert store.summary("run-1").steps == 60
    store.delete_run("run-1")
    clock.advance(days=31)
    forget_all(store)
    assert isinstance(store.submit(posted_window(windows[3])).result(timeout=30), OutOfOrderError)
    assert rows_left(store) == {}


def test_a_deleted_run_that_reports_again_is_forgotten_only_once_it_is_silent(store: Store, clock: WallClock) -> None:
    windows = list(made_stream(4))
    post(store, windows[:2])
    clock.advance(minutes=1)
    store.delete_run("run-1")
    clock.advance(days=31)
    post(store, windows[2:])
    assert store.forgettable() is None
    clock.advance(minutes=1)
    assert store.forgettable() == "run-1"


@on_postgresql_alone
def test_several_processes_forget_a_run_together(
    ended: Store, database_url: str, clock: WallClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "ROWS_AT_ONCE", 1)
    ended.delete_run("run-1")
    clock.advance(days=31)
    other = Store(database_url, now=clock)
    try:
        with ThreadPoolExecutor(2) as threads:
            pieces = [each.result(timeout=60) for each in [threads.submit(forget_all, each) for each in (ended, other)]]
        assert min(pieces) > 0
        assert rows_left(ended) == {}
        for store in (ended, other):
            late = made_window(31, previous_window_index=30)
            assert isinstance(store.submit(posted_window(late)).result(timeout=30), OutOfOrderError)
    finally:
        other.close()


@on_postgresql_alone
def test_a_run_that_another_process_removes_is_left_to_it(ended: Store, clock: WallClock) -> None:
    ended.delete_run("run-1")
    clock.advance(days=31)
    before = rows_left(ended)
    with ended.database.reading.connect() as other:
        other.exec_driver_sql("SET TRANSACTION READ WRITE")
        other.exec_driver_sql("SELECT run_id FROM run FOR UPDATE")
        ended.forget_some("run-1")
        assert rows_left(ended) == before
    ended.forget_some("run-1")
    assert rows_left(ended) == {}


def test_a_running_run_is_not_deleted(store: Store, clock: WallClock) -> None:
    post(store, [made_window(0)])
    with pytest.raises(ConflictError, match="still running"):
        store.delete_run("run-1")
    clock.advance(minutes=1)
    store.delete_run("run-1")
