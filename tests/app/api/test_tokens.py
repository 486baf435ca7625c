"""Tokens: what each opens, until when, and that no process opens anything to one that was revoked."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError
from starlette.testclient import TestClient

from tests.app.api.visitors import ORIGIN, ROOT, bearer, make_token, visitor
from tests.app.conftest import Opening, on_postgresql_alone
from tests.app.made_windows import made_stream, made_window
from tests.app.serving import AS_OWNER, application_in, poll
from tests.app.store.posting import post
from underfed_server.api.admission import access as granting
from underfed_server.api.admission.access import COOKIE
from underfed_server.main import Application
from underfed_server.store.team import access_tokens


@pytest.fixture(scope="module")
def opening(tmp_path_factory: pytest.TempPathFactory) -> Opening:
    directory = tmp_path_factory.mktemp("service")

    def opened(url: str) -> Application:
        application = application_in(directory, token=ROOT, database_url=url)
        post(application.parts.store, made_stream(2))
        return application

    return opened


def statuses(application: Application, token: str) -> tuple[int, int, int]:
    """Of sending a window, reading and changing."""
    client = visitor(application, token)
    return (
        client.post("/api/v1/ingest", json=made_window(2)).status_code,
        client.get("/api/v1/runs").status_code,
        client.patch("/api/v1/runs/run-1", json={"notes": "changed"}).status_code,
    )


@pytest.mark.parametrize(
    ("scopes", "expected"),
    [
        (["ingest"], (200, 403, 403)),
        (["view"], (403, 200, 403)),
        (["admin"], (200, 200, 200)),
        (["ingest", "view"], (200, 200, 403)),
    ],
)
def test_a_token_does_what_its_scopes_say_and_admin_does_all(
    application: Application, scopes: list[str], expected: tuple[int, int, int]
) -> None:
    assert statuses(application, make_token(application, *scopes)["token"]) == expected


@pytest.mark.reads
def test_a_scope_that_is_missing_is_named(application: Application) -> None:
    client = visitor(application, make_token(application, "view")["token"])
    refused = client.delete("/api/v1/runs/run-1").json()["error"]
    assert (refused["code"], refused["field"]) == ("forbidden", "admin")
    assert refused["message"].startswith("the scope 'admin' in 'vision' is needed to delete or restore runs")
    assert refused["message"].endswith("; this token has view")
    refused = client.post("/api/v1/ingest", json=made_window(2)).json()["error"]
    assert (refused["code"], refused["field"]) == ("forbidden", "ingest")


@pytest.mark.reads
def test_a_refusal_says_which_scope_on_which_project_is_needed_and_what_the_token_has(application: Application) -> None:
    client = visitor(application, make_token(application, "view", "ingest", project="vision")["token"])
    refused = [
        client.patch("/api/v1/runs/run-1", json={"notes": "x"}),
        client.delete("/api/v1/runs/run-1"),
        client.get("/api/v1/tokens"),
    ]
    assert [each.status_code for each in refused] == [403] * 3
    needed, held = zip(*(each.json()["error"]["message"].split("; ") for each in refused), strict=True)
    assert set(held) == {"this token has ingest and view in 'vision'"}
    assert needed[0].startswith("the scope 'edit' in 'vision' is needed to change names")
    assert needed[1].startswith("the scope 'admin' in 'vision' is needed to delete")
    assert needed[2].startswith("the scope 'admin' is needed to")


@pytest.mark.reads
def test_an_unknown_token_is_said_to_be_unknown_and_without_one_a_token_is_asked_for(application: Application) -> None:
    revoked = make_token(application, "admin")
    visitor(application, ROOT).delete(f"/api/v1/tokens/{revoked['token_id']}")
    for method, path, body in (
        ("GET", "/api/v1/runs", None),
        ("PATCH", "/api/v1/runs/run-1", {"notes": "x"}),
        ("POST", "/api/v1/ingest", made_window(2)),
    ):
        messages = [
            visitor(application, token).request(method, path, json=body).json()["error"]["message"]
            for token in ("no such token as this", revoked["token"], None)
        ]
        assert messages[:2] == ["this token is not known here: it is wrong, was revoked, or has expired"] * 2
        assert "access token (UNDERFED_TOKEN)" in messages[2]


@pytest.mark.reads
def test_who_may_not_administrate_does_not_even_see_tokens(application: Application) -> None:
    client = visitor(application, make_token(application, "ingest", "view")["token"])
    for method, path in (("GET", ""), ("POST", ""), ("DELETE", "/abc")):
        sent: dict[str, Any] = {"json": {"name": "x", "scopes": ["admin"]}} if method == "POST" else {}
        assert client.request(method, f"/api/v1/tokens{path}", **sent).status_code == 403


def test_a_token_is_shown_once_and_listed_without_its_secret(application: Application) -> None:
    made = make_token(application, "ingest", name="cluster", project="vision")
    answer = visitor(application, ROOT).get("/api/v1/tokens")
    (listed,) = answer.json()["tokens"]
    assert listed == {key: value for key, value in made.items() if key != "token"}
    assert (listed["name"], listed["scopes"], listed["project"]) == ("cluster", ["ingest"], "vision")
    assert made["token"] not in answer.text
    assert answer.headers["cache-control"] == "no-store"


def test_a_token_that_was_revoked_is_refused_and_so_is_what_it_opened(application: Application) -> None:
    made = make_token(application, "view")
    browser = visitor(application)
    assert browser.post("/api/v1/session", json={"token": made["token"]}).status_code == 204
    assert browser.get("/api/v1/runs").status_code == 200
    root = visitor(application, ROOT)
    assert root.delete(f"/api/v1/tokens/{made['token_id']}").status_code == 204
    assert visitor(application, made["token"]).get("/api/v1/runs").status_code == 401
    assert browser.get("/api/v1/runs").status_code == 401
    assert root.get("/api/v1/tokens").json()["tokens"][0]["revoked_at"] is not None
    assert root.delete(f"/api/v1/tokens/{made['token_id']}").status_code == 204
    assert root.delete("/api/v1/tokens/nothing").status_code == 404


def test_a_token_ends_when_it_was_said_to(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    soon = datetime.now(timezone.utc) + timedelta(hours=1)
    made = make_token(application, "view", expires_at=soon.isoformat())
    browser = visitor(application)
    browser.post("/api/v1/session", json={"token": made["token"]})
    monkeypatch.setattr(application.parts.store, "now", lambda: soon - timedelta(seconds=1))
    assert visitor(application, made["token"]).get("/api/v1/runs").status_code == 200
    monkeypatch.setattr(application.parts.store, "now", lambda: soon)
    assert visitor(application, made["token"]).get("/api/v1/runs").status_code == 401
    assert browser.get("/api/v1/runs").status_code == 401


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"scopes": []}, "scopes"),
        ({"scopes": ["root"]}, "scopes.0"),
        ({"name": " "}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"project": ""}, "project"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "2120-01-01T00:00:00"}, "expires_at"),
        ({"secret": "mine"}, "secret"),
    ],
)
@pytest.mark.reads
def test_an_invalid_token_is_refused_by_name(application: Application, asked: dict[str, Any], field: str) -> None:
    refused = visitor(application, ROOT).post("/api/v1/tokens", json={"name": "x", "scopes": ["view"]} | asked)
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, field)


def test_when_a_token_was_used_is_noted_off_the_requests_path(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_token(application, "view")

    def last_used() -> object:
        tokens = visitor(application, ROOT).get("/api/v1/tokens").json()["tokens"]
        return tokens[0]["last_used_at"]

    visitor(application, made["token"]).get("/api/v1/runs")
    assert last_used() is None
    monkeypatch.setattr(granting, "NOTED_APART_S", 0.0)
    poll(lambda: last_used() is not None)


def test_a_session_reads_and_changes_as_its_token_does_but_is_no_agent(application: Application) -> None:
    made = make_token(application, "admin")
    browser = visitor(application)
    browser.post("/api/v1/session", json={"token": made["token"]})
    assert browser.patch("/api/v1/runs/run-1", json={"notes": "x"}).status_code == 200
    assert browser.post("/api/v1/ingest", json=made_window(2)).status_code == 401
    info = browser.get("/api/v1/service").json()
    assert (info["signed_in"], info["scopes"], info["user"]) == (True, ["admin"], None)


@pytest.mark.sql
def test_a_token_keeps_a_bounded_number_of_sessions(application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_tokens, "MOST_SESSIONS", 3)
    made = make_token(application, "view")
    browsers = [visitor(application) for _ in range(5)]
    for browser in browsers:
        assert browser.post("/api/v1/session", json={"token": made["token"]}).status_code == 204
    statuses = [browser.get("/api/v1/runs").status_code for browser in browsers]
    assert statuses == [401, 401, 200, 200, 200], "the newest stay"


@pytest.mark.reads
def test_a_token_that_only_sends_opens_no_page(application: Application) -> None:
    made = make_token(application, "ingest")
    refused = visitor(application).post("/api/v1/session", json={"token": made["token"]})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    assert "view" in refused.json()["error"]["message"]


def test_a_project_makes_tokens_for_itself_alone(application: Application) -> None:
    boss = visitor(application, make_token(application, "admin", project="vision")["token"])
    other = make_token(application, "view", project="speech")
    for project in (None, "speech"):
        asked = {"name": "x", "scopes": ["view"], "project": project}
        assert boss.post("/api/v1/tokens", json=asked).status_code == 403
    refused = boss.post("/api/v1/tokens", json={"name": "x", "scopes": ["view"]}).json()["error"]
    assert (refused["code"], refused["field"]) == ("forbidden", "project")
    assert refused["message"].endswith("with --project: vision")
    made = boss.post("/api/v1/tokens", json={"name": "x", "scopes": ["view"], "project": "vision"})
    assert made.status_code == 201
    assert {each["project"] for each in boss.get("/api/v1/tokens").json()["tokens"]} == {"vision"}
    assert boss.delete(f"/api/v1/tokens/{other['token_id']}").status_code == 404
    assert boss.delete(f"/api/v1/tokens/{made.json()['token_id']}").status_code == 204


def test_an_open_service_makes_tokens_for_the_day_it_is_no_longer_open(tmp_path: Path, database_url: str) -> None:
    local = application_in(tmp_path, database_url=database_url)
    client = TestClient(local, base_url="http://127.0.0.1:7077")
    made = client.post("/api/v1/tokens", json={"name": "team", "scopes": ["admin"]}, headers=AS_OWNER).json()
    assert client.get("/api/v1/runs", headers=bearer("anything")).status_code == 200
    local.close()
    public = application_in(tmp_path, host="0.0.0.0", database_url=database_url)
    assert public.new_token is None
    assert visitor(public).get("/api/v1/runs").status_code == 401
    assert visitor(public, made["token"]).get("/api/v1/runs").status_code == 200
    public.close()


@pytest.mark.parametrize(
    "left", [None, {"scopes": ["view", "ingest"]}, {"scopes": ["admin"], "project": "vision"}], ids=str
)
def test_whoever_revokes_the_last_token_is_given_a_new_one_at_the_next_start(
    tmp_path: Path, database_url: str, left: dict[str, Any] | None
) -> None:
    """``left``: a token that cannot create tokens for every project."""
    first = application_in(tmp_path, host="0.0.0.0", database_url=database_url)
    assert first.new_token is not None
    if left is not None:
        visitor(first, first.new_token).post("/api/v1/tokens", json={"name": "left", **left})
    token_id = access_tokens.id_of(access_tokens.digest_of(first.new_token))
    assert visitor(first, first.new_token).delete(f"/api/v1/tokens/{token_id}").status_code == 204
    assert visitor(first, first.new_token).get("/api/v1/runs").status_code == 401
    first.close()
    second = application_in(tmp_path, host="0.0.0.0", database_url=database_url)
    assert second.new_token not in (None, first.new_token)
    second.close()


@pytest.fixture
def within_s(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> float:
    """Seconds within which a revocation reaches other processes: unlimited, unless a test sets fewer."""
    monkeypatch.setattr(granting, "LOOKED_UP_APART_S", 0.0)
    return float(getattr(request, "param", 60.0))


in_good_time = pytest.mark.parametrize("within_s", [60.0, pytest.param(1.5, marks=pytest.mark.soak)], indirect=True)


@on_postgresql_alone
@in_good_time
def test_a_token_is_known_to_every_process_at_once_and_refused_by_all_soon(
    application: Application, tmp_path: Path, database_url: str, within_s: float
) -> None:
    beside = application_in(tmp_path, token=ROOT, database_url=database_url)
    made = make_token(application, "view")
    assert visitor(beside, made["token"]).get("/api/v1/runs").status_code == 200
    browser = visitor(application)
    browser.post("/api/v1/session", json={"token": made["token"]})
    elsewhere = TestClient(beside, base_url=ORIGIN, cookies=dict(browser.cookies))
    assert elsewhere.get("/api/v1/runs").status_code == 200
    visitor(application, ROOT).delete(f"/api/v1/tokens/{made['token_id']}")
    poll(lambda: visitor(beside, made["token"]).get("/api/v1/runs").status_code == 401, within_s=within_s)
    poll(lambda: elsewhere.get("/api/v1/runs").status_code == 401, within_s=within_s)
    beside.close()


@on_postgresql_alone
@in_good_time
def test_signing_out_in_one_process_signs_out_in_all(
    application: Application, tmp_path: Path, database_url: str, within_s: float
) -> None:
    beside = application_in(tmp_path, token=ROOT, database_url=database_url)
    browser = visitor(application)
    browser.post("/api/v1/session", json={"token": ROOT})
    elsewhere = TestClient(beside, base_url=ORIGIN, cookies=dict(browser.cookies))
    poll(lambda: elsewhere.get("/api/v1/runs").status_code == 200)
    assert browser.delete("/api/v1/session").status_code == 204
    poll(lambda: elsewhere.get("/api/v1/runs").status_code == 401, within_s=within_s)
    beside.close()


def test_tables_that_cannot_be_read_let_nobody_in_and_shut_nobody_out(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_token(application, "view")

    tries: list[object] = []

    def broken(*args: object) -> access_tokens.Known:
        tries.append(args)
        raise OSError("the disk is gone")

    monkeypatch.setattr(access_tokens, "read_known", broken)
    poll(lambda: tries)
    assert visitor(application, made["token"]).get("/api/v1/runs").status_code == 200
    monkeypatch.undo()
    visitor(application, ROOT).delete(f"/api/v1/tokens/{made['token_id']}")
    assert visitor(application, made["token"]).get("/api/v1/runs").status_code == 401


@pytest.mark.parametrize("sent", [{"Authorization": "Bearer "}, {"Authorization": "Bearer"}, {"Cookie": COOKIE + "="}])
@pytest.mark.reads
def test_an_empty_secret_is_nobodys(application: Application, sent: dict[str, str]) -> None:
    assert visitor(application).get("/api/v1/runs", headers=sent).status_code == 401


def test_an_unknown_secret_is_asked_to_come_later_while_tables_cannot_be_read(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> access_tokens.Known:
        raise OperationalError("SELECT", None, OSError("disk I/O error"))

    monkeypatch.setattr(access_tokens, "read_known", broken)
    monkeypatch.setattr(granting, "LOOKED_UP_APART_S", 0.0)
    later = visitor(application, "unknown").get("/api/v1/runs")
    assert (later.status_code, later.json()["error"]["code"]) == (503, "unavailable")
    assert later.headers["retry-after"] == "1"
