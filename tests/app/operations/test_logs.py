"""The log: every line JSON, every line of a request with its id, nothing in it that a request could forge."""

from __future__ import annotations

import io
import json
import logging
import os
import pty
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from starlette.testclient import TestClient

from tests.app.conftest import on_sqlite_alone
from tests.app.made_windows import made_window
from tests.app.operations.asking import ask, lines_of
from tests.app.operations.running import Running, running, start
from underfed_server.logs import MINUTE_S, MOST_OF_A_KIND, JsonLines, Seldom, TextLines, request_id
from underfed_server.main import Application
from underfed_server.settings import read_settings
from underfed_server.store.store import Store

FORGED = "x\n2026-11-21T00:00:00+00:00 error underfed: the disk is on fire\x1b[2J\u2028"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path, "--log-level", "info") as started:
        yield started


def said_with(formatter: logging.Formatter, message: str, *arguments: object, fields: object = None) -> str:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    log = logging.Logger("underfed.test")
    log.addHandler(handler)
    error = ValueError(FORGED)
    log.error(message, *arguments, exc_info=error, extra={"fields": fields or {}})
    return stream.getvalue()


def test_a_line_of_json_stays_one_line_whatever_is_in_it() -> None:
    said = said_with(JsonLines(), "asked for %s", FORGED, fields={"path": FORGED})
    assert said.count("\n") == 1
    assert said.isascii()
    line = json.loads(said)
    assert line["message"] == f"asked for {FORGED}"
    assert line["path"] == FORGED
    assert line["level"] == "error"
    assert "ValueError" in line["traceback"]


def test_a_line_of_text_cannot_be_forged_either() -> None:
    said = said_with(TextLines(), "asked for %s", FORGED, fields={"path": FORGED})
    first, *rest = said.splitlines()
    assert "asked for x\\n2026" in first
    assert all(line.startswith("    ") for line in rest)
    assert "\x1b" not in said
    assert "\u2028" not in said


def test_a_line_says_which_request_it_belongs_to() -> None:
    token = request_id.set("abc-1")
    try:
        assert json.loads(said_with(JsonLines(), "so"))["request_id"] == "abc-1"
        assert "so [abc-1]" in said_with(TextLines(), "so")
    finally:
        request_id.reset(token)
    assert "request_id" not in json.loads(said_with(JsonLines(), "so"))


def test_a_request_keeps_the_id_that_a_proxy_gave_it(service: Running) -> None:
    answer = ask(service.address, "/api/v1/runs", headers={"X-Request-Id": "proxy-7.a_B"})
    assert answer.headers["x-request-id"] == "proxy-7.a_B"
    ask(service.address, "/api/v1/runs?token=s3cret")
    service.stop()
    lines = [line for line in lines_of(service.log) if line["message"] == "request"]
    assert [line["path"] for line in lines] == ["/api/v1/runs"] * 2
    assert lines[0]["request_id"] == "proxy-7.a_B"
    assert lines[0]["status"] == 200
    assert lines[0]["duration_us"] > 0
    assert "s3cret" not in service.log.read_text()


@pytest.mark.reads
@on_sqlite_alone
@pytest.mark.parametrize("given", ["", "two words", "x" * 65, "<script>", "ä"])
def test_an_id_that_could_do_harm_is_replaced(application: Application, given: str) -> None:
    client = TestClient(application, base_url="http://localhost")
    answer = client.get("/healthz", headers=[(b"X-Request-Id", given.encode("latin-1"))])
    assert answer.headers["x-request-id"] not in (given, "")
    assert answer.headers["x-request-id"].isalnum()


@on_sqlite_alone
def test_agents_and_health_checks_leave_no_line_unless_asked_for(
    application: Application, caplog: pytest.LogCaptureFixture
) -> None:
    client = TestClient(application, base_url="http://localhost")
    with caplog.at_level(logging.INFO):
        assert client.post("/api/v1/ingest", json=made_window(0)).status_code == 200
        for path in ("/healthz", "/readyz", "/metrics"):
            assert client.get(path).headers["x-request-id"]
        assert requests_in(caplog) == []
    with caplog.at_level(logging.DEBUG):
        client.post("/api/v1/ingest", json=made_window(1))
    assert [line["path"] for line in requests_in(caplog)] == ["/api/v1/ingest"]


