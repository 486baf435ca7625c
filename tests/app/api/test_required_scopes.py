"""Which scope each route requires: all routes of the API's description, each asked by callers of each kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fastapi import APIRouter
from starlette.testclient import TestClient

from tests.app.alerts.conftest import HERE
from tests.app.api.visitors import ROOT, make_token, visitor
from tests.app.conftest import Opening
from tests.app.described import PATHS
from tests.app.made_windows import made_stream
from tests.app.operations.asking import JSON
from tests.app.serving import settings_for
from tests.app.store.posting import post
from underfed_server.api.required_scope import require_declared
from underfed_server.ingest.permission import GIVEN_BY, SCOPES
from underfed_server.main import Application, create_app

ROUTES = [(path, method) for path, methods in PATHS.items() for method in methods]
OPEN = {
    ("/healthz", "get"), ("/readyz", "get"), ("/api/v1/service", "get"), ("/api/v1/session", "post"),
    ("/api/v1/session", "delete"),
}  # fmt: skip
EDIT = {
    ("/api/v1/runs/{run_id}", "patch"), ("/api/v1/views", "post"), ("/api/v1/views/{view_id}", "patch"),
    ("/api/v1/views/{view_id}", "delete"),
}  # fmt: skip
READ_BY_ADMINISTRATORS = {("/api/v1/tokens", "get")}


def expected(path: str, method: str) -> str | None:
    """Written down a second time: what is changed by a slip of the one is seen by the other."""
    if (path, method) in OPEN:
        return None
    if path == "/api/v1/ingest":
        return "ingest"
    if (path, method) in EDIT:
        return "edit"
    return "view" if method == "get" and (path, method) not in READ_BY_ADMINISTRATORS else "admin"


@pytest.fixture(scope="module")
def opening(tmp_path_factory: pytest.TempPathFactory) -> Opening:
    directory = tmp_path_factory.mktemp("service")

    def opened(url: str) -> Application:
        application = create_app(replace(settings_for(directory, token=ROOT), database_url=url, alerts=HERE))
        first, *others, last = made_stream(3)
        post(application.parts.store, [first, *others, last | {"end": {"status": "finished"}}])
        root = visitor(application, ROOT)
        root.patch("/api/v1/runs/run-1", json={"notes": "hidden-note"})
        vision = visitor(application, make_token(application, "admin", project="vision", name="hidden-token")["token"])
        assert vision.post("/api/v1/views", json={"name": "hidden-view", "query": ""}).status_code == 201
        channel = {"name": "hidden-channel", "kind": "webhook", "url": "http://127.0.0.1:1/"}
        made = vision.post("/api/v1/alerts/channels", json=channel)
        assert made.status_code == 201, made.text
        rule = {"condition": "data_bound", "channel_id": made.json()["channel_id"]}
        assert vision.post("/api/v1/alerts/rules", json=rule).status_code == 201
        assert vision.put("/api/v1/projects/vision/retention", json={"max_bytes": 0}).status_code == 200
        return application

    return opened


def ask(client: TestClient, path: str, method: str) -> Any:
    """Of things that do not exist: whoever may do it is answered so."""
    body: dict[str, Any] = {} if method == "get" else {"content": b"{}", "headers": JSON}
    return client.request(method, path.replace("{", "").replace("}", ""), **body)


def test_each_route_says_what_it_takes_and_that_is_what_was_decided() -> None:
    said = {
        route: {scope for each in PATHS[route[0]][route[1]]["security"] for scopes in each.values() for scope in scopes}
        for route in ROUTES
    }
    assert said == {route: {scope} if (scope := expected(*route)) else set() for route in ROUTES}


def test_a_route_that_declares_nothing_keeps_the_service_from_starting() -> None:
    router = APIRouter()
    router.get("/forgotten")(lambda: None)
    with pytest.raises(TypeError, match="/forgotten declares no scope"):
        require_declared([router])


@pytest.mark.parametrize("project", [None, "vision"])
@pytest.mark.parametrize("held", SCOPES)
def test_a_route_is_for_those_who_have_its_scope_and_for_nobody_else(
    application: Application, held: str, project: str | None
) -> None:
    client = visitor(application, make_token(application, held, project=project)["token"])
    for path, method in ROUTES:
        scope = expected(path, method)
        answer = ask(client, path, method)
        if scope is None or held in GIVEN_BY[scope]:  # type: ignore[index]
            # A body without its fields is distinguished from one that is not wanted.
            assert answer.status_code not in (401, 403), (path, method, answer.text)
        else:
            error = answer.json()["error"]
            assert (answer.status_code, error["code"], error["field"]) == (403, "forbidden", scope), (path, method)


@pytest.mark.reads
def test_without_a_token_the_only_answer_is_that_one_is_needed(application: Application) -> None:
    client = visitor(application)
    for path, method in ROUTES:
        answer = ask(client, path, method)
        if (path, method) not in OPEN:
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorised"), (path, method)


@pytest.mark.sql
@pytest.mark.parametrize("held", ["view", "edit", "admin"])
def test_nothing_of_another_project_is_found_or_changed_by_its_id(application: Application, held: str) -> None:
    """What routes show without being asked for it: ``test_bound.py``."""
    stranger = visitor(application, make_token(application, held, project="speech")["token"])
    owner = visitor(application, make_token(application, "admin", project="vision")["token"])
    shown = ("/api/v1/audit", "/api/v1/views", "/api/v1/alerts")
    before = {path: owner.get(path).text for path in shown}
    vision = {
        "run_id": "run-1",
        "project": "vision",
        "alert_id": "x",
        "view_id": _id(owner, "views", "view_id"),
        "channel_id": _id(owner, "alerts", "channel_id"),
        "rule_id": _id(owner, "alerts", "rule_id"),
        "token_id": owner.get("/api/v1/tokens").json()["tokens"][0]["token_id"],
    }
    for path, method in ROUTES:
        if "{" in path:
            refused = ask(stranger, path.format_map(vision), method)
            is_held = held in GIVEN_BY[expected(path, method)]  # type: ignore[index]
            assert refused.status_code == (404 if is_held else 403), (method, path, refused.text)
    assert {path: owner.get(path).text for path in shown} == before


def _id(owner: TestClient, of: str, key: str) -> str:
    said = owner.get(f"/api/v1/{of}").json()
    rows = said if isinstance(said, list) else said["channels"] if key == "channel_id" else said["rules"]
    return str(rows[0][key])
