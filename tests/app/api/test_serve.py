"""``underfed serve`` as a user starts it: a process, a port, a file, and Ctrl-C."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.app.made_windows import made_window, posted
from tests.app.posting_agent import JSON, PostingAgent, require_every_step
from tests.app.serving import Service, begin, launch, start_service, started
from underfed_server import __main__ as serving
from underfed_server.__main__ import serve
from underfed_server.store.store import Store


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "data" / "underfed.db"


@pytest.fixture
def service(database: Path) -> Iterator[Service]:
    served = start_service(database)
    yield served
    served.kill()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Path]]:
    """A service that no test stops, and its file."""
    file = tmp_path_factory.mktemp("running") / "data" / "underfed.db"
    served = start_service(file)
    yield served, file
    served.kill()


def ask(address: str, path: str, body: bytes | None = None) -> Any:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=20)
    try:
        connection.request("GET" if body is None else "POST", path, body=body, headers=JSON if body else {})
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def stop(service: Service, number: int = signal.SIGINT) -> tuple[float, str]:
    """Seconds until the process was gone, and what it said."""
    begun = time.monotonic()
    service.process.send_signal(number)
    assert service.process.stdout is not None
    with service.process.stdout as output:
        said = output.read()
    service.process.wait()
    return time.monotonic() - begun, said


def test_it_says_where_the_page_is_and_where_data_lie(running: tuple[Service, Path]) -> None:
    service, database = running
    assert service.address in service.said
    assert str(database) in service.said
    assert ask(service.address, "/healthz")["status"] == "ok"
    assert ask(service.address, "/readyz")["status"] == "ok"


def seconds_to_end(service: Service, number: int) -> float:
    """Quietly, with a stream and an idle connection open."""
    watching = http.client.HTTPConnection(urlsplit(service.address).netloc, timeout=20)
    watching.request("GET", "/api/v1/events?topic=runs")
    watching.getresponse().readline()
    idle = http.client.HTTPConnection(urlsplit(service.address).netloc, timeout=20)
    idle.request("GET", "/healthz")
    idle.getresponse().read()
    took, said = stop(service, number)
    assert service.process.returncode == 0
    assert said == ""
    watching.close()
    idle.close()
    return took


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_quietly_with_streams_open(service: Service, number: int) -> None:
    seconds_to_end(service, number)


@pytest.mark.soak
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_promptly_with_streams_open(service: Service, number: int) -> None:
    assert seconds_to_end(service, number) < 3


def test_it_ends_when_asked_to_while_it_starts(database: Path) -> None:
    _, said = stop(started(begin(database)), signal.SIGINT)
    assert said == ""


@pytest.mark.soak
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM] * 5)
def test_it_ends_soon_when_asked_to_while_it_starts(database: Path, number: int) -> None:
    took, said = stop(started(launch(database)), number)
    assert took < 10
    assert said == ""


def test_a_taken_port_is_named_before_anything_is_changed(database: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = begin(database, port=port)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"port {port} is in use" in said
    assert "choose another with --port" in said
    assert "Traceback" not in said
    assert not database.parent.exists()


def test_a_second_service_on_the_same_file_is_refused(running: tuple[Service, Path]) -> None:
    service, database = running
    process = begin(database)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"another underfed service (process {service.process.pid}) uses {database}" in said
    assert "Traceback" not in said
    assert ask(service.address, "/healthz")["status"] == "ok"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--port", "70000"], "--port must be between"),
        (["--host", "no such host"], "--host must be"),
        (["--host", "192.0.2.1"], "cannot listen on 192.0.2.1"),
        (["--db", "mysql://x/y"], "SQLite or PostgreSQL"),
        (
            ["--db", "postgresql+psycopg://127.0.0.1:1/x"],
            "postgresql+psycopg://127.0.0.1:1/x cannot be used: connection",
        ),
        (["--db", "nonsense"], "SQLAlchemy URL"),
        (["--db", "sqlite:////proc/nowhere/underfed.db"], "data cannot be kept in /proc/nowhere"),
    ],
)
def test_an_invalid_argument_is_refused_in_a_sentence(
    database: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    # It would replace the logging of this process for good.
    monkeypatch.setattr(serving, "start_logging", lambda *_: None)
    assert serve(["--port", "0", "--db", f"sqlite:///{database}", *arguments]) == 1
    output = capsys.readouterr().err
    assert said in output
    assert "Traceback" not in output


def test_the_default_file_lies_in_the_directory_of_the_environment(tmp_path: Path) -> None:
    directory = tmp_path / "elsewhere"
    service = start_service(None, UNDERFED_DIR=str(directory))
    service.kill()
    assert str(directory / "underfed.db") in service.said
    assert (directory / "underfed.db").stat().st_size > 0


def test_another_address_shows_a_new_token_once(database: Path) -> None:
    shown = start_service(database, "--host", "0.0.0.0")
    _, said = stop(shown)
    token = said.split()[1]
    assert said.startswith("Token")
    again = start_service(database, "--host", "0.0.0.0")
    assert not ask(again.address, "/api/v1/service")["signed_in"]
    connection = http.client.HTTPConnection(urlsplit(again.address).netloc, timeout=20)
    connection.request("GET", "/api/v1/runs", headers={"Authorization": f"Bearer {token}"})
    assert connection.getresponse().status == 200
    connection.close()
    _, said = stop(again)
    assert said == ""


def test_the_page_loads_from_the_running_service(running: tuple[Service, Path]) -> None:
    service, _ = running
    connection = http.client.HTTPConnection(urlsplit(service.address).netloc, timeout=20)
    connection.request("GET", "/")
    answer = connection.getresponse()
    assert answer.status in {200, 503}  # 503: this checkout's page was not built
    assert "default-src 'self'" in (answer.getheader("content-security-policy") or "")
    connection.close()


@pytest.mark.parametrize(("ranks", "windows", "kills"), [(2, 220, 1), pytest.param(4, 700, 5, marks=pytest.mark.soak)])
def test_every_step_is_there_once_and_in_order_after_kills(
    database: Path, ranks: int, windows: int, kills: int
) -> None:
    service = start_service(database)
    port = urlsplit(service.address).port or 0
    agents = [PostingAgent([port], rank, windows) for rank in range(ranks)]
    for agent in agents:
        agent.start()
    for kill in range(1, kills + 1):
        # Spread over the whole run, compactions included, rather than over time.
        while min(agent.acknowledged for agent in agents) < windows * kill // (kills + 1):
            time.sleep(0.005)
        service.kill()
        acknowledged = [agent.acknowledged for agent in agents]
        service = start_service(database, port=port)
        for rank, least in enumerate(acknowledged):
            run = ask(service.address, f"/api/v1/runs/run-1/series?metric=step_us&rank={rank}&buckets=1")
            assert sum(run["series"][0]["count"]) >= least * 20
    for agent in agents:
        agent.join()
    # One service, with a stream's windows in order: it has no reason to refuse any.
    assert [agent.refused + agent.corrected for agent in agents] == [0] * ranks
    stop(service)
    store = Store(f"sqlite:///{database}")
    try:
        require_every_step(store, range(ranks), windows)
        for rank in range(ranks):
            assert len(store.batches("run-1", rank, "train")) == windows * 20
        assert store.step_totals("run-1")[0].steps == windows * 20
        with store.reading() as reader:
            assert reader.connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
    finally:
        store.close()


def test_what_was_acknowledged_before_a_kill_is_there_after_it(database: Path) -> None:
    service = start_service(database)
    for index in range(5):
        ask(service.address, "/api/v1/ingest", posted(made_window(index)))
    service.kill()
    again = start_service(database)
    refused = ask(again.address, "/api/v1/ingest", posted(made_window(9)))
    assert refused["error"]["next_window_index"] == 5
    again.kill()
