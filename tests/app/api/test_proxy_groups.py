"""What people may do whom a proxy signs in: by their groups, in the projects that the service's file names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.app.api.visitors import ROOT, bearer
from tests.app.made_windows import RUN, made_window
from tests.app.serving import settings_for
from tests.app.store.posting import post
from underfed_server.errors import SettingsError
from underfed_server.main import Application, create_app
from underfed_server.settings import Settings, read_settings

GROUPS: dict[str, dict[str, str]] = {
    "vision": {"vision": "edit"}, "speech": {"speech": "edit", "shared": "view"},
    "leads of vision": {"vision": "admin"}, "operators": {"*": "admin"}, "everyone": {"*": "view"},
}  # fmt: skip
PROJECTS = ("vision", "speech", "shared", "other")
PROXY = ["--proxy-address", "10.0.0.0/8", "--proxy-user-header", "X-Forwarded-User"]
READS = ("/api/v1/runs", "/api/v1/projects", "/api/v1/team", "/api/v1/hosts", "/api/v1/users", "/metrics")


def settings_with(directory: Path, *arguments: str, **files: Any) -> Settings:
    path = directory / "groups.json"
    path.write_text(json.dumps(GROUPS))
    read = read_settings([*PROXY, "--proxy-groups", str(path), *arguments], {})
    return replace(
        settings_for(directory, token=ROOT), proxy_addresses=read.proxy_addresses,
        proxy_user_header=read.proxy_user_header, proxy_scopes=read.proxy_scopes, proxy_groups=read.proxy_groups,
        proxy_groups_header=read.proxy_groups_header,
    )  # fmt: skip


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    opened = create_app(settings_with(tmp_path_factory.mktemp("service")))
    for project in PROJECTS:
        run = RUN | {"project": project, "name": f"run of {project}", "user": f"user of {project}"}
        post(opened.parts.store, [made_window(0, run_id=project, run=run, end={"status": "finished"})])
    yield opened
    opened.close()


def person(application: Application, groups: str | None, *, address: str = "10.2.3.4", **headers: str) -> TestClient:
    said = {"X-Forwarded-User": "ada"} | ({} if groups is None else {"X-Forwarded-Groups": groups}) | headers
    return TestClient(application, base_url="http://underfed.example", client=(address, 1), headers=said)


def found_in(text: str) -> set[str]:
    names = (f"{of} of {project}" for of in ("run", "user") for project in PROJECTS)
    return {name for name in names if name in text}


def seen(client: TestClient) -> set[str]:
    return {run["project"] for run in client.get("/api/v1/runs").json()["runs"]}


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ("vision", {"vision"}),
        ("speech", {"speech", "shared"}),
        ("vision,speech", {"vision", "speech", "shared"}),
        (" unknown , leads of vision", {"vision"}),
        ("everyone,speech", {"vision", "speech", "shared", "other"}),
    ],
)
def test_people_see_the_projects_of_their_groups_and_no_others(
    application: Application, groups: str, expected: set[str]
) -> None:
    client = person(application, groups)
    assert seen(client) == expected
    for project in PROJECTS:
        assert client.get(f"/api/v1/runs/{project}/export").status_code == (200 if project in expected else 404)
        for path in READS:
            text = client.get(path).text
            assert project in expected or not {f"run of {project}", f"user of {project}"} & found_in(text), path


def test_what_they_may_do_differs_from_project_to_project(application: Application) -> None:
    client = person(application, "vision,speech,everyone")
    info = client.get("/api/v1/service").json()
    assert (info["user"], info["scopes"], info["scopes_in_all"], info["project"]) == (
        "ada",
        ["edit", "view"],
        ["view"],
        None,
    )
    assert info["scopes_in"] == {"shared": ["view"], "speech": ["edit"], "vision": ["edit"]}
    notes = {project: client.patch(f"/api/v1/runs/{project}", json={"notes": "seen"}) for project in PROJECTS}
    assert {project: answer.status_code for project, answer in notes.items()} == {
        "vision": 200, "speech": 200, "shared": 403, "other": 403,
    }  # fmt: skip
    refused = notes["shared"].json()["error"]
    assert (refused["code"], refused["field"]) == ("forbidden", "edit")
    assert refused["message"].endswith("; ada has view in 'shared'")
    assert client.delete("/api/v1/runs/vision").status_code == 403
    by = client.get("/api/v1/audit?action=noted").json()["entries"]
    assert {(each["by"], each["token_id"]) for each in by} == {("ada", None)}


def test_what_is_new_belongs_to_the_project_that_is_named_or_the_only_one(application: Application) -> None:
    view = {"name": "slow", "query": ""}
    only, several = person(application, "vision,everyone"), person(application, "vision,speech")
    made = only.post("/api/v1/views", json=view).json()
    assert made["project"] == "vision"
    unnamed = several.post("/api/v1/views", json=view)
    assert (unnamed.status_code, unnamed.json()["error"]["field"]) == (422, "project")
    assert several.post("/api/v1/views", json=view | {"project": "shared"}).status_code == 403
    assert several.post("/api/v1/views", json=view | {"project": "speech"}).status_code == 201
    assert {each["project"] for each in several.get("/api/v1/views").json()} == {"vision", "speech"}
    for groups, status in (("speech", 404), ("speech,everyone", 403)):
        changed = person(application, groups).patch(f"/api/v1/views/{made['view_id']}", json={"name": "mine"})
        assert changed.status_code == status
    assert several.delete(f"/api/v1/views/{made['view_id']}").status_code == 204


def test_an_administrator_of_one_project_gives_away_nothing_of_others(application: Application) -> None:
    lead = person(application, "leads of vision,everyone")
    for project in (None, "speech"):
        refused = lead.post("/api/v1/tokens", json={"name": "x", "scopes": ["view"], "project": project})
        assert (refused.status_code, refused.json()["error"]["field"]) == (
            403,
            "project" if project is None else "admin",
        )
    made = lead.post("/api/v1/tokens", json={"name": "x", "scopes": ["admin"], "project": "vision"}).json()
    assert lead.put("/api/v1/projects/speech/retention", json={}).status_code == 403
    assert lead.put("/api/v1/projects/vision/retention", json={}).status_code == 200
    assert seen(TestClient(application, base_url="http://x", headers=bearer(made["token"]))) == {"vision"}
    assert [each["token_id"] for each in lead.get("/api/v1/tokens").json()["tokens"]] == [made["token_id"]]
    entries = [each["action"] for each in person(application, "vision").get("/api/v1/audit").json()["entries"]]
    assert "token_created" not in entries
    assert "token_created" in [each["action"] for each in lead.get("/api/v1/audit").json()["entries"]]


@pytest.mark.parametrize("groups", [None, "", "unknown", "Vision", "vision;speech", "*", "\u00a0vision"])
def test_who_is_in_no_known_group_is_signed_in_and_may_do_nothing(application: Application, groups: str | None) -> None:
    client = person(application, None)
    client.headers.update({} if groups is None else {b"X-Forwarded-Groups": groups.encode()})
    refused = client.get("/api/v1/runs")
    assert (refused.status_code, refused.json()["error"]["field"]) == (403, "view")
    assert refused.json()["error"]["message"] == "the scope 'view' is needed to read; ada has none"
    info = client.get("/api/v1/service").json()
    assert (info["signed_in"], info["user"], info["scopes"]) == (True, "ada", [])


def test_groups_count_from_the_proxy_alone_and_with_a_name(application: Application) -> None:
    assert person(application, "operators", address="192.0.2.1").get("/api/v1/runs").status_code == 401
    nameless = TestClient(application, base_url="http://underfed.example", client=("10.2.3.4", 1))
    assert nameless.get("/api/v1/runs", headers={"X-Forwarded-Groups": "operators"}).status_code == 401
    assert person(application, "operators").post("/api/v1/ingest", json=made_window(0)).status_code == 401


@pytest.mark.parametrize("header", ["X-Forwarded-Groups", "X-Forwarded-User"])
def test_a_header_that_comes_twice_is_refused(application: Application, header: str) -> None:
    """The client's own line beside the proxy's: which is whose is not known."""
    client = TestClient(application, base_url="http://underfed.example", client=("10.2.3.4", 1))
    said = [("X-Forwarded-User", "ada"), ("X-Forwarded-Groups", "vision"), (header, "operators")]
    refused = client.get("/api/v1/runs", headers=said)
    assert (refused.status_code, refused.json()["error"]["field"]) == (403, header.lower())


def test_a_token_counts_and_not_the_groups_beside_it(application: Application) -> None:
    made = person(application, "operators").post("/api/v1/tokens", json={"name": "x", "scopes": ["view"]}).json()
    client = person(application, "operators", Authorization=f"Bearer {made['token']}")
    assert client.get("/api/v1/service").json()["scopes"] == ["view"]
    assert client.get("/api/v1/tokens").status_code == 403


def test_what_groups_may_do_is_in_the_log_when_it_changes(tmp_path: Path) -> None:
    def entries(settings: Settings) -> list[tuple[Any, Any, str]]:
        opened = create_app(settings)
        found = person(opened, "operators").get("/api/v1/audit?action=groups_changed")
        opened.close()
        if found.status_code != 200:
            return []
        return [(each["before"], each["after"], each["by"]) for each in found.json()["entries"]]

    settings = settings_with(tmp_path)
    assert [(before, by) for before, _, by in entries(settings)] == [(None, "underfed serve")]
    assert len(entries(settings)) == 1, "the same again is no change"
    fewer = replace(settings, proxy_groups={"operators": {"*": "admin"}})
    (before, after, _), _ = entries(fewer)
    assert before["speech"] == "shared: view, speech: edit"
    assert after == {"operators": "*: admin"}


def test_the_scope_of_all_is_none_unless_it_is_given(tmp_path: Path) -> None:
    assert settings_with(tmp_path).proxy_scopes == ()
    assert settings_with(tmp_path, "--proxy-scope", "view").proxy_scopes == ("view",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Expecting value"),
        ("[]", "names no group"),
        ("{}", "names no group"),
        ('{"a": "admin"}', "needs projects"),
        ('{"a": {}}', "needs projects"),
        ('{"a": {"vision": "ingest"}}', "may be given view, edit, admin, not 'ingest'"),
        ('{"a": {"vision": ["edit"]}}', "not ['edit']"),
        ('{"a": {"vision": "Admin"}}', "not 'Admin'"),
        ('{"a": {"vis*": "view"}}', "is no pattern"),
        ('{"a": {"": "view"}}', "is the name of no project"),
        ('{"a, b": {"vision": "view"}}', "no group that a header can name"),
        ('{" a": {"vision": "view"}}', "no group that a header can name"),
        ('{"a": {"vision": "view"}, "a": {"vision": "admin"}}', "'a' stands there twice"),
        ('{"a": {"vision": "view", "vision": "admin"}}', "'vision' stands there twice"),
        ('{"a": {"vision": "view"}} more', "Extra data"),
        ("[" * 100_000, "cannot be understood"),
        (b"\xff\xfe{", "cannot be understood"),
    ],
)
def test_a_file_that_cannot_be_understood_keeps_the_service_from_starting(
    tmp_path: Path, text: str | bytes, said: str
) -> None:
    path = tmp_path / "groups.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SettingsError) as caught:
        read_settings([*PROXY, "--proxy-groups", str(path)], {})
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([*PROXY, "--proxy-groups", "/nowhere.json"], "cannot be read: No such file"),
        ([*PROXY[:2], "--proxy-groups", "x"], "needs --proxy-user-header"),
        ([*PROXY, "--proxy-groups-header", "X-Groups"], "needs --proxy-groups"),
        ([*PROXY, "--proxy-groups", "x", "--proxy-groups-header", "X Groups"], "name of a header"),
    ],
)
def test_settings_that_do_not_belong_together_are_refused(arguments: list[str], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        read_settings(arguments, {})
