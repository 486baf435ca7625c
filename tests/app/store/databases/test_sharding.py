"""What a database that spreads runs over several machines needs: keys that begin with the run, queries that name it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Table, event
from starlette.testclient import TestClient

from tests.app.conftest import on_postgresql_alone
from tests.app.made_windows import made_stream, made_window
from tests.app.store.clock import WallClock
from tests.app.store.posting import post
from underfed_server.diagnose import Diagnoser
from underfed_server.main import Application
from underfed_server.store.databases import tables
from underfed_server.store.store import Store
from underfed_server.store.team.retention_policy import RetentionPolicy
from underfed_server.store.upkeep.retention import Retention
from underfed_server.store.writing.compact import compact
from underfed_server.store.writing.streams import StreamKey

NAMES_THE_RUN = re.compile(r"\brun_id (=|IN \()|\(?\w+\.run_id, \w+\.rank, \w+\.incarnation\)? IN")
OF_A_TABLE = re.compile(r"\b(?:FROM|JOIN|UPDATE) \"?(\w+)")
OF_EVERY_RUN = ("underfed-scheduler", "underfed-follower", "underfed-upkeep", "underfed-retention")
"""Names of threads begin so."""
RUN_TABLES = {table.name for table in tables.RUN_TABLES}


@contextmanager
def statements(store: Store) -> Iterator[list[str]]:
    """Those that this service sends to the database meanwhile, but for what it asks of every run now and then."""
    seen: list[str] = []

    def note(*arguments: object) -> None:
        if not threading.current_thread().name.startswith(OF_EVERY_RUN):
            seen.append(re.sub(r"\s+", " ", str(arguments[2])))

    engines = (store.database.writing, store.database.reading)
    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    yield seen
    for engine in engines:
        event.remove(engine, "before_cursor_execute", note)


def of_runs(seen: list[str]) -> list[str]:
    return [each for each in dict.fromkeys(seen) if set(OF_A_TABLE.findall(each)) & RUN_TABLES]


def unbound(seen: list[str]) -> list[str]:
    """Statements on rows of runs that do not name the run."""
    return [each for each in of_runs(seen) if not NAMES_THE_RUN.search(each)]


@pytest.mark.parametrize("table", tables.RUN_TABLES, ids=lambda table: table.name)
def test_every_key_begins_with_the_run(table: Table) -> None:
    assert next(iter(table.primary_key.columns)).name == "run_id"
    assert not any(index.unique for index in table.indexes), "a unique index would have to begin with it too"


@on_postgresql_alone
def test_windows_are_taken_in_and_compacted_by_run(store: Store) -> None:
    with statements(store) as seen:
        post(store, made_stream(5))
        post(store, [made_window(5, end={"status": "finished"})])
        store.write(lambda connection: compact(connection, StreamKey("run-1", 0, 1)))
    assert unbound(seen) == []
    assert len(of_runs(seen)) > 10


@on_postgresql_alone
def test_no_rows_of_several_runs_are_locked_at_once(store: Store, clock: WallClock) -> None:
    for run_id in ("run-1", "run-2"):
        post(store, made_stream(2, run_id=run_id))
        store.write(lambda connection: compact(connection, StreamKey("run-1", 0, 1)))
    clock.advance(days=1)
    with statements(store) as seen:
        Retention(store, RetentionPolicy(retain_us=1)).delete_surplus()
        store.delete_run("run-1")
        clock.advance(days=31)
        store.forget_some("run-1")
    locking = [each for each in seen if "FOR UPDATE" in each]
    assert {table for each in locking for table in re.findall(r"FROM (\w+)", each)} == {"run", "track"}
    assert all(re.search(r"run_id = ", each) for each in locking)


@on_postgresql_alone
def test_a_run_is_judged_by_its_own_rows(store: Store) -> None:
    post(store, made_stream(20))
    with statements(store) as seen:
        Diagnoser()(store, "run-1")
        store.note_judged("run-1", [])
        assert store.claim("run-1", "me")
    # Shared causes and the outcome of advice need other runs.
    others = ("hours_lost IS NOT NULL", "run.job = ", "run.advice_of = ", "run.judge IS NOT NULL")
    assert [each for each in unbound(seen) if not any(other in each for other in others)] == []


@on_postgresql_alone
@pytest.mark.parametrize(
    "path",
    [
        "", "/diagnosis", "/series?metric=step_us&buckets=10", "/series?metric=step_us&buckets=10&percentiles=true",
        "/workers", "/hotspots", "/timeline",
    ],
)  # fmt: skip
def test_every_page_of_one_run_names_it(application: Application, path: str) -> None:
    store = application.parts.store
    post(store, made_stream(20))
    store.write(lambda connection: compact(connection, StreamKey("run-1", 0, 1)))
    client = TestClient(application, base_url="http://127.0.0.1:7077")
    with statements(store) as seen:
        assert client.get(f"/api/v1/runs/run-1{path}").status_code == 200
    assert unbound(seen) == []
