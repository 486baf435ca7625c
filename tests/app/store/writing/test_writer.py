"""One thread writes; what is acknowledged is on disk; one failed write affects no other."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import Connection, text

from tests.app.conftest import on_sqlite_alone
from tests.app.made_windows import made_stream, made_window, posted_window
from tests.app.store.posting import settle
from tests.fakes.service import wait_until
from underfed_server.counters import Counters
from underfed_server.errors import NotFoundError, TryLaterError
from underfed_server.ingest.posted import Ack, Outcome, PostedWindow
from underfed_server.store.store import Store
from underfed_server.store.writing import writer as writing


class Gate:
    """Holds the writer's thread until it is opened, so that what is submitted meanwhile makes one group."""

    def __init__(self, store: Store) -> None:
        self._opened, self._reached = threading.Event(), threading.Event()
        # Refused, since those before it are missing: it leaves nothing behind.
        refused = store.submit(posted_window(made_window(5, run_id="nobody", previous_window_index=4)))
        refused.add_done_callback(self._wait)
        assert self._reached.wait(10)

    def _wait(self, done: Future[Outcome]) -> None:
        self._reached.set()
        assert self._opened.wait(30)

    def open(self) -> None:
        self._opened.set()


@pytest.fixture
def gate(store: Store) -> Iterator[Gate]:
    held = Gate(store)
    yield held
    held.open()


def hot_windows(store: Store) -> int:
    """What another connection finds in the database."""
    with store.database.reading.begin() as connection:
        return int(connection.execute(text("SELECT count(*) FROM hot")).scalar_one())


def set_limit(store: Store, *, pages: int) -> None:
    """As a full disk would: the file may not grow beyond so many pages, or beyond what it has."""

    def limit(connection: Connection) -> None:
        connection.execute(text(f"PRAGMA max_page_count = {pages}"))

    store.write(limit)


def test_a_group_is_committed_together_and_answered_after_that(store: Store, gate: Gate) -> None:
    seen: list[int] = []

    def answered(done: Future[Outcome]) -> None:
        seen.append(hot_windows(store))

    submitted = [store.submit(posted_window(window)) for window in made_stream(30)]
    for done in submitted:
        done.add_done_callback(answered)
    assert hot_windows(store) == 0
    gate.open()
    for done in submitted:
        assert isinstance(done.result(timeout=30), Ack)
    settle(store)  # callbacks run after their result can be had
    assert seen == [30] * 30


def test_the_listener_is_called_with_runs_that_have_new_windows_and_not_for_repeats(store: Store) -> None:
    calls: list[set[str]] = []
    store.listen(lambda stored, _: calls.append({each.window.run_id for each in stored}))
    store.submit(posted_window(made_window(0))).result(timeout=30)
    store.submit(posted_window(made_window(0))).result(timeout=30)
    store.submit(posted_window(made_window(0, run_id="run-2"))).result(timeout=30)
    settle(store)
    assert calls == [{"run-1"}, {"run-2"}]


def test_the_listener_receives_runs_that_have_ended_with_all_of_their_ranks(store: Store) -> None:
    calls: list[set[str]] = []
    store.listen(lambda _, ended: calls.append(ended))
    for rank in (0, 1):
        store.submit(posted_window(made_window(0, rank=rank))).result(timeout=30)
    for rank in (0, 1):
        store.submit(posted_window(made_window(1, rank=rank, end={"status": "finished"}))).result(timeout=30)
    settle(store)
    assert calls == [set(), set(), set(), {"run-1"}]


def test_one_write_that_fails_spoils_no_other_of_its_group(store: Store, gate: Gate) -> None:
    windows = list(made_stream(6))
    before = [store.submit(posted_window(window)) for window in windows[:3]]
    # What no column takes: the whole transaction fails by it.
    strange: Any = object()
    poison = store.submit(PostedWindow(posted_window(made_window(0, run_id="bad")).window, strange, b""))
    after = [store.submit(posted_window(window)) for window in windows[3:]]
    gate.open()
    answers = [done.result(timeout=30) for done in before + after]
    assert [answer.next_window_index for answer in answers if isinstance(answer, Ack)] == [1, 2, 3, 4, 5, 6]
    with pytest.raises(Exception, match="type 'object'"):
        poison.result(timeout=30)
    assert len(store.steps("run-1", 0, "train")) == 120
    with pytest.raises(Exception, match="no run 'bad'"):
        store.run("bad")


@on_sqlite_alone
def test_a_call_is_done_before_the_windows_that_wait(store: Store, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "GROUP", 2)
    submitted = [store.submit(posted_window(window)) for window in made_stream(6)]
    count = text("SELECT count(*) FROM hot")
    with ThreadPoolExecutor(1) as apart:
        called = apart.submit(store.write, lambda connection: connection.execute(count).scalar_one())
        wait_until(lambda: store.waiting[0] == 7, "the call waits, too")
        gate.open()
        assert called.result(timeout=30) == 2, "with the first group"
        assert all(isinstance(done.result(timeout=30), Ack) for done in submitted)


