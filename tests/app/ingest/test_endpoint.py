"""Posting a window over HTTP: what is kept is acknowledged, what is refused is named, and nothing is stored in part."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select
from starlette.testclient import TestClient

from tests.app.made_diagnosis import made_diagnosis
from tests.app.made_windows import made_stream, made_window, posted
from tests.app.serving import application_in
from underfed_server.main import Application
from underfed_server.store.databases import tables

PATH = "/api/v1/ingest"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def client(application: Application) -> TestClient:
    return TestClient(application, base_url="http://localhost")


def written(application: Application) -> dict[str, int]:
    """Rows in each table that has some."""
    with application.parts.store.reading() as reader:
        counts = {
            table.name: reader.connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in tables.metadata.sorted_tables
        }
    return {name: count for name, count in counts.items() if count}


def error_of(client: TestClient, body: bytes, expected: int, headers: dict[str, str] = JSON) -> dict[str, Any]:
    response = client.post(PATH, content=body, headers=headers)
    assert response.status_code == expected, response.text
    assert response.headers["content-type"] == "application/json"
    said: dict[str, Any] = response.json()
    assert list(said) == ["error"]
    error: dict[str, Any] = said["error"]
    assert error["code"]
    assert error["message"]
    return error


@pytest.mark.parametrize(
    ("encoding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes)]
)
def test_a_window_is_taken_in_every_encoding_of_the_wire(client: TestClient, encoding: str, compress: Any) -> None:
    window = next(made_stream(1))
    response = client.post(PATH, content=compress(posted(window)), headers=JSON | {"Content-Encoding": encoding})
    assert response.status_code == 200
    assert response.json() == {"next_window_index": 1, "wants_run": False}
    steps = client.get("/api/v1/runs/run-1/series?metric=step_us&buckets=100").json()["series"][0]
    assert steps["mean"] == window["steps"][0]["step_us"]


def test_an_answer_has_the_verdict_once_there_is_one(client: TestClient, application: Application) -> None:
    client.post(PATH, content=posted(made_window(0)), headers=JSON)
    application.parts.store.save_diagnosis(made_diagnosis(data_stall_fraction=0.4))
    answer = client.post(PATH, content=posted(made_window(1)), headers=JSON).json()
    verdict = {"bound": "data", "level": "bound", "cause": "no_workers", "data_stall_fraction": 0.4}
    assert {name: value for name, value in answer["verdict"].items() if value is not None} == verdict
    maxima = {"max_data_stall_fraction", "max_data_wait_us", "max_data_wait_p95_us", "max_queue_empty_fraction"}
    assert answer["verdict"].keys() - verdict.keys() == maxima
    application.parts.store.note_judged("run-1", [])
    assert client.post(PATH, content=posted(made_window(2)), headers=JSON).json()["verdict_age_us"] >= 0


def test_curl_can_post_a_window_with_a_charset(client: TestClient) -> None:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    assert client.post(PATH, content=posted(made_window()), headers=headers).status_code == 200


def test_a_missing_window_is_a_conflict_that_says_where_to_go_on(client: TestClient) -> None:
    client.post(PATH, content=posted(made_window(0)), headers=JSON)
    error = error_of(client, posted(made_window(4)), 409)
    assert (error["code"], error["next_window_index"]) == ("out_of_order", 1)


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        (b"{", 400, "malformed", None),
        (b'{"x": ' + b"[" * 50_000 + b"]" * 50_000 + b"}", 400, "malformed", None),
        (posted(made_window(version=2)), 400, "unknown_version", "version"),
        (posted(made_window(rank=-1)), 400, "invalid", "rank"),
        (posted(made_window(steps=[{"loader": "a"}])), 400, "invalid", "steps[0].epoch_index"),
        (b" " * (4 * 2**20 + 1), 413, "too_large", None),
    ],
)
@pytest.mark.reads
def test_what_is_never_acceptable_is_named_and_leaves_nothing(
    application: Application, client: TestClient, body: bytes, status: int, code: str, field: str | None
) -> None:
    error = error_of(client, body, status)
    assert (error["code"], error.get("field")) == (code, field)
    assert written(application) == {}


@pytest.mark.reads
def test_a_body_that_inflates_too_far_is_refused_and_leaves_nothing(
    application: Application, client: TestClient
) -> None:
    bomb = gzip.compress(posted(made_window(padding=" " * 17_000_000)), 9)
    assert error_of(client, bomb, 413, JSON | {"Content-Encoding": "gzip"})["code"] == "too_large"
    assert written(application) == {}


@pytest.mark.reads
def test_a_body_without_a_length_is_stopped_at_the_limit(client: TestClient) -> None:
    def growing() -> Iterator[bytes]:
        for _ in range(6):
            yield b" " * 2**20

    response = client.post(PATH, content=growing(), headers=JSON)
    assert (response.status_code, response.json()["error"]["code"]) == (413, "too_large")


@pytest.mark.parametrize(
    ("headers", "field"),
    [
        ({"Content-Type": "text/plain"}, "Content-Type"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, "Content-Type"),
        ({}, "Content-Type"),
        (JSON | {"Content-Encoding": "br"}, "Content-Encoding"),
    ],
)
@pytest.mark.reads
def test_another_kind_of_body_is_refused(client: TestClient, headers: dict[str, str], field: str) -> None:
    error = error_of(client, posted(made_window()), 415, headers)
    assert (error["code"], error["field"]) == ("unsupported_media_type", field)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.reads
def test_windows_are_posted_and_nothing_else(client: TestClient, method: str) -> None:
    response = client.request(method, PATH)
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"
    assert response.json()["error"]["code"] == "method_not_allowed"


def test_a_service_that_stops_asks_for_patience(application: Application, client: TestClient) -> None:
    application.parts.store.close()
    response = client.post(PATH, content=posted(made_window()), headers=JSON)
    assert response.status_code == 503
    assert int(response.headers["retry-after"]) > 0
    assert response.json()["error"]["code"] == "unavailable"


@pytest.mark.reads
def test_an_unforeseen_failure_has_an_id_and_no_details(
    application: Application, client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("a secret")

    monkeypatch.setattr(application.parts.store._appender, "append", fail)
    error = error_of(client, posted(made_window()), 500)
    assert error["code"] == "internal"
    assert "secret" not in json.dumps(error)
    assert error["request_id"] in caplog.text


@pytest.mark.parametrize(
    "authorization", [None, "Bearer", "Bearer wrong", "Basic c2VjcmV0", "Bearer s3cret-tokem", "s3cret-token"]
)
def test_a_service_with_a_token_takes_nothing_without_it(tmp_path: Path, authorization: str | None) -> None:
    application = application_in(tmp_path, token="s3cret-token")
    client = TestClient(application, base_url="http://somewhere")
    headers = JSON if authorization is None else JSON | {"Authorization": authorization}
    response = client.post(PATH, content=posted(made_window()), headers=headers)
    assert response.status_code == 401
    assert response.json()["error"]["code"] == "unauthorised"
    assert "s3cret" not in response.text
    assert written(application) == {}
    accepted = client.post(PATH, content=posted(made_window()), headers=JSON | {"Authorization": "Bearer s3cret-token"})
    assert accepted.status_code == 200
    application.close()
