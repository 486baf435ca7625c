"""What holds for every request: local names only, JSON in writes, strict headers out."""

from __future__ import annotations

import gzip

import pytest
from starlette.testclient import TestClient

from underfed_server.main import Application
from underfed_server.store.store import Store


@pytest.mark.parametrize(
    "host", ["127.0.0.1:7077", "127.0.0.1", "localhost:7077", "LOCALHOST", "[::1]:7077", "127.1.2.3", "a.localhost"]
)
def test_a_local_service_answers_to_names_of_this_machine(client: TestClient, host: str) -> None:
    assert client.get("/api/v1/runs", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:7077", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", ""]
)
@pytest.mark.parametrize("path", ["/", "/api/v1/runs", "/api/v1/ingest", "/docs"])
def test_a_name_that_another_site_made_to_point_here_is_refused(client: TestClient, host: str, path: str) -> None:
    response = client.request("POST" if "ingest" in path else "GET", path, headers={"Host": host})
    assert response.status_code == 403
    assert (response.json()["error"]["code"], response.json()["error"]["field"]) == ("forbidden", "Host")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None])
def test_a_form_of_another_site_cannot_write(client: TestClient, recorded: Store, kind: str | None) -> None:
    for method, path in (("PATCH", "/api/v1/runs/run-1"), ("POST", "/api/v1/session")):
        headers = {"Content-Type": kind} if kind else {}
        response = client.request(method, path, content=b'{"notes": "x"}', headers=headers)
        assert response.status_code == 415
        assert response.json()["error"]["code"] == "unsupported_media_type"
    assert recorded.run("run-1").notes == ""


@pytest.mark.parametrize("path", ["/", "/runs/x", "/docs", "/api/v1/runs", "/api/v1/nothing", "/assets/nothing.js"])
def test_every_answer_to_a_browser_is_strict_about_itself(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers


def test_large_answers_are_compressed(client: TestClient, recorded: Store) -> None:
    with client.stream("GET", "/api/v1/openapi.json", headers={"Accept-Encoding": "gzip"}) as response:
        assert response.headers["content-encoding"] == "gzip"
        assert b"openapi" in gzip.decompress(b"".join(response.iter_raw()))


def test_a_path_that_is_not_there_says_so_in_json(client: TestClient) -> None:
    response = client.get("/api/v1/nothing")
    assert response.status_code == 404
    assert response.json()["error"] == {"code": "not_found", "message": "there is nothing at /api/v1/nothing"}
    wrong = client.put("/api/v1/runs")
    assert wrong.status_code == 405
    assert wrong.json()["error"]["code"] == "method_not_allowed"


def test_the_description_of_the_api_is_a_page_that_needs_nothing_else(application: Application) -> None:
    client = TestClient(application, base_url="http://localhost")
    page = client.get("/docs").text
    for path in ("/api/v1/runs/{run_id}/series", "/api/v1/ingest", "Diagnosis", "data_stall_fraction"):
        assert path in page
    assert "<script" not in page
    assert "http://" not in page
    assert "https://" not in page
    assert client.get("/docs/style.css").headers["content-type"].startswith("text/css")
