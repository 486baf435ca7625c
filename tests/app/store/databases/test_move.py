"""A database moved into another: every row there, compared, or nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection, Table, func, select, text

from tests.app.made_windows import made_stream, made_window
from tests.app.store.posting import post
from tests.fakes import postgresql
from underfed_server.diagnose import Diagnoser
from underfed_server.errors import MoveError
from underfed_server.migrate import migrate
from underfed_server.store.databases import move as moving
from underfed_server.store.databases import tables
from underfed_server.store.databases.database import Database, open_database
from underfed_server.store.databases.move import move
from underfed_server.store.store import Store
from underfed_server.store.writing.compact import compact
from underfed_server.store.writing.streams import StreamKey


@pytest.fixture
def empty_postgresql(postgresql_server: postgresql.Server) -> Iterator[str]:
    with postgresql_server.database(is_empty=True) as url:
        yield url


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    """A run in a chunk and hot windows, judged; one that crashed; one without a step."""
    url = f"sqlite:///{tmp_path}/underfed.db"
    store = Store(url)
    post(store, made_stream(30))
    store.write(lambda connection: compact(connection, StreamKey("run-1", 0, 1)))
    post(store, list(made_stream(35))[30:])
    post(store, [made_window(0, run_id="run-2", end={"status": "crashed", "exit_reason": "ValueError: naïve ☃"})])
    Diagnoser()(store, "run-1")
    store.edit_run("run-1", {"tags": {"schlüssel": "wert"}, "notes": "tried again"})
    store.close()
    return url


def contents(database: Database) -> dict[str, set[str]]:
    with database.reading.begin() as connection:
        everything = {table.name: connection.execute(select(table)).all() for table in tables.metadata.sorted_tables}
    return {name: {repr(tuple(row)) for row in rows} for name, rows in everything.items()}


def contents_of(url: str) -> dict[str, set[str]]:
    database = open_database(url)
    try:
        return contents(database)
    finally:
        database.close()


def test_a_file_moves_to_postgresql_and_back_row_by_row(
    sqlite: str, empty_postgresql: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents_of(sqlite)
    assert migrate(["--from", sqlite, "--to", empty_postgresql]) == 0
    assert "2 runs with 700 steps" in capsys.readouterr().out
    assert contents_of(empty_postgresql) == before
    back = f"sqlite:///{tmp_path}/back.db"
    assert migrate(["--from", empty_postgresql, "--to", back]) == 0
    assert contents_of(back) == before == contents_of(sqlite)


def test_every_step_is_read_alike_and_the_stream_goes_on(sqlite: str, empty_postgresql: str) -> None:
    assert migrate(["--from", sqlite, "--to", empty_postgresql]) == 0
    old, new = Store(sqlite), Store(empty_postgresql)
    try:
        for name in ("step_us", "data_wait_us", "queue_depth", "gpu_idle_us"):
            ours, theirs = (getattr(store.steps("run-1", 0, "train"), name) for store in (old, new))
            np.testing.assert_array_equal(ours, theirs)
        assert old.diagnosis("run-1") == new.diagnosis("run-1")
        post(new, list(made_stream(36))[35:])
        assert len(new.steps("run-1", 0, "train")) == 720
    finally:
        old.close()
        new.close()


def test_a_database_that_holds_runs_is_left_as_it_is(
    sqlite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = f"sqlite:///{tmp_path}/other.db"
    store = Store(target)
    post(store, [made_window(0, run_id="precious")])
    store.close()
    before = contents_of(target)
    assert migrate(["--from", sqlite, "--to", target]) == 1
    assert "other.db holds runs already" in capsys.readouterr().err
    assert contents_of(target) == before


def test_a_row_that_comes_back_otherwise_undoes_all(
    sqlite: str, empty_postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = open_database(sqlite), open_database(empty_postgresql)
    compare = moving._compare

    def spoil(writing: Connection, table: Table, *rest: Any) -> None:
        if table is tables.chunk:
            writing.execute(text("UPDATE chunk SET body = 'other' WHERE ordinal = 0"))
        compare(writing, table, *rest)

    monkeypatch.setattr(moving, "_compare", spoil)
    with pytest.raises(MoveError, match="other rows of 'chunk'"):
        move(source, target, lambda *_: None)
    with target.reading.begin() as connection:
        assert connection.execute(select(func.count()).select_from(tables.run)).scalar() == 0
    source.close()
    target.close()


def test_a_service_that_runs_keeps_its_file(sqlite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(sqlite)
    assert migrate(["--from", sqlite, "--to", f"sqlite:///{tmp_path}/new.db"]) == 1
    assert "another underfed service" in capsys.readouterr().err
    store.close()


def test_a_dump_of_postgresql_is_restored_whole(
    sqlite: str, empty_postgresql: str, postgresql_server: postgresql.Server, tmp_path: Path
) -> None:
    assert migrate(["--from", sqlite, "--to", empty_postgresql]) == 0
    with postgresql_server.database(is_empty=True) as restored:
        dump, programs = tmp_path / "underfed.dump", postgresql.programs()
        # libpq reads the same URL without SQLAlchemy's name of the driver.
        old, new = (url.replace("+psycopg", "") for url in (empty_postgresql, restored))
        subprocess.run([programs / "pg_dump", "--format=custom", f"--file={dump}", f"--dbname={old}"], check=True)
        subprocess.run([programs / "pg_restore", "--exit-on-error", f"--dbname={new}", dump], check=True)
        assert contents_of(restored) == contents_of(sqlite)
        store = Store(restored)
        post(store, list(made_stream(36))[35:])
        assert len(store.steps("run-1", 0, "train")) == 720
        store.close()
