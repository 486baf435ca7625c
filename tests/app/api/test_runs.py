"""The routes of runs: the shapes of answers and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from tests.app.made_diagnosis import made_diagnosis
from tests.app.made_windows import RUN, made_stream, made_window
from tests.app.store.posting import post
from underfed_server.api.heatmap import heatmap
from underfed_server.facts.loading import LEAST_SAMPLES
from underfed_server.main import Application
from underfed_server.model import Diagnosis, Run, RunsPage, Timeline, WorkersPage
from underfed_server.store.columns.histograms import BINS
from underfed_server.store.columns.ladder import Rollup
from underfed_server.store.store import Store


def test_the_list_is_empty_before_the_first_run(client: TestClient) -> None:
    page = RunsPage.model_validate(client.get("/api/v1/runs").json())
    assert (page.runs, page.next_cursor, page.counts.all) == ([], None, 0)


@pytest.mark.sql
@pytest.mark.reads
def test_a_run_is_listed_and_shown(client: TestClient, recorded: Store) -> None:
    page = RunsPage.model_validate(client.get("/api/v1/runs?project=vision&sort=-hours_lost&limit=5").json())
    assert [run.run_id for run in page.runs] == ["run-1"]
    run = Run.model_validate(client.get("/api/v1/runs/run-1").json())
    assert (run.steps, run.project, run.not_measured) == (2_000, "vision", {"gpu_util_fraction": "no NVIDIA driver"})
    assert run.overhead_us == 2.5


@pytest.mark.reads
def test_a_run_that_was_not_judged_says_so_instead_of_a_verdict(client: TestClient, recorded: Store) -> None:
    diagnosis = Diagnosis.model_validate(client.get("/api/v1/runs/run-1/diagnosis").json())
    assert (diagnosis.bound, diagnosis.level, diagnosis.data_stall_fraction) == ("unknown", "unknown", None)
    assert diagnosis.judged_at is None
    assert diagnosis.reason is not None
    assert "2000 steps" in diagnosis.reason


def test_a_judged_run_serves_its_diagnosis_as_the_contract_spells_it(client: TestClient, recorded: Store) -> None:
    recorded.save_diagnosis(made_diagnosis())
    said = client.get("/api/v1/runs/run-1/diagnosis").json()
    assert said["advice"][0]["from"] == 0
    diagnosis = Diagnosis.model_validate(said)
    assert diagnosis.judged_at is not None
    assert diagnosis == made_diagnosis(judged_at=diagnosis.judged_at, needed_looks=LEAST_SAMPLES)
    assert client.get("/api/v1/runs").json()["runs"][0]["best_advice"]["from"] == 0


def test_a_run_names_its_runs_in_other_tools_and_links_only_to_the_web(client: TestClient, store: Store) -> None:
    sent = [
        {"tracker": "wandb", "run": "w1", "url": "https://wandb.ai/t/p/runs/w1"},
        {"tracker": "tensorboard", "run": "logs/first"},
        {"tracker": "mlflow", "run": "m1", "url": "javascript:alert(1)"},
    ]
    post(store, [made_window(0, run=RUN | {"trackers": sent})])
    trackers = client.get("/api/v1/runs/run-1").json()["trackers"]
    assert [each["tracker"] for each in trackers] == ["wandb", "tensorboard", "mlflow"]
    assert [each["url"] for each in trackers] == ["https://wandb.ai/t/p/runs/w1", None, None]
    post(store, [made_window(1, run=RUN)])
    assert client.get("/api/v1/runs/run-1").json()["trackers"] == [], "the newest description counts"


def test_a_person_names_tags_and_notes_a_run(client: TestClient, recorded: Store) -> None:
    changes = {"name": " baseline ", "tags": {"keep": "yes"}, "notes": "look again"}
    answered = client.patch("/api/v1/runs/run-1", json=changes)
    assert answered.status_code == 200
    run = Run.model_validate(client.get("/api/v1/runs/run-1").json())
    assert (run.name, run.tags, run.notes) == ("baseline", {"keep": "yes"}, "look again")
    client.patch("/api/v1/runs/run-1", json={"name": None})
    assert client.get("/api/v1/runs/run-1").json()["name"] == "resnet"
    assert client.get("/api/v1/runs/run-1").json()["notes"] == "look again"


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"bound": "data"}, "bound"), ({"name": ""}, "name"), ({"tags": {"a": 1}}, "tags.a"), ({"notes": None}, "notes")],
)
@pytest.mark.reads
def test_an_invalid_change_is_refused_by_name(
    client: TestClient, recorded: Store, changes: dict[str, Any], field: str
) -> None:
    response = client.patch("/api/v1/runs/run-1", json=changes)
    assert response.status_code == 422
    assert (response.json()["error"]["code"], response.json()["error"]["field"]) == ("invalid", field)


def test_a_run_is_deleted_once_it_has_ended_and_can_be_had_back(client: TestClient, store: Store) -> None:
    post(store, [made_window(0)])
    refused = client.delete("/api/v1/runs/run-1")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")
    post(store, [made_window(1, end={"status": "finished"})])
    assert client.delete("/api/v1/runs/run-1").status_code == 204
    assert client.get("/api/v1/runs/run-1").status_code == client.delete("/api/v1/runs/run-1").status_code == 404
    assert client.get("/api/v1/runs").json()["runs"] == []
    assert Run.model_validate(client.post("/api/v1/runs/run-1/restore", json={}).json()).run_id == "run-1"
    assert client.get("/api/v1/runs").json()["counts"]["finished"] == 1
    refused = client.post("/api/v1/runs/nobody/restore", json={})
    assert (refused.status_code, refused.json()["error"]["field"]) == (404, "run_id")


def test_a_run_is_archived_and_listed_on_request(client: TestClient, recorded: Store) -> None:
    assert client.patch("/api/v1/runs/run-1", json={"archived": True}).json()["archived_at"] is not None
    assert client.get("/api/v1/runs").json()["counts"]["all"] == 0
    for query in ("archived=true", "archived=any", "q=is:archived"):
        assert [run["run_id"] for run in client.get(f"/api/v1/runs?{query}").json()["runs"]] == ["run-1"]
    assert client.patch("/api/v1/runs/run-1", json={"archived": False}).json()["archived_at"] is None


@pytest.mark.sql
@pytest.mark.reads
def test_projects_and_users_can_be_chosen_from(client: TestClient, recorded: Store) -> None:
    (project,), (user,) = client.get("/api/v1/projects").json(), client.get("/api/v1/users").json()
    assert (project["project"], user["user"], project["runs"], user["archived_runs"]) == ("vision", "ada", 1, 0)


@pytest.mark.sql
@pytest.mark.reads
def test_an_expression_is_searched_and_one_that_says_nothing_is_refused(client: TestClient, recorded: Store) -> None:
    found = client.get("/api/v1/runs", params={"q": "num_workers<8 host:node-1 project:vision -bound:data"}).json()
    assert [run["run_id"] for run in found["runs"]] == ["run-1"]
    refused = client.get("/api/v1/runs", params={"q": "host:node-1 colour:red"})
    assert refused.status_code == 422
    assert refused.json()["error"]["field"] == "q"
    assert refused.json()["error"]["message"].startswith("q, character 13: there is no key 'colour'")


@pytest.mark.parametrize("part", ["", "/diagnosis", "/series?metric=step_us", "/workers", "/hotspots", "/timeline"])
@pytest.mark.reads
def test_a_run_that_is_not_there_is_not_found_in_any_part(client: TestClient, part: str) -> None:
    response = client.get(f"/api/v1/runs/nobody{part}")
    assert response.status_code == 404
    assert response.json() == {"error": {"code": "not_found", "message": "there is no run 'nobody'", "field": "run_id"}}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=x", "limit"),
        ("status=done", "status"),
        ("sort=colour", "sort"),
        ("cursor=x", "cursor"),
        ("archived=maybe", "archived"),
        ("q=bound:dat", "q"),
    ],
)
@pytest.mark.reads
def test_an_invalid_query_is_refused_by_name(client: TestClient, query: str, field: str) -> None:
    response = client.get(f"/api/v1/runs?{query}")
    assert response.status_code == 422
    assert response.json()["error"]["field"] == field


@pytest.mark.reads
def test_a_timeline_shows_the_newest_steps_and_the_batches_behind_them(client: TestClient, recorded: Store) -> None:
    shown = Timeline.model_validate(client.get("/api/v1/runs/run-1/timeline").json())
    assert 8 <= len(shown.steps) <= 240
    assert shown.steps[-1].step_index == 1_999
    assert shown.from_us == shown.steps[0].start_us
    assert shown.missing is None
    steps = recorded.steps("run-1", 0, "train")
    assert [step.step_us for step in shown.steps] == steps.step_us[-len(shown.steps) :].tolist()
    batches = recorded.batches("run-1", 0, "train")
    until = batches.received_us.clip(batches.start_us + batches.load_us)
    expected = ((until >= shown.from_us) & (batches.start_us <= shown.to_us)).sum()
    assert len(shown.batches) == expected > 0


def test_a_timeline_of_slow_steps_is_longer(client: TestClient, store: Store) -> None:
    steps = {
        "loader": "train", "epoch_index": 0, "first_step_index": 0, "first_batch_index": 0, "start_us": 0,
        "step_us": [5_000_000] * 9 + [None], "data_wait_us": [4_000_000] * 10,
    }  # fmt: skip
    post(store, [made_window(0, steps=[steps])])
    shown = Timeline.model_validate(client.get("/api/v1/runs/run-1/timeline").json())
    assert len(shown.steps) == 8
    assert shown.steps[-1].step_us is None
    assert shown.to_us == 45_000_000 + 4_000_000


@pytest.mark.reads
def test_workers_are_listed_with_what_their_time_went_on(client: TestClient, recorded: Store) -> None:
    page = WorkersPage.model_validate(client.get("/api/v1/runs/run-1/workers").json())
    assert [(each.worker, each.batches) for each in page.workers] == [(0, 1_000), (1, 1_000)]
    batches, steps = recorded.batches("run-1", 0, "train"), recorded.steps("run-1", 0, "train")
    mine = batches.worker == 1
    second = page.workers[1]
    assert second.load_us_mean == round(batches.load_us[mine].mean())
    assert second.cpu_fraction == pytest.approx(batches.cpu_us[mine].sum() / batches.load_us[mine].sum(), abs=1e-5)
    assert second.collate_fraction is None
    assert second.runqueue_fraction == 0
    assert page.limit_us == round(2 * (steps.step_us - steps.data_wait_us).mean())


@pytest.mark.reads
def test_the_heat_map_counts_every_batch_in_its_bin(client: TestClient, recorded: Store) -> None:
    heatmap = WorkersPage.model_validate(client.get("/api/v1/runs/run-1/workers").json()).heatmap
    assert heatmap is not None
    assert len(heatmap.counts) == len(heatmap.at_us) <= 120
    assert {len(column) for column in heatmap.counts} == {len(heatmap.edges_us) - 1}
    assert len(heatmap.edges_us) - 1 <= 26
    load_us = recorded.batches("run-1", 0, "train").load_us
    assert sum(map(sum, heatmap.counts)) == len(load_us)
    for bin_ in range(len(heatmap.edges_us) - 1):
        inside = ((load_us >= heatmap.edges_us[bin_]) & (load_us < heatmap.edges_us[bin_ + 1])).sum()
        # Edges are rounded to whole microseconds.
        assert abs(sum(column[bin_] for column in heatmap.counts) - inside) <= 2


@pytest.mark.parametrize("seed", range(40))
def test_a_heat_map_keeps_its_count_whatever_bins_and_limit_it_has(seed: int) -> None:
    chance = np.random.default_rng(seed)
    rows, spread = int(chance.integers(1, 400)), int(chance.integers(1, BINS))
    bins = np.zeros((rows, BINS), np.uint32)
    low = int(chance.integers(0, BINS - spread + 1))
    bins[:, low : low + spread] = chance.integers(0, 3, (rows, spread))
    bins[0, low] = 1
    at_us = np.sort(chance.integers(0, 10**9, rows)).astype(float)
    figures, index = np.zeros((4, 0, rows)), np.arange(rows, dtype=np.float64)
    rollup = Rollup(np.ones(rows), index, at_us, (), figures, {"load_us": bins})
    limit_us = int(2.0 ** chance.uniform(0, 32))
    found = heatmap(rollup, at_us[-1] + 5, limit_us)
    assert found is not None
    assert sum(map(sum, found.counts)) == bins.sum()
    assert len(found.counts) == len(found.at_us) <= 120
    assert all(len(column) == len(found.edges_us) - 1 <= 26 for column in found.counts)
    assert found.edges_us == sorted(found.edges_us)
    assert found.at_us == sorted(found.at_us)
    assert found.end_us > found.at_us[-1]


def test_batches_of_the_training_process_are_no_worker_s_and_have_no_limit(client: TestClient, store: Store) -> None:
    windows = list(made_stream(2))
    for window in windows:
        del window["batches"][0]["worker"], window["worker_samples"]
    windows[0]["loaders"] = [{"loader": "train", "settings": {"num_workers": 0}}]
    post(store, windows)
    page = WorkersPage.model_validate(client.get("/api/v1/runs/run-1/workers").json())
    assert [each.worker for each in page.workers] == [None]
    assert page.limit_us is None


def test_parts_of_a_run_without_steps_say_why_they_are_empty(client: TestClient, store: Store) -> None:
    post(store, [made_window(0)])
    for part in ("workers", "hotspots", "timeline"):
        assert client.get(f"/api/v1/runs/run-1/{part}").json()["missing"] == "no step was recorded yet"


def test_a_run_without_a_loader_says_so_in_every_part(client: TestClient, store: Store) -> None:
    why = "no loader seen: the command made none"
    post(store, [made_window(0, run=RUN | {"not_measured": {"loader": why}}, loaders=[])])
    for part in ("workers", "hotspots", "timeline"):
        assert client.get(f"/api/v1/runs/run-1/{part}").json()["missing"] == why
    diagnosis = Diagnosis.model_validate(client.get("/api/v1/runs/run-1/diagnosis").json())
    assert (diagnosis.sentence, diagnosis.reason) == (
        "No loader was seen in this run.",
        "the command made none",
    )
    assert client.get("/api/v1/runs").json()["runs"][0]["no_loader"] == why


@pytest.mark.reads
def test_an_unforeseen_failure_has_an_id_and_no_details(
    application: Application, store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: object) -> None:
        raise KeyError("a secret")

    monkeypatch.setattr(store, "runs", fail)
    client = TestClient(application, base_url="http://localhost", raise_server_exceptions=False)
    response = client.get("/api/v1/runs")
    assert response.status_code == 500
    assert response.json()["error"]["code"] == "internal"
    assert "secret" not in response.text
    assert response.json()["error"]["request_id"] in caplog.text
