"""Jobs, configurations, histories, views, deleted runs and the audit log over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.app.api.visitors import ROOT, make_token, visitor
from tests.app.made_windows import RUN, made_window
from tests.app.serving import application_in
from tests.app.store.posting import post
from underfed_server.main import Application
from underfed_server.model import AuditPage, JobsPage, RunHistory, RunsPage
from underfed_server.store.store import Store

LOADER = {"loader": "train", "dataset_type": "Photos"}


def add(store: Store, run_id: str, day: int, **described: Any) -> None:
    """A run that ended, of the job ``resnet``."""
    workers = described.pop("workers", 0)
    window = made_window(
        0,
        run_id=run_id,
        run=RUN | {"name": run_id, "job": "resnet", **described},
        loaders=[LOADER | {"settings": {"num_workers": workers}}],
        started_at=f"2026-11-{day:02d}T10:00:00Z",
        end={"status": "finished"},
    )
    post(store, [window])


@pytest.mark.sql
def test_a_history_says_what_changed_from_try_to_try(client: TestClient, store: Store) -> None:
    add(store, "first", 1, config={"lr": 0.1})
    add(store, "second", 2, config={"lr": 0.1}, workers=4, torch_version="2.13.0")
    add(store, "third", 3, config={"lr": 0.2}, workers=4, torch_version="2.14.0")
    history = RunHistory.model_validate(client.get("/api/v1/runs/second/history").json())
    assert ([run.run_id for run in history.runs], history.job) == (["first", "second", "third"], "resnet")
    changes = [[(each.group, each.name, each.before, each.after) for each in run.changed] for run in history.runs]
    assert changes[:2] == [[], [("loader", "num_workers", 0, 4)]], "a version that is not known may be the same"
    assert ("config", "lr", 0.1, 0.2) in changes[2]
    assert ("software", "torch", "2.13.0", "2.14.0") in changes[2]
    assert client.get("/api/v1/runs/nobody/history").status_code == 404
    shorter = client.get("/api/v1/runs/second/history?limit=2").json()["runs"]
    assert [run["run_id"] for run in shorter] == ["second", "third"]


@pytest.mark.sql
def test_jobs_and_their_runs_are_listed_with_the_columns_that_are_asked_for(client: TestClient, store: Store) -> None:
    add(store, "first", 1, config={"lr": 0.1})
    add(store, "second", 2, config={"lr": 10})
    page = JobsPage.model_validate(client.get("/api/v1/jobs").json())
    assert [(each.job, each.runs, each.newest.run_id) for each in page.jobs] == [("resnet", 2, "second")]
    assert client.get("/api/v1/config").json() == [{"key": "lr", "runs": 2}]
    runs = RunsPage.model_validate(client.get("/api/v1/runs?job=resnet&config=lr&config=no&sort=config:lr").json())
    assert [(run.run_id, runs.config[run.run_id]) for run in runs.runs] == [
        ("first", {"lr": 0.1}),
        ("second", {"lr": 10}),
    ]


def test_deleted_runs_are_listed_until_they_are_restored(client: TestClient, store: Store) -> None:
    add(store, "first", 1)
    client.delete("/api/v1/runs/first")
    (deleted,) = client.get("/api/v1/runs?deleted=true").json()["runs"]
    assert (deleted["run_id"], deleted["deleted_at"] is None) == ("first", False)
    assert client.get("/api/v1/service").json()["keep_deleted_us"] == 30 * 86_400_000_000
    client.post("/api/v1/runs/first/restore", json={})
    assert client.get("/api/v1/runs?deleted=true").json()["runs"] == []
    (listed,) = client.get("/api/v1/runs").json()["runs"]
    assert listed["deleted_at"] is None


@pytest.mark.sql
def test_views_are_shared_renamed_and_deleted(client: TestClient) -> None:
    made = client.post("/api/v1/views", json={"name": " slow ", "query": "bound=data&columns=wait"})
    assert (made.status_code, made.json()["name"], made.json()["made_by"]) == (201, "slow", "owner")
    address = f"/api/v1/views/{made.json()['view_id']}"
    again = client.post("/api/v1/views", json={"name": "slow", "query": ""})
    assert (again.status_code, again.json()["error"]["field"]) == (409, "name")
    assert client.patch(address, json={"query": "bound=host"}).json()["query"] == "bound=host"
    assert client.patch(address, json={"name": "by host"}).json()["name"] == "by host"
    assert [view["name"] for view in client.get("/api/v1/views").json()] == ["by host"]
    assert client.delete(address).status_code == 204
    assert (client.get("/api/v1/views").json(), client.delete(address).status_code) == ([], 404)
    log = AuditPage.model_validate(client.get("/api/v1/audit").json())
    assert [each.action for each in log.entries] == ["view_deleted", "view_changed", "view_changed", "view_created"]


@pytest.mark.parametrize(
    ("body", "field"), [({"name": "", "query": ""}, "name"), ({"name": "a", "query": "b\0"}, "query"), ({}, "name")]
)
def test_a_view_that_is_none_is_refused_by_name(client: TestClient, body: dict[str, str], field: str) -> None:
    refused = client.post("/api/v1/views", json=body)
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, field)


@pytest.mark.sql
def test_the_audit_log_names_the_owner_of_an_open_service(client: TestClient, store: Store) -> None:
    add(store, "first", 1)
    client.patch("/api/v1/runs/first", json={"notes": "look again"})
    client.delete("/api/v1/runs/first")
    page = AuditPage.model_validate(client.get("/api/v1/audit?run_id=first&limit=1").json())
    assert [(each.action, each.by) for each in page.entries] == [("deleted", "owner")]
    rest = client.get("/api/v1/audit", params={"run_id": "first", "limit": 1, "cursor": page.next_cursor}).json()
    assert [(each["action"], each["before"], each["after"]) for each in rest["entries"]] == [
        ("noted", "", "look again")
    ]
    assert client.get("/api/v1/audit?cursor=x").status_code == 422


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Application]:
    """A service that asks for tokens, with a run of ``vision``."""
    opened = application_in(tmp_path, token=ROOT)
    add(opened.parts.store, "first", 1)
    yield opened
    opened.close()


def test_a_project_sees_its_own_views_jobs_and_changes_alone(guarded: Application) -> None:
    root = visitor(guarded, ROOT)
    of_other = visitor(guarded, make_token(guarded, "admin", name="other", project="other")["token"])
    of_vision = visitor(guarded, make_token(guarded, "admin", name="robot", project="vision")["token"])
    root.patch("/api/v1/runs/first", json={"name": "seen"})
    of_vision.patch("/api/v1/runs/first", json={"archived": True})
    own = of_vision.post("/api/v1/views", json={"name": "ours", "query": ""}).json()
    root.post("/api/v1/views", json={"name": "ours", "query": ""})

    log = of_vision.get("/api/v1/audit").json()["entries"]
    assert {(each["action"], each["by"], each["name"]) for each in log} == {
        ("token_created", "UNDERFED_TOKEN", "robot"), ("renamed", "UNDERFED_TOKEN", "first"),
        ("archived", "robot", "seen"), ("view_created", "robot", "ours"),
    }  # fmt: skip
    assert [view["view_id"] for view in of_vision.get("/api/v1/views").json()] == [own["view_id"]]
    assert of_other.get("/api/v1/views").json() == []
    assert [each["name"] for each in of_other.get("/api/v1/audit").json()["entries"]] == ["other"]
    assert {view["project"] for view in root.get("/api/v1/views").json()} == {None, "vision"}
    assert of_other.delete(f"/api/v1/views/{own['view_id']}").status_code == 404
    assert of_other.get("/api/v1/jobs?archived=any").json()["jobs"] == []
    assert of_other.get("/api/v1/runs/first/history").status_code == 404
