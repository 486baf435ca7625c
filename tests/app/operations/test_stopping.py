"""SIGTERM with pages watching and agents posting: gone within three seconds, and what was acknowledged is there."""

from __future__ import annotations

import http.client
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.app.made_windows import SOON_JUDGED, made_stream, posted
from tests.app.operations.asking import JSON
from tests.app.operations.running import Running, running
from underfed_server.store.store import Store

RANKS = 6
STREAMS = 20


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path) as started:
        yield started


class Posting(threading.Thread):
    """Posts one rank's windows over one connection until the service is gone."""

    def __init__(self, address: str, rank: int) -> None:
        super().__init__()
        self.acknowledged = 0
        self.has_begun = threading.Event()
        self._place = urlsplit(address).netloc
        self._rank = rank

    def run(self) -> None:
        connection = http.client.HTTPConnection(self._place, timeout=20)
        try:
            for window in made_stream(100_000, rank=self._rank, seed=self._rank, **SOON_JUDGED):
                connection.request("POST", "/api/v1/ingest", posted(window), JSON)
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    return
                self.acknowledged += 1
                self.has_begun.set()
        except (OSError, http.client.HTTPException):
            return
        finally:
            connection.close()


def watching(address: str) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=20)
    connection.request("GET", "/api/v1/events?topic=runs")
    assert connection.getresponse().readline() == b": open\n"
    return connection


def seconds_to_stop(service: Running, number: int) -> float:
    """With everything that could delay the end; what was acknowledged is kept."""
    pages = [watching(service.address) for _ in range(STREAMS)]
    place = urlsplit(service.address)
    # Half a request: nobody knows whether the rest will come.
    half = socket.create_connection((place.hostname, place.port), timeout=20)
    half.sendall(b"POST /api/v1/ingest HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{")
    agents = [Posting(service.address, rank) for rank in range(RANKS)]
    for agent in agents:
        agent.start()
    for agent in agents:
        assert agent.has_begun.wait(60)
    took = service.stop(number)
    for agent in agents:
        agent.join(60)
    half.close()
    for page in pages:
        page.close()
    assert service.process.returncode == 0
    assert "Traceback" not in service.log.read_text()
    store = Store(f"sqlite:///{service.database}")
    try:
        for agent, rank in zip(agents, range(RANKS), strict=True):
            stored = store.steps("run-1", rank, "train").step_index.tolist()
            # At most one more: written, and its answer cut off.
            assert stored == list(range(len(stored)))
            assert agent.acknowledged * 20 <= len(stored) <= (agent.acknowledged + 1) * 20
    finally:
        store.close()
    return took


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_and_keeps_what_it_acknowledged(service: Running, number: int) -> None:
    seconds_to_stop(service, number)


@pytest.mark.soak
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_is_gone_within_three_seconds(service: Running, number: int) -> None:
    assert seconds_to_stop(service, number) < 3
