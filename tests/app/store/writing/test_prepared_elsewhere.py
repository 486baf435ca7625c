"""Chunks are computed in another process while windows are written: nothing is lost, and nothing is there twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, func, select, update

from tests.app.made_windows import made_stream
from tests.app.serving import poll
from tests.app.store.posting import KEY, post, settle
from underfed_server.counters import Counters
from underfed_server.store.columns.lanes import steps_lane
from underfed_server.store.databases import tables
from underfed_server.store.store import Store
from underfed_server.store.writing import compact as compacting
from underfed_server.store.writing.compact import Compaction, NotElsewhereError, compact
from underfed_server.store.writing.streams import StreamKey

WINDOWS = list(made_stream(10))
DUE_WINDOWS = 5
END = {"end": {"status": "finished"}}


class Elsewhere:
    """As another process: it reads what is in the database, and something happens before its answer arrives."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.asked: list[StreamKey] = []
        self.meanwhile: list[Callable[[], object]] = []

    def __call__(self, key: StreamKey) -> Compaction | None:
        self.asked.append(key)
        with closing(Store(self._url, only_reads=True)) as reading:
            prepared = reading.prepare_compaction(key)
        if self.meanwhile:
            self.meanwhile.pop(0)()
        return prepared


@pytest.fixture
def elsewhere(database_url: str) -> Elsewhere:
    return Elsewhere(database_url)


@pytest.fixture
def counters() -> Counters:
    return Counters()


@pytest.fixture
def store(
    database_url: str, elsewhere: Elsewhere, counters: Counters, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Store]:
    monkeypatch.setattr(compacting, "DUE_WINDOWS", DUE_WINDOWS)
    with closing(Store(database_url, prepare=elsewhere, counters=counters)) as opened:
        yield opened


def count(store: Store, table: Any) -> int:
    with store.reading() as reader:
        return int(reader.connection.execute(select(func.count()).select_from(table)).scalar_one())


def hot(store: Store) -> tuple[int, int, int]:
    """Windows that are hot, and rows and windows that the stream says are."""
    stream = tables.stream.c
    with store.reading() as reader:
        rows, windows = reader.connection.execute(select(stream.hot_rows, stream.hot_windows)).one()
    return count(store, tables.hot), rows, windows


def is_compacted(store: Store) -> bool:
    return count(store, tables.hot) == 0


def steps(store: Store) -> list[int]:
    return [int(each) for each in store.steps("run-1", 0, "train").step_index]


def test_windows_that_come_meanwhile_stay_hot_and_are_counted(store: Store, elsewhere: Elsewhere) -> None:
    elsewhere.meanwhile.append(partial(post, store, WINDOWS[5:8]))
    post(store, WINDOWS[:5])
    poll(lambda: count(store, tables.chunk) > 0)
    assert hot(store) == (3, 60, 3)
    assert steps(store) == list(range(160))
    assert store.run("run-1").steps == 160
    post(store, WINDOWS[8:])
    poll(lambda: is_compacted(store))
    assert hot(store) == (0, 0, 0)
    assert steps(store) == list(range(200))
    assert elsewhere.asked == [KEY, KEY]


def test_a_stream_that_ends_meanwhile_is_compacted_after_that(store: Store, elsewhere: Elsewhere) -> None:
    elsewhere.meanwhile.append(partial(post, store, [WINDOWS[5] | END]))
    post(store, WINDOWS[:5])
    poll(lambda: is_compacted(store))
    assert (steps(store), len(elsewhere.asked)) == (list(range(120)), 2)


def test_what_was_compacted_otherwise_meanwhile_is_not_there_twice(store: Store, elsewhere: Elsewhere) -> None:
    def otherwise(connection: Connection) -> None:
        assert compact(connection, KEY) is not None

    elsewhere.meanwhile.append(lambda: store.write(otherwise))
    post(store, WINDOWS[:5])
    poll(lambda: is_compacted(store))
    settle(store)
    assert steps(store) == list(range(100))


def test_what_was_prepared_of_a_run_is_dropped_that_came_anew_under_its_name(
    store: Store, elsewhere: Elsewhere
) -> None:
    """As if it had been removed, and another one of the same name had sent as many windows."""

    def begin_anew(connection: Connection) -> None:
        connection.execute(update(tables.stream).values(started_at=tables.UNIX_EPOCH))

    elsewhere.meanwhile.append(lambda: store.write(begin_anew))
    post(store, WINDOWS[:5])
    poll(lambda: elsewhere.meanwhile == [] and is_compacted(store))
    assert len(elsewhere.asked) == 2, "what was prepared first was not written"


def test_bytes_that_retention_deleted_meanwhile_are_not_counted_again(store: Store, elsewhere: Elsewhere) -> None:
    post(store, WINDOWS[:5])
    poll(lambda: is_compacted(store))
    track, chunk = tables.track.c, tables.chunk.c

    def delete_rows(connection: Connection) -> None:
        connection.execute(update(tables.track).values(chunk_bytes=0, dropped_chunks=1))
        connection.execute(update(tables.chunk).values(body=b""))

    elsewhere.meanwhile.append(lambda: store.write(delete_rows))
    post(store, WINDOWS[5:])
    poll(lambda: is_compacted(store))
    with store.reading() as reader:
        lane = steps_lane("train")
        said = select(track.chunk_bytes).where(track.lane == lane)
        held = select(func.sum(func.length(chunk.body))).where(chunk.lane == lane)
        assert reader.connection.execute(said).scalar_one() == reader.connection.execute(held).scalar_one() > 0


def test_windows_go_on_where_it_can_no_longer_be_done_elsewhere(store: Store, elsewhere: Elsewhere) -> None:
    def end() -> None:
        raise NotElsewhereError

    elsewhere.meanwhile.append(end)
    post(store, WINDOWS[:5])
    poll(lambda: is_compacted(store))
    post(store, WINDOWS[5:])
    poll(lambda: is_compacted(store))
    assert steps(store) == list(range(200))
    assert len(elsewhere.asked) == 1, "the writer does it itself from then on"


def test_a_stream_whose_chunks_cannot_be_computed_is_set_aside(
    store: Store, elsewhere: Elsewhere, counters: Counters
) -> None:
    def fail() -> None:
        raise ValueError("on purpose")

    elsewhere.meanwhile.append(fail)
    post(store, WINDOWS[:5])
    poll(lambda: store.aside == 1)
    post(store, WINDOWS[5:])
    post(store, made_stream(DUE_WINDOWS, run_id="run-2"))
    poll(lambda: count(store, tables.hot) == len(WINDOWS))
    assert counters.compaction_failures._value.get() == 1
    assert steps(store) == list(range(200))
