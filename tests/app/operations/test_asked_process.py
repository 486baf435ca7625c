"""A process that several threads ask, one request after the other."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection

import pytest

from tests.fakes.service import wait_until
from underfed_server.errors import TryLaterError
from underfed_server.forked import asked
from underfed_server.forked.asked import AskedProcess
from underfed_server.forked.forks import Forks, Work

LONG_S = 60.0


class FakeForks(Forks):
    """The other ends of its processes are the test's."""

    def __init__(self) -> None:
        self.ends: list[Connection] = []

    def new(self, work: Work) -> socket.socket:
        """As if a process had been forked."""
        ours, theirs = socket.socketpair()
        self.ends.append(Connection(theirs.detach()))
        return ours

    def end(self, number: int) -> Connection:
        wait_until(lambda: len(self.ends) > number, "it is forked", LONG_S)
        return self.ends[number]


def nothing(_: socket.socket) -> None:
    """What no process does here."""


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> FakeForks:
    monkeypatch.setattr(asked, "AGAIN_S", 0.0)
    return FakeForks()


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(3) as pool:
        yield pool


def received(end: Connection) -> object:
    assert end.poll(LONG_S)
    return end.recv()


def test_the_next_request_is_with_the_process_before_it_has_answered_the_first(
    forks: FakeForks, threads: ThreadPoolExecutor
) -> None:
    process = AskedProcess(forks, nothing, "sqlite://")
    first = threads.submit(process.ask, "first")
    end = forks.end(0)
    assert (received(end), received(end)) == ("sqlite://", "first")
    second = threads.submit(process.ask, "second")
    assert received(end) == "second"
    end.send("one")
    end.send("two")
    assert (first.result(LONG_S), second.result(LONG_S)) == ("one", "two")


def test_all_who_wait_for_a_process_that_dies_are_to_try_later_and_the_next_one_gets_a_new_one(
    forks: FakeForks, threads: ThreadPoolExecutor
) -> None:
    process = AskedProcess(forks, nothing, "sqlite://")
    asking = [threads.submit(process.ask, "first")]
    end = forks.end(0)
    assert (received(end), received(end)) == ("sqlite://", "first")
    asking.append(threads.submit(process.ask, "second"))
    assert received(end) == "second"
    end.close()
    for each in asking:
        with pytest.raises(TryLaterError):
            each.result(LONG_S)
    third = threads.submit(process.ask, "third")
    end = forks.end(1)
    assert (received(end), received(end)) == ("sqlite://", "third")
    end.send("three")
    assert third.result(LONG_S) == "three"
