"""The thread that removes deleted runs."""

from __future__ import annotations

import logging
import threading

import pytest

from tests.app.made_windows import made_stream, made_window
from tests.app.serving import poll
from tests.app.store.clock import WallClock
from tests.app.store.posting import post
from underfed_server.store.runs import removal
from underfed_server.store.store import Store
from underfed_server.store.upkeep import removing
from underfed_server.store.upkeep.removing import remove_deleted_runs


@pytest.fixture
def deleted(store: Store, clock: WallClock, monkeypatch: pytest.MonkeyPatch) -> Store:
    """``run-1`` can no longer be restored."""
    monkeypatch.setattr(removing, "RUNS_EVERY_S", 0.01)
    monkeypatch.setattr(removal, "ROWS_AT_ONCE", 2)
    post(store, [*made_stream(5), made_window(5, end={"status": "finished"})])
    store.delete_run("run-1")
    clock.advance(days=31)
    return store


def run_ids(store: Store) -> list[str]:
    with store.reading() as reader:
        return [str(row[0]) for row in reader.connection.exec_driver_sql("SELECT run_id FROM run")]


@pytest.mark.sql
def test_deleted_runs_are_forgotten_by_themselves(deleted: Store) -> None:
    tidying = remove_deleted_runs(deleted)
    tidying.start()
    try:
        poll(lambda: run_ids(deleted) == [])
    finally:
        tidying.close()
    assert "underfed-upkeep" not in [thread.name for thread in threading.enumerate()]


def test_a_failure_is_logged_and_tried_again(
    deleted: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    forget, failures = Store.forget_some, iter([OSError("no luck")])

    def fail_once(store: Store, run_id: str) -> None:
        for failure in failures:
            raise failure
        forget(store, run_id)

    monkeypatch.setattr(Store, "forget_some", fail_once)
    tidying = remove_deleted_runs(deleted)
    with caplog.at_level(logging.ERROR):
        tidying.start()
        try:
            poll(lambda: run_ids(deleted) == [])
        finally:
            tidying.close()
    assert "no luck" in caplog.text
