"""SQLite's write-ahead log does not grow for ever, also where readers follow each other without a gap."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.made_windows import made_stream
from tests.app.store.clock import MonotonicClock
from tests.app.store.posting import post
from underfed_server.store.databases import journal
from underfed_server.store.databases.journal import Journal, Turnstile, journal_bytes
from underfed_server.store.databases.sqlite import open_readers, open_writer
from underfed_server.store.store import Store

KEPT = 300_000


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(journal, "KEPT_BYTES", KEPT)
    monkeypatch.setattr(journal, "LONG_BYTES", 2 * KEPT)
    monkeypatch.setattr(journal, "LOOK_S", 0.0)
    opened = Store(f"sqlite:///{tmp_path / 'underfed.db'}")
    yield opened
    opened.close()


@pytest.fixture
def path(store: Store) -> Path:
    assert store.database.path is not None
    return store.database.path


def test_the_log_is_cut_once_readers_let_it(store: Store, path: Path) -> None:
    windows = made_stream(1_000)
    with store.reading() as reader:
        reader.connection.exec_driver_sql("SELECT count(*) FROM run").fetchone()
        while journal_bytes(path) <= 3 * KEPT:
            post(store, [next(windows)])
        post(store, [next(windows)])
        assert journal_bytes(path) > KEPT, "a reader still needs it, and posts go on"
    while journal_bytes(path) > KEPT:
        post(store, [next(windows)])


class Readers:
    """Two that take turns: each ends its transaction only when the other has begun one, or waits for it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._began = [threading.Semaphore(0), threading.Semaphore(0)]
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._read, args=[number]) for number in (0, 1)]

    def _read(self, number: int) -> None:
        while not self._is_over.is_set():
            with self._store.reading() as reader:
                reader.connection.exec_driver_sql("SELECT count(*) FROM run").fetchone()
                self._began[number].release()
                while not self._is_over.is_set() and not self._began[1 - number].acquire(timeout=0.1):
                    pass

    def __enter__(self) -> Readers:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for each in self._threads:
            each.join()


def test_readers_without_a_gap_do_not_keep_it_from_being_cut(store: Store, path: Path) -> None:
    found = store._writer._journal
    assert found is not None
    windows = made_stream(4_000)
    with Readers(store):
        found._due_at = math.inf
        while journal_bytes(path) <= 2 * KEPT:
            post(store, [next(windows)])
        found._due_at = 0.0
        while journal_bytes(path) > KEPT:
            post(store, [next(windows)])


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """With a log that is longer than it may be, and a reader that needs it."""
    monkeypatch.setattr(journal, "KEPT_BYTES", 0)
    monkeypatch.setattr(journal, "LONG_BYTES", 0)
    path = tmp_path / "underfed.db"
    turnstile = Turnstile(path)
    writer, readers = open_writer(path), open_readers(path, turnstile)
    with writer.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE t (x)")
    with readers.begin() as connection:
        connection.exec_driver_sql("SELECT * FROM t").fetchall()
        with writer.begin() as writing:
            writing.exec_driver_sql("INSERT INTO t VALUES (1)")
        yield path
    writer.dispose()
    readers.dispose()
    turnstile.close()


def is_locked(database: Path) -> bool:
    """For readers of other processes too: each has a file of its own open."""
    other = Turnstile(database)
    took = other.lock()
    other.close()
    return not took


def test_a_reader_that_stays_keeps_others_out_for_a_moment_and_less_often_each_time(database: Path) -> None:
    writer, clock = open_writer(database), MonotonicClock()
    found = Journal(writer, database, clock)
    apart = []
    for _ in range(4):
        found.bound()
        assert is_locked(database)
        clock.now += journal.MOST_LOCKED_S / 2
        found.bound()
        assert is_locked(database)
        clock.now += journal.MOST_LOCKED_S
        found.bound()
        assert not is_locked(database)
        apart.append(round(found.due_in(), 3))
        clock.now += found.due_in()
    assert apart == [2 * journal.LOOK_S, 4 * journal.LOOK_S, journal.MOST_APART_S, journal.MOST_APART_S]
    found.close()
    writer.dispose()


def test_a_writer_in_trouble_or_at_its_end_keeps_no_reader_out(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer, clock = open_writer(database), MonotonicClock()
    found = Journal(writer, database, clock)
    found.bound()
    clock.now += journal.TRY_S

    def failing(_: object) -> bool:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr(journal, "_begun_anew", failing)
        with pytest.raises(OSError, match="gone"):
            found.bound()
    assert not is_locked(database)
    clock.now += found.due_in()
    found.bound()
    assert is_locked(database)
    found.close()
    assert not is_locked(database)
    writer.dispose()


def test_a_snapshot_begins_once_the_turnstile_is_unlocked_or_its_holder_has_hung_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "underfed.db"
    holder, own = Turnstile(database), Turnstile(database)
    readers = open_readers(database, own)
    began = threading.Event()

    def read() -> None:
        with readers.begin():
            began.set()

    assert holder.lock()
    waiting = threading.Thread(target=read)
    waiting.start()
    assert not began.wait(0.05)
    holder.unlock()
    assert began.wait(30)
    waiting.join()
    assert holder.lock()
    monkeypatch.setattr(journal, "GIVE_UP_S", 0.01)
    read()
    monkeypatch.setattr(journal, "GIVE_UP_S", 60.0)
    holder.close()
    read()
    own.close()
    read()
    readers.dispose()
