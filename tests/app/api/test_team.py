"""``/team`` over HTTP."""

from __future__ import annotations

from fastapi.testclient import TestClient

from tests.app.made_diagnosis import made_diagnosis, made_entry
from underfed_server.model import Team
from underfed_server.store.store import Store


def test_the_team_sees_what_its_advice_gained(client: TestClient, recorded: Store) -> None:
    recorded.save_diagnosis(made_diagnosis("run-1", ledger=[made_entry("run-1", 1.5)]))
    team = Team.model_validate(client.get("/api/v1/team").json())
    assert [(rate.change, rate.proven) for rate in team.hit_rates] == [(None, 1), ("num_workers", 1)]
    assert [group.name for group in team.projects] == ["vision"]


def test_a_service_without_a_run_has_a_team_with_nothing_to_show(client: TestClient) -> None:
    team = client.get("/api/v1/team").json()
    assert team.pop("since")
    assert team.pop("hours")["hours_recoverable"] is None
    groups = {"projects", "users", "datasets", "mounts", "hosts"}
    assert set(team) == {"on_gpu", "gpu_hours_lost", "hit_rates", "shared_causes", *groups}
    assert not any(team.values())
