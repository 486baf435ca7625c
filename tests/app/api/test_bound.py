"""A token that is bound to a project: every route of the API shows and changes that project's runs alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.app.api.visitors import ROOT, make_token, visitor
from tests.app.conftest import Opening
from tests.app.described import PATHS
from tests.app.made_diagnosis import made_cause, made_diagnosis, made_entry
from tests.app.made_windows import RUN, made_stream, made_window
from tests.app.serving import application_in
from tests.app.store.posting import post
from underfed_server.main import Application
from underfed_server.model import SharedCause, SharedRun
from underfed_server.store.store import Store

OPERATIONS = [
    (path, method)
    for path, methods in PATHS.items()
    for method in methods
    if path not in ("/api/v1/ingest", "/api/v1/events")
]
OPEN = {"/healthz", "/readyz", "/api/v1/service", "/api/v1/session"}
"""Routes that are open to everybody, since they show nothing of a run."""

SECRETS = ("hidden-run", "hidden-project", "hidden-name", "hidden-user", "hidden-host", "hidden-tag", "hidden-notes")
NEEDED = {"metric": "step_us", "topic": "runs", "name": "x", "format": "csv"}
"""Queries without which a route refuses every request."""


def hidden_stream() -> Iterator[dict[str, Any]]:
    described = {
        **RUN,
        "project": "hidden-project",
        "name": "hidden-name",
        "job": "hidden-project/hidden-name",
        "user": "hidden-user",
        "hostname": "hidden-host",
        "tags": {"team": "hidden-tag"},
    }
    for window in made_stream(3, run_id="hidden-run"):
        yield window | ({"run": described} if "run" in window else {})


def judged(store: Store, run_id: str, **said: Any) -> None:
    """A verdict of waiting for storage."""
    store.save_diagnosis(made_diagnosis(run_id, causes=[made_cause("storage_wait")], **said))


@pytest.fixture(scope="module")
def opening(tmp_path_factory: pytest.TempPathFactory) -> Opening:
    directory = tmp_path_factory.mktemp("service")

    def opened(url: str) -> Application:
        application = application_in(directory, token=ROOT, database_url=url)
        fill(application.parts.store)
        return application

    return opened


def fill(store: Store) -> None:
    """A run of the token's project and one of another, waiting for one mount together."""
    post(store, made_stream(3))
    post(store, hidden_stream())
    now = datetime.now(timezone.utc)
    shared = SharedCause(
        cause="storage_wait", kind="mount", place="nas:/data", hours_lost=4.0, sentence="2 runs wait.",
        runs=[SharedRun(run_id=run_id, name=name, hours_lost=2.0) for run_id, name in
              (("run-1", "resnet"), ("hidden-run", "hidden-name"))],
        started_at=now - timedelta(hours=1), ended_at=now,
    )  # fmt: skip
    store.edit_run("hidden-run", {"notes": "hidden-notes"})
    judged(store, "run-1", shared=[shared], ledger=[made_entry("hidden-run", 1.5)])
    judged(store, "hidden-run", shared=[shared], ledger=[made_entry("hidden-run", 1.5)])


@pytest.fixture
def bound(application: Application) -> TestClient:
    """A client that may do everything in its own project."""
    return visitor(application, make_token(application, "admin", project="vision")["token"])


def ask(client: TestClient, method: str, path: str, run_id: str, project: str, /, **query: str) -> Any:
    """The operation for this run, with the query and body that it requires."""
    others = dict.fromkeys(("token_id", "view_id", "channel_id", "rule_id", "alert_id"), "nothing")
    address = path.format(run_id=run_id, project=project, user="hidden-user", name="x", **others)
    sent: dict[str, Any] = {"json": {}} if method in ("post", "put", "patch") else {}
    return client.request(method.upper(), address, params=NEEDED | query, **sent)


@pytest.mark.sql
@pytest.mark.parametrize(("path", "method"), OPERATIONS)
@pytest.mark.reads
def test_no_route_shows_a_projects_token_another_project(bound: TestClient, path: str, method: str) -> None:
    for query in ({}, {"run_id": "hidden-run"}, {"project": "hidden-project"}):
        answer = ask(bound, method, path, "hidden-run", "hidden-project", **query)
        # The refusal repeats the requested id, and nothing else.
        said = answer.text.replace("no run 'hidden-run'", "")
        assert [secret for secret in SECRETS if secret in said] == []
        if "{run_id}" in path or "{project}" in path or "run_id" in query:
            assert answer.status_code == 404 or path in OPEN, answer.text


