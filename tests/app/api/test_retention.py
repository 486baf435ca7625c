"""What a project may set as its retention, and what answers say of deleted rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from tests.app.made_windows import made_stream
from tests.app.store.posting import post, settle
from underfed_server.diagnose import Diagnoser
from underfed_server.store.databases import tables
from underfed_server.store.store import Store
from underfed_server.store.team.retention_policy import RetentionPolicy
from underfed_server.store.upkeep.retention import Retention

PATH = "/api/v1/projects/vision/retention"
HOUR_US = 3_600_000_000


def put(client: TestClient, **wish: Any) -> dict[str, Any]:
    response = client.put(PATH, json=wish)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def ended(store: Store) -> None:
    windows = list(made_stream(100))
    windows[-1] |= {"end": {"status": "finished"}}
    post(store, windows)
    settle(store)


def test_a_project_without_a_policy_has_the_services(client: TestClient, store: Store) -> None:
    ended(store)
    answer = client.get(PATH).json()
    assert [answer[name] for name in ("retain_us", "max_bytes", "precision_bits", "default_retain_us")] == [None] * 4
    assert answer["row_bytes"] > answer["ladder_bytes"] > 0
    assert answer["given_up_at"] is None


def test_a_projects_policy_is_stored_whole(client: TestClient) -> None:
    assert put(client, retain_us=30 * 24 * HOUR_US, max_bytes=10**9, precision_bits=8)["precision_bits"] == 8
    assert client.get(PATH).json()["retain_us"] == 30 * 24 * HOUR_US
    # Replaces all that it set before.
    answer = put(client, max_bytes=0)
    assert [answer[name] for name in ("retain_us", "max_bytes", "precision_bits")] == [None, 0, None]


@pytest.mark.sql
def test_what_becomes_of_whole_runs_is_shown_before_it_is_set(client: TestClient, store: Store) -> None:
    ended(store)
    age = {"last_seen_at": store.now() - timedelta(days=40)}
    store.write(lambda connection: connection.execute(update(tables.run).values(**age)))
    asked = client.get(f"{PATH}/preview?archive_after_us={30 * 24 * HOUR_US}").json()
    assert (asked["archived"], asked["deleted"], asked["delete_after_us"]) == (1, 0, None)
    assert [(run["run_id"], run["fate"]) for run in asked["runs"]] == [("run-1", "archived")]
    assert client.get(f"{PATH}/preview").json()["runs"] == []
    put(client, archive_after_us=24 * HOUR_US, delete_after_us=35 * 24 * HOUR_US)
    assert [run["fate"] for run in client.get(f"{PATH}/preview").json()["runs"]] == ["deleted"]
    assert client.get(f"{PATH}/preview?delete_after_us=0").json()["runs"][0]["fate"] == "archived"
    assert client.get("/api/v1/runs/run-1").json()["archived_at"] is None


@pytest.mark.parametrize("ages", [
    {"delete_after_us": HOUR_US},
    {"archive_after_us": 30 * 24 * HOUR_US, "delete_after_us": 10 * 24 * HOUR_US},
])  # fmt: skip
def test_ages_that_cannot_be_set_are_not_previewed_either(client: TestClient, ages: dict[str, int]) -> None:
    for answer in (client.get(f"{PATH}/preview", params=ages), client.put(PATH, json=ages)):
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, "delete_after_us")
    assert client.get(PATH).json()["delete_after_us"] is None


def test_runs_are_not_deleted_before_the_age_at_which_the_project_archives_them(client: TestClient) -> None:
    put(client, archive_after_us=30 * 24 * HOUR_US)
    sooner = f"{PATH}/preview?delete_after_us={10 * 24 * HOUR_US}"
    assert client.get(sooner).status_code == 422
    assert client.get(f"{sooner}&archive_after_us=0").status_code == 200


@pytest.mark.sql
def test_who_sets_it_is_in_the_log(client: TestClient) -> None:
    put(client, retain_us=48 * HOUR_US, max_bytes=0)
    put(client, retain_us=48 * HOUR_US, max_bytes=0)
    put(client, delete_after_us=36 * HOUR_US)
    entries = client.get("/api/v1/audit?project=vision").json()["entries"]
    assert [(each["action"], each["name"], each["by"], each["before"], each["after"]) for each in entries] == [
        ("retention_changed", "vision", "owner", {"steps kept": "2 days", "storage": "no limit"},
         {"deleted after": "36 hours"}),
        ("retention_changed", "vision", "owner", {}, {"steps kept": "2 days", "storage": "no limit"}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("field", "wish"),
    [
        ("retain_us", 1),
        ("retain_us", -1),
        ("retain_us", 2**70),
        ("max_bytes", 999_999),
        ("max_bytes", "20GB"),
        ("archive_after_us", 24 * HOUR_US - 1),
        ("delete_after_us", HOUR_US),
        ("precision_bits", 1),
        ("precision_bits", 64),
        ("forever", True),
    ],
)
@pytest.mark.reads
def test_a_limit_too_small_to_be_meant_is_refused_by_name(client: TestClient, field: str, wish: object) -> None:
    response = client.put(PATH, json={field: wish})
    assert response.status_code == 422
    assert response.json()["error"]["field"] == field


@pytest.mark.sql
def test_the_answers_say_that_single_steps_were_deleted(client: TestClient, store: Store) -> None:
    ended(store)
    whole = client.get("/api/v1/runs/run-1/series?metric=step_us&buckets=1").json()["series"][0]
    assert (whole["given_up_before"], whole["precision_bits"]) == (None, None)
    Retention(store, RetentionPolicy(retain_us=1)).delete_surplus()
    after = client.get("/api/v1/runs/run-1/series?metric=step_us&metric=busy_cores&buckets=1").json()["series"]
    assert after[0]["given_up_before"] == 2_000
    assert (after[0]["mean"], after[0]["count"]) == (whole["mean"], whole["count"])
    timeline = client.get("/api/v1/runs/run-1/timeline").json()
    assert timeline["steps"] == []
    assert timeline["missing"] == f"the single steps were deleted on {store.now():%Y-%m-%d} by retention"
    workers = client.get("/api/v1/runs/run-1/workers").json()
    assert sum(map(sum, workers["heatmap"]["counts"])) == 2_000
    assert client.get(PATH).json()["given_up_at"] is not None


def test_a_verdict_outlives_the_steps_it_was_made_of(client: TestClient, store: Store) -> None:
    ended(store)
    judge = Diagnoser()
    judge(store, "run-1")
    store.note_judged("run-1", [])  # else the service would judge it again because it is asked for
    before = client.get("/api/v1/runs/run-1/diagnosis").json()
    assert before["judged_steps"] > 0
    assert before["is_final"]
    Retention(store, RetentionPolicy(retain_us=1)).delete_surplus()
    assert judge(store, "run-1") is None
    assert client.get("/api/v1/runs/run-1/diagnosis").json() == before


@pytest.mark.reads
def test_percentiles_come_when_they_are_asked_for(client: TestClient, recorded: Store) -> None:
    asked = "/api/v1/runs/run-1/series?metric=step_us&metric=queue_depth&buckets=10"
    step, depth = client.get(f"{asked}&percentiles=true").json()["series"]
    for low, high in (("min", "p50"), ("p50", "p95"), ("p95", "p99"), ("p99", "max")):
        assert all(one <= other for one, other in zip(step[low], step[high], strict=True))
    assert depth["p50"] is None
    assert client.get(asked).json()["series"][0]["p99"] is None