def test_a_call_that_fails_leaves_nothing_and_the_writer_goes_on(store: Store) -> None:
    def fail(connection: Connection) -> None:
        connection.execute(text("INSERT INTO project (project) VALUES ('vision')"))
        raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        store.write(fail)
    with store.reading() as reader:
        assert reader.connection.execute(text("SELECT count(*) FROM project")).scalar() == 0
    assert isinstance(store.submit(posted_window(made_window(0))).result(timeout=30), Ack)


def test_a_transaction_that_was_rolled_back_is_counted(database_url: str) -> None:
    counters = Counters()
    with closing(Store(database_url, counters=counters)) as store:
        with pytest.raises(ZeroDivisionError):
            store.write(lambda _: 1 // 0)
        store.write(lambda connection: connection.execute(text("SELECT 1")).scalar_one())
    assert counters.registry.get_sample_value("underfed_writer_failures_total") == 1


def test_a_call_that_is_refused_undoes_its_own_and_nothing_else(store: Store, gate: Gate) -> None:
    before = [store.submit(posted_window(window)) for window in made_stream(3)]
    refused: list[Exception] = []

    def refuse(connection: Connection) -> None:
        connection.execute(text("INSERT INTO project (project) VALUES ('vision')"))
        raise NotFoundError("not here")

    def call() -> None:
        try:
            store.write(refuse)
        except NotFoundError as error:
            refused.append(error)

    calling = threading.Thread(target=call)
    calling.start()
    gate.open()
    calling.join(30)
    answers = [done.result(timeout=30) for done in before]
    assert [answer.next_window_index for answer in answers if isinstance(answer, Ack)] == [1, 2, 3]
    assert len(refused) == 1
    with store.reading() as reader:
        assert reader.connection.execute(text("SELECT count(*) FROM project")).scalar() == 0


@on_sqlite_alone
def test_a_database_that_cannot_be_written_asks_for_patience(store: Store) -> None:
    set_limit(store, pages=1)
    big = posted_window(made_window(0))
    refused = store.submit(PostedWindow(big.window, "", bytes(10_000_000)))
    with pytest.raises(TryLaterError, match="cannot be written"):
        refused.result(timeout=30)
    set_limit(store, pages=1_000_000)
    assert isinstance(store.submit(big).result(timeout=30), Ack)


def test_more_than_can_wait_is_refused_at_once(store: Store, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "MOST_WAITING", 5)
    windows = [posted_window(window) for window in made_stream(5)]
    waiting = [store.submit(window) for window in windows]
    assert store.waiting == (5, sum(len(window.body) for window in windows))
    with pytest.raises(TryLaterError, match="more windows arrive") as raised:
        store.submit(posted_window(made_window(5)))
    assert raised.value.headers == {"Retry-After": "2"}
    gate.open()
    assert all(isinstance(done.result(timeout=30), Ack) for done in waiting)
    assert isinstance(store.submit(posted_window(made_window(5))).result(timeout=30), Ack)
    assert store.waiting == (0, 0)


def test_a_window_waits_for_others_while_several_come_at_a_time(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counters = Counters()
    windows = [posted_window(window) for window in made_stream(7)]
    rests: list[int] = []

    def groups() -> tuple[float | None, ...]:
        names = "underfed_writer_group_size_count", "underfed_writer_group_size_sum"
        return tuple(counters.registry.get_sample_value(name) for name in names)

    with closing(Store(database_url, counters=counters)) as store:

        def rest(_: float) -> None:
            """On the writer's thread; another window comes during the first."""
            rests.append(1)
            if len(rests) == 1:
                store.submit(windows[4])

        monkeypatch.setattr(time, "sleep", rest)
        gate = Gate(store)
        together = [store.submit(window) for window in windows[:3]]
        gate.open()
        for done in together:
            done.result(timeout=30)
        assert (rests, groups()) == ([], (2, 4)), "the one before them came alone"
        store.submit(windows[3]).result(timeout=30)
        settled = [store.submit(window).result(timeout=30) for window in windows[5:]]
        settle(store)
    assert [answer.next_window_index for answer in settled if isinstance(answer, Ack)] == [6, 7]
    assert len(rests) == 2, "in company, and once more"
    assert groups() == (7, 10)


def test_what_was_submitted_before_the_end_is_written(store: Store, gate: Gate) -> None:
    submitted = [store.submit(posted_window(window)) for window in made_stream(20)]
    closing = threading.Thread(target=store.close)
    closing.start()
    gate.open()
    closing.join(30)
    assert all(isinstance(done.result(timeout=0), Ack) for done in submitted)
    with pytest.raises(TryLaterError, match="stopping"):
        store.submit(posted_window(made_window(20)))


def test_an_agent_that_went_away_takes_nothing_with_it(store: Store, gate: Gate) -> None:
    windows = list(made_stream(3))
    submitted = [store.submit(posted_window(window)) for window in windows]
    assert submitted[1].cancel()
    gate.open()
    # The window that nobody waits for is not written, and those behind it are sent again.
    assert [type(submitted[index].result(timeout=30)).__name__ for index in (0, 2)] == ["Ack", "OutOfOrderError"]
    for window in windows[1:]:
        assert isinstance(store.submit(posted_window(window)).result(timeout=30), Ack)
