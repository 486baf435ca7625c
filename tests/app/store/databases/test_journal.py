"""SQLite's write-ahead log does not grow for ever, also where readers follow each other without a gap."""

from __future__ import annotations

import math
import threading
from pathlib import Path

import pytest

from tests.app.made_windows import made_stream
from tests.app.store.posting import post
from underfed_server.store.databases import sqlite
from underfed_server.store.store import Store
from underfed_server.store.writing import writer as writing

LIMIT = 300_000


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(sqlite, "CHECKPOINT_WAITS_MS", {LIMIT: 10})
    monkeypatch.setattr(writing, "JOURNAL_S", 0.0)
    return Store(f"sqlite:///{tmp_path / 'underfed.db'}")


def test_the_log_is_cut_once_readers_let_it(store: Store) -> None:
    path = store.database.path
    assert path is not None
    windows = made_stream(400)
    with store.reading() as reader:
        reader.connection.exec_driver_sql("SELECT count(*) FROM run").fetchone()
        while sqlite.journal_bytes(path) <= 2 * LIMIT:
            post(store, [next(windows)])
        post(store, [next(windows)])
        assert sqlite.journal_bytes(path) > LIMIT, "a reader still needs it, and posts go on"
    while sqlite.journal_bytes(path) > LIMIT:
        post(store, [next(windows)])
    store.close()


class Readers:
    """Two that take turns: each ends its transaction only when the other has begun one."""

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


def test_readers_without_a_gap_do_not_keep_it_from_being_cut(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "CHECKPOINT_WAITS_MS", {LIMIT: 0, 2 * LIMIT: 1_000})
    path, writer = store.database.path, store._writer
    assert path is not None
    windows = made_stream(4_000)
    with Readers(store):
        writer._journal_at = math.inf
        while sqlite.journal_bytes(path) <= 2 * LIMIT:
            post(store, [next(windows)])
        writer._journal_at = 0.0
        while sqlite.journal_bytes(path) > LIMIT:
            post(store, [next(windows)])
    store.close()