@pytest.mark.sql
@pytest.mark.reads
def test_a_projects_token_sees_its_own_runs_counts_and_week(bound: TestClient, application: Application) -> None:
    page = bound.get("/api/v1/runs").json()
    assert [run["run_id"] for run in page["runs"]] == ["run-1"]
    assert page["counts"]["all"] == 1
    everything = visitor(application, ROOT).get("/api/v1/runs").json()
    assert everything["counts"]["all"] == 2
    assert page["week"]["hours_used"] < everything["week"]["hours_used"]
    team = bound.get("/api/v1/team").json()
    assert [group["name"] for group in team["projects"]] == ["vision"]


@pytest.mark.reads
def test_a_projects_token_sees_what_its_own_runs_share(bound: TestClient, application: Application) -> None:
    found = bound.get("/api/v1/runs/run-1/diagnosis").json()
    assert (found["shared"], found["ledger"]) == ([], [])
    whole = visitor(application, ROOT).get("/api/v1/runs/run-1/diagnosis").json()
    assert len(whole["shared"]) == len(whole["ledger"]) == 1


def test_a_projects_token_sends_windows_of_its_project_alone(application: Application) -> None:
    sender = visitor(application, make_token(application, "ingest", project="vision")["token"])
    assert sender.post("/api/v1/ingest", json=made_window(3, run_id="run-1")).status_code == 200
    into_another = made_window(3, run_id="hidden-run")
    refused = sender.post("/api/v1/ingest", json=into_another)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    repeated = sender.post("/api/v1/ingest", json=made_window(0, run_id="hidden-run"))
    assert repeated.status_code == 403, "not even what is stored already is acknowledged"
    named = sender.post("/api/v1/ingest", json=made_window(0, run_id="new", run={**RUN, "project": "speech"}))
    assert (named.status_code, named.json()["error"]["field"]) == (403, "run.project")
    assert visitor(application, ROOT).get("/api/v1/runs/new").status_code == 404


def test_a_run_whose_description_comes_later_is_its_tokens_from_the_start(application: Application) -> None:
    sender = visitor(application, make_token(application, "ingest", project="vision")["token"])
    other = visitor(application, make_token(application, "ingest", project="speech")["token"])
    undescribed = made_window(0, run_id="late")
    undescribed.pop("run")
    assert sender.post("/api/v1/ingest", json=undescribed).status_code == 200
    store = application.parts.store
    assert store.run("late").project == "vision"
    described = made_window(1, run_id="late", run={**RUN, "project": "speech"})
    assert other.post("/api/v1/ingest", json=described).status_code == 403
    assert sender.post("/api/v1/ingest", json=described).status_code == 403
    assert sender.post("/api/v1/ingest", json=made_window(1, run_id="late", run=RUN)).status_code == 200


@pytest.mark.parametrize("unnamed", ["", "default"])
def test_a_run_whose_agent_names_no_project_is_of_its_tokens(application: Application, unnamed: str) -> None:
    sender = visitor(application, make_token(application, "ingest", project="vision")["token"])
    described = {**RUN, "project": unnamed, "job": f"{unnamed}/resnet"}
    assert sender.post("/api/v1/ingest", json=made_window(0, run_id="new", run=described)).status_code == 200
    run = application.parts.store.run("new")
    assert (run.project, run.job) == ("vision", "vision/resnet")


def test_a_run_that_names_advice_of_another_project_is_not_paired_with_it(application: Application) -> None:
    from underfed_server.diagnose import Diagnoser

    sender = visitor(application, make_token(application, "ingest", project="vision")["token"])
    described = {**RUN, "advice_of": "hidden-run"}
    sender.post("/api/v1/ingest", json=made_window(0, run_id="spy", run=described))
    Diagnoser()(application.parts.store, "spy")
    found = application.parts.store.diagnosis("spy")
    assert found is not None
    assert found.ledger == []


@pytest.mark.parametrize(("later", "earlier", "is_shown"), [("ours", "ours", True), ("ours", "theirs", False)])
def test_a_proof_is_shown_where_both_of_its_runs_are_the_projects(
    application: Application, later: str, earlier: str, is_shown: bool
) -> None:
    store = application.parts.store
    for run_id, project in (("ours", "vision"), ("theirs", "speech")):
        post(store, [made_window(0, run_id=run_id, run={**RUN, "project": project})])
    entry = made_entry(later, 1.5).model_copy(update={"advice_of": earlier})
    store.save_diagnosis(made_diagnosis("ours", ledger=[entry]))
    reader = visitor(application, make_token(application, "view", project="vision")["token"])
    assert len(reader.get("/api/v1/runs/ours/diagnosis").json()["ledger"]) == is_shown
