"""Every failure has one shape, whatever part of the service it comes from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.app.made_windows import made_window
from tests.app.serving import AS_OWNER, application_in
from underfed_server import errors
from underfed_server.errors import OutOfOrderError, RequestError, TryLaterError, written
from underfed_server.main import Application

JSON = {"Content-Type": "application/json"}
PATCH: dict[str, Any] = {"content": b"{}", "headers": JSON}

FAILURES = [
    ("GET", "/api/v1/runs/nobody", {}, 404, "not_found"),
    ("GET", "/api/v1/nothing", {}, 404, "not_found"),
    ("GET", "/assets/nothing.js", {}, 404, "not_found"),
    ("PUT", "/api/v1/runs", PATCH, 405, "method_not_allowed"),
    ("GET", "/api/v1/ingest", {}, 405, "method_not_allowed"),
    ("GET", "/api/v1/runs?limit=0", {}, 422, "invalid"),
    ("GET", "/api/v1/events", {}, 422, "invalid"),
    ("PATCH", "/api/v1/runs/nobody", {"content": b"{", "headers": JSON}, 422, "invalid"),
    ("PATCH", "/api/v1/runs/nobody", PATCH, 404, "not_found"),
    ("DELETE", "/api/v1/runs/nobody", {}, 404, "not_found"),
    ("POST", "/api/v1/session", {"content": b"token=x"}, 415, "unsupported_media_type"),
    ("POST", "/api/v1/ingest", {"content": b"{"}, 415, "unsupported_media_type"),
    ("POST", "/api/v1/ingest", {"content": b"{", "headers": JSON}, 400, "malformed"),
    ("POST", "/api/v1/ingest", {"json": made_window(version=3)}, 400, "unknown_version"),
    ("POST", "/api/v1/ingest", {"json": made_window(rank="0")}, 400, "invalid"),
    ("POST", "/api/v1/ingest", {"json": made_window(3)}, 409, "out_of_order"),
    ("POST", "/api/v1/ingest", {"content": bytes(5 * 2**20), "headers": JSON}, 413, "too_large"),
    ("GET", "/api/v1/runs", {"headers": {"Host": "evil.example"}}, 403, "forbidden"),
]


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    opened = application_in(Path(tmp_path_factory.mktemp("errors")))
    yield opened
    opened.close()


@pytest.mark.parametrize(("method", "path", "sent", "status", "code"), FAILURES)
def test_a_failure_is_one_object_with_a_code_and_a_sentence(
    application: Application, method: str, path: str, sent: dict[str, Any], status: int, code: str
) -> None:
    response = TestClient(application, base_url="http://localhost", headers=AS_OWNER).request(method, path, **sent)
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert list(body) == ["error"]
    assert body["error"]["code"] == code
    assert len(body["error"]["message"]) > 10
    assert set(body["error"]) <= {"code", "message", "field", "next_window_index"}


def kinds(of: type[RequestError] = RequestError) -> Iterator[type[RequestError]]:
    for kind in of.__subclasses__():
        if kind.__module__ == errors.__name__:
            yield kind
            yield from kinds(kind)


def test_every_kind_of_refusal_is_in_the_tree_on_top_of_its_file() -> None:
    assert errors.__doc__ is not None
    for kind in kinds():
        assert f"{kind.__name__} " in errors.__doc__
        assert str(kind.status) in errors.__doc__.split(kind.__name__)[1].split("\n")[0]


def test_a_refusal_that_may_end_says_when_to_try_again() -> None:
    assert TryLaterError("busy").headers == {"Retry-After": "1"}


def test_what_was_not_said_is_left_out_and_what_was_is_there() -> None:
    assert json.loads(written(TryLaterError("busy").detail())) == {"error": {"code": "unavailable", "message": "busy"}}
    detail = OutOfOrderError("later", next_window_index=0).detail()
    assert json.loads(written(detail))["error"]["next_window_index"] == 0
