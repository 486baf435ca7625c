"""What a worker's own connections received: counted by the kernel, read without touching a socket."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import underfed
from tests.fakes.forkserver import ready_spawn
from tests.fakes.service import Service, wait_until
from underfed.collector.reading import workers
from underfed.collector.reading.rank_rings import Drained
from underfed.exchange.ring_format import NOT_MEASURED, RECEIVED, head
from underfed.exchange.run_files import RingName
from underfed.host.connections import own_connections
from underfed.trainer.loading import received
from underfed.trainer.loading.received import Received

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's counters are Linux's")

ANSWER = 200_000


def serve(listening: socket.socket) -> None:
    """Each byte is a request, answered with ``ANSWER`` bytes."""

    def answer(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            while connection.recv(1):
                connection.sendall(bytes(ANSWER))

    with suppress(OSError):
        while True:
            threading.Thread(target=answer, args=(listening.accept()[0],), daemon=True).start()


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        if not (child := os.fork()):
            serve(listening)
            os._exit(0)
        try:
            yield listening.getsockname()
        finally:
            os.kill(child, 9)
            os.waitpid(child, 0)


def fetch(connection: socket.socket) -> None:
    connection.sendall(b"?")
    left = ANSWER
    while left:
        left -= len(connection.recv(left))


def test_bytes_of_connections_are_summed_those_that_ended_too(address: tuple[str, int]) -> None:
    seen = Received()
    assert seen.read() == (0, 0)
    connections = [socket.create_connection(address) for _ in range(2)]
    for connection in connections:
        fetch(connection)
    assert seen.read() == (2 * ANSWER, 2)
    for _ in range(20):
        seen.read()
    connections.pop().close()
    fetch(connections[0])
    assert seen.read() == (3 * ANSWER, 1)
    connections[0].close()


def test_what_a_worker_inherited_is_the_training_processs(address: tuple[str, int]) -> None:
    with socket.create_connection(address) as inherited:
        seen = Received()
        fetch(inherited)
        assert seen.read() == (0, 0)


def test_connections_that_come_and_go_have_no_sum(address: tuple[str, int]) -> None:
    seen = Received()
    for _ in range(3):
        with socket.create_connection(address) as connection:
            fetch(connection)
            assert seen.read().connections == 1
    seen.read()
    assert seen.read() == (NOT_MEASURED, 0)


def test_a_socket_stays_as_it_was(address: tuple[str, int]) -> None:
    seen = Received()
    with socket.create_connection(address) as connection:
        connection.settimeout(7.5)
        connection.sendall(b"?")
        files = sorted(Path("/proc/self/fd").iterdir())
        assert seen.read().connections == 1
        assert sorted(Path("/proc/self/fd").iterdir()) == files
        assert (connection.gettimeout(), connection.getblocking()) == (7.5, True)
        left = ANSWER
        while left:
            left -= len(connection.recv(left))


def test_a_process_with_very_many_files_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Received()
    monkeypatch.setattr(received, "MOST_FILES", 2)
    with pytest.raises(OSError, match="open files"):
        seen.read()


def test_readings_are_a_second_apart_or_a_thousand_times_what_one_takes() -> None:
    seen = Received()
    seen.rest(begun_ns=0, ended_ns=1_000)
    assert seen.due_ns == 1_000 + 1_000_000_000
    seen.rest(begun_ns=0, ended_ns=3_000_000)
    assert seen.due_ns == 3_000_000 + 3_000_000_000


class Remote(Dataset[torch.Tensor]):
    """Each sample is a request to a server; one connection a process."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self.connection: socket.socket | None = None

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.connection is None:
            self.connection = socket.create_connection(self.address)
        fetch(self.connection)
        return torch.tensor(index)


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_what_workers_receive_is_sent_with_their_samples(
    service: Service, address: tuple[str, int], context: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(received, "PAUSE_NS", 0)
    monkeypatch.setattr(received, "COST_SHARE", 0)
    loader = DataLoader(Remote(address), num_workers=1, persistent_workers=True, multiprocessing_context=context)
    loader = underfed.watch(loader, name="train")
    with ready_spawn():
        assert len(list(loader)) == 8

    def sent() -> list[tuple[int | None, int | None]]:
        samples = [each for window in service.windows for each in window.get("worker_samples", [])]
        return [
            row
            for each in samples
            for row in zip(each.get("received_bytes", []), each.get("connections", []), strict=True)
        ]

    most = 8 * ANSWER if context == "fork" else ANSWER  # a spawned one keeps its pause of a second
    wait_until(lambda: (most, 1) in sent(), "the sum of what it received")
    list(loader)


def test_connections_of_a_process_are_seen_from_outside_without_those_it_inherited(address: tuple[str, int]) -> None:
    with socket.create_connection(address):
        code = (
            "import socket, sys\n"
            f"held = [socket.create_connection({address!r}) for _ in range(2)] + [socket.socketpair()]\n"
            "print('open', flush=True)\n"
            "sys.stdin.read()"
        )
        child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert child.stdout is not None and child.stdin is not None
        child.stdout.readline()
        assert own_connections([child.pid])[child.pid] == 2
        child.stdin.close()
        child.wait()
        child.stdout.close()
        assert own_connections([child.pid])[child.pid] is None


def test_what_short_connections_receive_is_not_measured_and_not_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "own_connections", lambda pids: dict.fromkeys(pids, 3))
    ring = RingName(0, 0, 0)
    seen = workers.Workers(0, str, {})
    started = Drained(ring, [(head(RECEIVED, 0), 0, 0, 0, 0, 0, 0, 0)], 0)
    seen.feed({ring: os.getpid()}, [started])
    seen.sample(1, lambda: True)
    seen.sample_costly(1)
    seen.sample(2, lambda: True)
    (samples,) = seen.take_samples()
    assert (samples.columns["received_bytes"], samples.columns["connections"]) == ([0, None], [0, 3])
