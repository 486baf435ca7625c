"""One service a file, and readers that only read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from tests.app.conftest import AS_SHIPPED
from underfed_server.errors import StartError
from underfed_server.store.databases import sqlite
from underfed_server.store.databases.journal import Turnstile
from underfed_server.store.databases.sqlite import lock, open_readers, open_writer
from underfed_server.store.store import Store

HOLD = """
import sys, pathlib
from underfed_server.store.databases.sqlite import lock
held = lock(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_service_on_the_same_file_says_who_has_it(tmp_path: Path) -> None:
    database = tmp_path / "underfed.db"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, database], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(StartError, match=rf"process {holder.pid}\) uses {database}"):
            lock(database)
        holder.kill()
    # The kernel let go of it: nobody has to tidy up after a kill.
    lock(database).release()


def test_two_files_have_two_locks(tmp_path: Path) -> None:
    first, second = lock(tmp_path / "a.db"), lock(tmp_path / "b.db")
    first.release()
    second.release()


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StartError, match="file/data"):
        lock(tmp_path / "file" / "data" / "underfed.db")


def test_a_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    Store(f"sqlite:///{tmp_path}/data/underfed.db").close()
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "data").iterdir()}
    assert set(modes.values()) == {0o600}, modes


def test_a_file_that_is_no_database_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    precious = tmp_path / "thesis.txt"
    precious.write_text("not a database, and not ours" * 100)
    with pytest.raises(StartError, match=rf"{precious} cannot be used: file is not a database"):
        Store(f"sqlite:///{precious}")
    assert precious.read_text() == "not a database, and not ours" * 100


def test_the_writer_is_durable_and_a_reader_cannot_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "WRITER_PRAGMAS", AS_SHIPPED)
    database = tmp_path / "underfed.db"
    writer, turnstile = open_writer(database), Turnstile(database)
    readers = open_readers(database, turnstile)
    with writer.begin() as connection:
        connection.execute(text("CREATE TABLE t (x)"))
        pragmas = [connection.execute(text(f"PRAGMA {name}")).scalar() for name in ("journal_mode", "synchronous")]
        assert pragmas == ["wal", 2]
        assert connection.execute(text("PRAGMA auto_vacuum")).scalar() == 2
    with readers.begin() as connection:
        assert connection.execute(text("PRAGMA wal_autocheckpoint")).scalar() == 0
        with pytest.raises(OperationalError, match="readonly"):
            connection.execute(text("INSERT INTO t VALUES (1)"))
    writer.dispose()
    readers.dispose()
    turnstile.close()


def test_a_reader_sees_one_state_while_the_writer_goes_on(tmp_path: Path) -> None:
    database = tmp_path / "underfed.db"
    writer, turnstile = open_writer(database), Turnstile(database)
    readers = open_readers(database, turnstile)
    with writer.begin() as connection:
        connection.execute(text("CREATE TABLE t (x)"))
    with readers.begin() as reading:
        count = text("SELECT count(*) FROM t")
        assert reading.execute(count).scalar() == 0
        with writer.begin() as writing:
            writing.execute(text("INSERT INTO t VALUES (1)"))
        assert reading.execute(count).scalar() == 0
    with readers.begin() as reading:
        assert reading.execute(count).scalar() == 1
    writer.dispose()
    readers.dispose()
    turnstile.close()
