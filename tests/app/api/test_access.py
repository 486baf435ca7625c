"""Who is let in: everybody on this machine, or whoever has the token."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from tests.app.conftest import Opening, on_sqlite_alone
from tests.app.serving import application_in
from underfed_server.api.admission import access as granting
from underfed_server.main import Application
from underfed_server.store.databases import tables

TOKEN = "s3cret-token-of-the-team"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
JSON = {"Content-Type": "application/json"}
ORIGIN = "http://underfed.example:7077"


@pytest.fixture(scope="module")
def opening(tmp_path_factory: pytest.TempPathFactory) -> Opening:
    directory = tmp_path_factory.mktemp("service")
    return lambda url: application_in(directory, token=TOKEN, database_url=url)


@pytest.fixture
def client(application: Application) -> TestClient:
    return TestClient(application, base_url=ORIGIN)


def test_on_a_local_address_nobody_is_asked_to_read(tmp_path: Path) -> None:
    application = application_in(tmp_path)
    client = TestClient(application, base_url="http://127.0.0.1:7077")
    assert application.new_token is None
    assert client.get("/api/v1/runs").status_code == 200
    info = client.get("/api/v1/service").json()
    assert (info["token_required"], info["signed_in"]) == (False, True)
    assert info["url"] == "http://127.0.0.1:7077"
    signed_in = client.post("/api/v1/session", json={"token": "anything"})
    assert signed_in.status_code == 401
    assert "set-cookie" not in signed_in.headers
    application.close()


READS = ("runs", "runs/x", "runs/x/diagnosis", "runs/x/series?metric=step_us", "events?topic=runs")


@pytest.mark.parametrize("path", READS)
@pytest.mark.reads
def test_with_a_token_every_read_asks_for_it(client: TestClient, path: str) -> None:
    refused = client.get(f"/api/v1/{path}")
    assert refused.status_code == 401
    assert refused.json()["error"]["code"] == "unauthorised"
    assert refused.headers["www-authenticate"] == "Bearer"


@pytest.mark.reads
def test_writes_ask_for_it_too(client: TestClient) -> None:
    assert client.patch("/api/v1/runs/x", json={"notes": "a"}).status_code == 401
    assert client.delete("/api/v1/runs/x").status_code == 401
    assert client.delete("/api/v1/runs/x", headers=BEARER).status_code == 404


@pytest.mark.reads
def test_a_token_in_the_header_is_enough(client: TestClient) -> None:
    assert client.get("/api/v1/runs", headers=BEARER).status_code == 200
    for wrong in (TOKEN[:-1], TOKEN + "x", "", f"{TOKEN} {TOKEN}"):
        assert client.get("/api/v1/runs", headers={"Authorization": f"Bearer {wrong}"}).status_code == 401


@pytest.mark.reads
def test_a_token_in_the_address_is_not_read(client: TestClient) -> None:
    assert client.get(f"/api/v1/runs?token={TOKEN}").status_code == 401


@pytest.mark.reads
def test_what_a_page_needs_before_signing_in_is_open(client: TestClient) -> None:
    for path in ("/healthz", "/readyz", "/docs", "/api/v1/openapi.json"):
        assert client.get(path).status_code == 200
    info = client.get("/api/v1/service").json()
    assert (info["token_required"], info["signed_in"]) == (True, False)


def test_a_browser_signs_in_with_the_token_and_out_again(application: Application, client: TestClient) -> None:
    signed_in = client.post("/api/v1/session", json={"token": TOKEN})
    assert signed_in.status_code == 204
    cookie = signed_in.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    assert client.get("/api/v1/runs").status_code == 200
    assert client.get("/api/v1/service").json()["signed_in"]
    session = client.cookies["underfed_session"]
    assert client.delete("/api/v1/session").status_code == 204
    client.cookies.set("underfed_session", session)
    assert client.get("/api/v1/runs").status_code == 401


@pytest.mark.reads
def test_a_wrong_token_opens_no_session(client: TestClient) -> None:
    refused = client.post("/api/v1/session", json={"token": "wrong"})
    assert refused.status_code == 401
    assert "set-cookie" not in refused.headers
    assert client.post("/api/v1/session", content=b'{"token": "\\ud800"}', headers=JSON).status_code in {401, 422}
    assert client.post("/api/v1/session", json={"nothing": 1}).json()["error"]["field"] == "token"


def test_a_session_does_not_let_an_agent_in(client: TestClient) -> None:
    client.post("/api/v1/session", json={"token": TOKEN})
    assert client.post("/api/v1/ingest", json={}).status_code == 401


def test_a_session_outlives_the_service_but_not_its_time(
    application: Application, client: TestClient, tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.post("/api/v1/session", json={"token": TOKEN})
    kept = dict(client.cookies)
    application.close()
    again = application_in(tmp_path, token=TOKEN, database_url=database_url)
    assert TestClient(again, base_url=ORIGIN, cookies=kept).get("/api/v1/runs").status_code == 200
    monkeypatch.setattr(granting, "SESSION_LENGTH", -granting.SESSION_LENGTH)
    over = TestClient(again, base_url=ORIGIN)
    over.post("/api/v1/session", json={"token": TOKEN})
    assert over.get("/api/v1/runs").status_code == 401
    again.close()


def test_a_session_ends_with_the_token_that_opened_it(
    application: Application, client: TestClient, tmp_path: Path, database_url: str
) -> None:
    client.post("/api/v1/session", json={"token": TOKEN})
    kept = dict(client.cookies)
    application.close()
    changed = application_in(tmp_path, token=TOKEN + "-changed", database_url=database_url)
    assert TestClient(changed, base_url=ORIGIN, cookies=kept).get("/api/v1/runs").status_code == 401
    changed.close()


@on_sqlite_alone
def test_no_secret_is_kept_in_the_file(application: Application, client: TestClient) -> None:
    client.post("/api/v1/session", json={"token": TOKEN})
    session = client.cookies["underfed_session"]
    with application.parts.store.reading() as reader:
        digests = list(reader.connection.execute(select(tables.session.c.digest)).scalars())
    assert [len(digest) for digest in digests] == [32]
    kept = b"".join(path.read_bytes() for path in Path(application.parts.store.database.name).parent.iterdir())
    assert TOKEN.encode() not in kept
    assert session.encode() not in kept


def test_any_other_address_makes_a_token_once_and_remembers_its_digest(tmp_path: Path, database_url: str) -> None:
    first = application_in(tmp_path, host="0.0.0.0", database_url=database_url)
    token = first.new_token
    assert token is not None
    assert len(token) >= 43
    client = TestClient(first, base_url=ORIGIN)
    assert client.get("/api/v1/runs").status_code == 401
    assert client.get("/api/v1/runs", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    first.close()
    second = application_in(tmp_path, host="0.0.0.0", database_url=database_url)
    assert second.new_token is None
    client = TestClient(second, base_url=ORIGIN)
    assert client.get("/api/v1/runs", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    second.close()