def requests_in(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """As they stand in the log."""
    return [json.loads(JsonLines().format(each)) for each in caplog.records if each.getMessage() == "request"]


def test_a_failure_of_ours_is_logged_once_with_its_id_and_its_traceback(
    application: Application, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("a secret")

    monkeypatch.setattr(application.parts.store, "runs", fail)
    client = TestClient(application, base_url="http://localhost")
    response = client.get("/api/v1/runs", headers={"X-Request-Id": "mine"})
    assert response.status_code == 500
    assert response.json()["error"]["request_id"] == response.headers["x-request-id"] == "mine"
    assert [record.getMessage() for record in caplog.records if record.exc_info] == ["request mine failed"]


def test_what_the_server_itself_says_is_a_line_like_any_other(service: Running) -> None:
    import socket
    from urllib.parse import urlsplit

    place = urlsplit(service.address)
    with socket.create_connection((place.hostname, place.port), timeout=10) as connection:
        connection.sendall(b"\x00\xff not HTTP\r\n\r\n")
        connection.recv(1_000)
    service.stop()
    assert any(line["logger"] == "uvicorn.error" and line["level"] == "warning" for line in lines_of(service.log))


def test_the_form_is_chosen_by_a_flag_else_by_where_the_log_goes(tmp_path: Path) -> None:
    assert read_settings([], {}).log_format is None
    assert read_settings(["--log-format", "text", "--log-level", "debug"], {}).log_level == "debug"
    with running(tmp_path, "--log-level", "info", "--log-format", "text") as service:
        ask(service.address, "/api/v1/runs")
        service.stop()
        assert " info underfed.requests: request method=GET path=/api/v1/runs status=200" in service.log.read_text()


@pytest.mark.sql
def test_what_a_statement_was_given_is_not_in_the_log(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    given = {"value": "s3cret"}

    def fail(connection: Connection) -> None:
        connection.execute(text("INSERT INTO nowhere VALUES (:value)"), given)

    with pytest.raises(DBAPIError) as raised:
        store.write(fail)
    assert "nowhere" in caplog.text
    assert "s3cret" not in caplog.text + str(raised.value)


def test_a_terminal_gets_lines_for_people(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    started = start(tmp_path / "underfed.db", "--log-level", "info", errors=theirs)
    os.close(theirs)
    with started.stdout as output, os.fdopen(ours, encoding="utf-8") as terminal:
        assert output.readline().startswith("Underfed")
        said = next(line for line in terminal if "uvicorn.error" in line)
        started.kill()
        started.wait()
    assert " info uvicorn.error: " in said
    assert "{" not in said


def test_of_one_kind_some_lines_are_written_a_minute_and_the_others_are_counted() -> None:
    now = 0.0
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    handler.addFilter(Seldom(lambda: now))
    log = logging.Logger("underfed.test")
    log.addHandler(handler)
    for number in range(1_000):
        log.warning("request", extra={"fields": {"path": f"/{number}", "status": 503}})
        log.info("request", extra={"fields": {"path": f"/{number}", "status": 200}})
    log.error("request %s failed", "x", extra={"fields": {"status": 500}})
    now = MINUTE_S
    log.warning("request", extra={"fields": {"path": "/", "status": 503}})
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert sum(line["level"] == "info" for line in lines) == 1_000, "somebody asked for each"
    assert sum(line["level"] == "error" for line in lines) == 1
    warnings = [line for line in lines if line["level"] == "warning"]
    assert len(warnings) == MOST_OF_A_KIND + 1
    assert (warnings[-1]["left_out"], warnings[-1]["path"]) == (1_000 - MOST_OF_A_KIND, "/")


def test_a_failure_is_not_left_out_for_another_one_of_the_same_message() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(Seldom(lambda: 0.0))
    log = logging.Logger("underfed.test")
    log.addHandler(handler)
    for _ in range(100):
        log.error("request %s failed", "x", exc_info=RuntimeError("a client's fault"))
    tables: dict[str, object] = {}
    try:
        tables["table"]
    except KeyError:
        log.exception("request %s failed", "x")
    assert stream.getvalue().count("a client's fault") == MOST_OF_A_KIND
    assert "KeyError: 'table'" in stream.getvalue()


BAD_REQUESTS = (
    b"\x00\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    b"GET /api/v1/runs/%00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"GET /api/v1/runs HTTP/1.1\r\nHost: evil.example\r\n\r\n",
)


def test_bad_requests_do_not_fill_the_disk(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        place = urlsplit(service.address)
        for sent in BAD_REQUESTS * 3 * MOST_OF_A_KIND:
            with socket.create_connection((place.hostname, place.port), timeout=30) as connection:
                connection.sendall(sent)
                assert connection.recv(1_000)
    assert 0 < len(lines_of(service.log)) <= 3 * MOST_OF_A_KIND
