"""What holds for every request: local names only, JSON in writes, strict headers out."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from starlette.testclient import TestClient

from underfed_server.main import Application
from underfed_server.store.store import Store

pytestmark = pytest.mark.reads


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


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/api/v1/runs?limit=1&limit=2", "limit"),
        ("/api/v1/runs/run-1/workers?rank=x&rank=0", "rank"),
        ("/api/v1/runs/run-1/series?metric=step_us&loader=a&loader=a", "loader"),
    ],
)
def test_two_values_of_a_single_valued_parameter_are_refused(
    client: TestClient,
    recorded: Store,
    path: str,
    field: str,
) -> None:
    response = client.get(path)
    assert response.status_code == 422
    assert response.json()["error"] == {"code": "invalid", "message": f"{field}: give it once", "field": field}


def test_a_list_parameter_may_be_given_more_than_once(client: TestClient, recorded: Store) -> None:
    asked = client.get("/api/v1/runs/run-1/series?metric=step_us&metric=data_wait_us")
    assert asked.status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None])
def test_a_form_of_another_site_cannot_write(client: TestClient, recorded: Store, kind: str | None) -> None:
    for method, path in (("PATCH", "/api/v1/runs/run-1"), ("POST", "/api/v1/session")):
        headers = {"Content-Type": kind} if kind else {}
        response = client.request(method, path, content=b'{"notes": "x"}', headers=headers)
        assert response.status_code == 415
        assert response.json()["error"]["code"] == "unsupported_media_type"
    assert recorded.run("run-1").notes == ""


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 404),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:7077"}, 404),
        ({"Sec-Fetch-Site": "none"}, 404),
        ({"Origin": "http://127.0.0.1:7077"}, 404),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:7077"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:8000"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_a_page_of_another_site_cannot_write_at_all(
    client: TestClient, method: str, headers: dict[str, str], status: int
) -> None:
    sent: dict[str, Any] = {"json": {}} if method == "PATCH" else {}
    answer = client.request(method, "/api/v1/runs/nobody", headers=headers, **sent)
    assert answer.status_code == status
    assert client.get("/api/v1/runs", headers=headers).status_code == 200, "reading is for the browser to forbid"


@pytest.mark.parametrize("path", ["/api/v1/runs/a%00b", "/%00", "/api/v1/runs?q=a%00b"])
def test_a_nul_in_the_address_is_refused(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid")


def test_a_body_larger_than_any_write_is_not_read_to_its_end(client: TestClient) -> None:
    headers = {"Content-Type": "application/json"}
    with_length = client.patch("/api/v1/runs/x", content=bytes(5 * 2**20), headers=headers)
    without_length = client.patch("/api/v1/runs/x", content=iter([bytes(2**20)] * 5), headers=headers)
    for answer in (with_length, without_length):
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


@pytest.mark.parametrize("path", ["/api/v1/runs", "/api/v1/service", "/api/v1/nothing", "/metrics"])
def test_answers_of_the_api_are_not_cached(client: TestClient, path: str) -> None:
    assert client.get(path).headers["cache-control"] == "no-store"


def test_over_tls_a_browser_has_to_stay_there(application: Application) -> None:
    secure = TestClient(application, base_url="https://localhost").get("/api/v1/service")
    assert secure.headers["strict-transport-security"] == "max-age=31536000"
    assert "strict-transport-security" not in TestClient(application, base_url="http://localhost").get("/").headers


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
