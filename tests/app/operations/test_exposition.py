"""``/metrics``: what it counts is what happened, and its size is bounded whatever agents call their runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from starlette.testclient import TestClient

from tests.app.made_windows import RUN, made_stream, made_window, posted
from tests.app.operations.asking import ask, scraped, send
from tests.app.operations.running import Running, running
from tests.app.serving import poll
from tests.app.store.posting import post
from underfed_server.api import exposition
from underfed_server.api.exposition import RUN_GAUGES
from underfed_server.main import Application
from underfed_server.store.store import Store
from underfed_server.store.team.gauges import RunGauges


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path) as started:
        yield started


@pytest.fixture
def client(application: Application) -> TestClient:
    return TestClient(application, base_url="http://127.0.0.1:7077")


@pytest.fixture
def store(application: Application) -> Store:
    return application.parts.store


def named(store: Store, name: str, run_id: str = "run-1", project: str = "vision") -> None:
    post(store, [made_window(0, run_id=run_id, run={**RUN, "name": name, "project": project})])


def text_of(client: TestClient) -> str:
    response = client.get("/metrics")
    assert response.status_code == 200
    return response.text


def test_what_was_taken_in_is_counted_once_and_what_was_refused_by_its_code(service: Running) -> None:
    windows = list(made_stream(5))
    for window in [*windows, windows[2]]:
        assert send(service.address, window).status == 200
    assert send(service.address, made_window(9)).status == 409
    assert ask(service.address, "/api/v1/ingest", b"{").status == 400
    assert ask(service.address, "/api/v1/runs/nobody").status == 404
    found = scraped(service.address)
    assert found["underfed_ingest_windows_total"][()] == 5
    assert found["underfed_ingest_steps_total"][()] == 100
    assert found["underfed_ingest_bytes_total"][()] == sum(len(posted(window)) for window in windows)
    assert found["underfed_ingest_repeats_total"][()] == 1
    assert found["underfed_ingest_out_of_order_total"][()] == 1
    refusals = found["underfed_refusals_total"]
    assert refusals[("code", "out_of_order"),] == refusals[("code", "not_found"),] == 1
    assert sum(refusals.values()) == 3
    assert found["underfed_writer_commit_seconds_count"][()] >= 5
    assert found["underfed_hot_streams"][()] == 1
    assert found["underfed_database_bytes"][()] >= service.database.stat().st_size > 0
    assert found["process_resident_memory_bytes"][()] > 1e6


def test_requests_are_counted_by_route_and_never_by_path(client: TestClient) -> None:
    for path in ("/api/v1/runs/a", "/api/v1/runs/b", "/api/v1/nothing", "/a/scanner/was/here", "/healthz"):
        client.get(path)
    client.request("BREW", "/healthz")
    said = text_of(client)
    assert 'underfed_request_seconds_count{method="GET",route="/api/v1/runs/{run_id}",status="404"} 2.0' in said
    assert 'route="page"' in said
    assert 'method="other"' in said
    assert "scanner" not in said
    assert "BREW" not in said


def test_a_running_run_has_its_figures_and_what_was_not_measured_has_no_series(
    client: TestClient, store: Store
) -> None:
    named(store, "resnet")
    said = text_of(client)
    labels = 'name="resnet",project="vision",run_id="run-1"'
    assert 'underfed_runs{status="running"} 1.0' in said
    verdict = f'bound="unknown",cause="",level="unknown",{labels}'
    assert f"underfed_run_verdict{{{verdict}}} 1.0" in "".join(sorted_labels(said))
    assert "underfed_run_data_stall_fraction{" not in said


def sorted_labels(text: str) -> Iterator[str]:
    for line in text.splitlines(keepends=True):
        if "{" in line and not line.startswith("#"):
            name, rest = line.split("{", 1)
            labels, value = rest.rsplit("}", 1)
            yield f"{name}{{{','.join(sorted(labels.split(',')))}}}{value}"


def test_a_judged_run_shows_its_stall_in_the_units_of_prometheus(service: Running) -> None:
    for window in made_stream(20):
        send(service.address, window)
    poll(lambda: "underfed_run_data_stall_fraction" in scraped(service.address))
    found = scraped(service.address)
    (stall,) = found["underfed_run_data_stall_fraction"].values()
    (lost,) = found["underfed_run_lost_seconds"].values()
    run = ask(service.address, "/api/v1/runs/run-1/diagnosis").json
    assert stall == pytest.approx(run["data_stall_fraction"])
    assert lost == pytest.approx(run["hours_lost"] * 3_600)
    (step,) = found["underfed_run_step_seconds"].values()
    assert step == pytest.approx(ask(service.address, "/api/v1/runs/run-1").json["step_us"] / 1e6)
    poll(lambda: scraped(service.address)["underfed_judgement_seconds_count"][()] >= 1)


def test_only_the_newest_running_runs_have_series_and_the_rest_is_counted(
    client: TestClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exposition, "MOST_RUNS", 3)
    for index in range(5):
        post(store, [made_window(0, run_id=f"run-{index}", started_at=f"2026-11-20T10:00:0{index}Z", run=RUN)])
    said = text_of(client)
    assert "underfed_runs_left_out 2.0" in said
    assert [f'run_id="run-{index}"' in said for index in range(5)] == [False, False, True, True, True]


def test_a_run_that_ended_leaves(client: TestClient, store: Store) -> None:
    post(store, [made_window(0, run=RUN, end={"status": "finished", "exit_reason": None, "exit_code": 0})])
    said = text_of(client)
    assert 'underfed_runs{status="finished"} 1.0' in said
    assert "underfed_run_verdict{" not in said


def test_a_name_cannot_add_a_line_of_its_own(client: TestClient, store: Store) -> None:
    named(store, 'x"} 1\nunderfed_ingest_windows_total 99999\n#' + "y" * 400)
    said = text_of(client)
    assert "\nunderfed_ingest_windows_total 1.0\n" in said
    assert [line for line in said.splitlines() if line.startswith("underfed_ingest_windows_total")] == [
        "underfed_ingest_windows_total 1.0"
    ]
    assert "y" * 101 not in said


def test_open_metrics_are_given_to_who_asks_for_them(client: TestClient, store: Store) -> None:
    named(store, "resnet")
    response = client.get("/metrics", headers={"Accept": "application/openmetrics-text;version=1.0.0"})
    assert response.headers["content-type"].startswith("application/openmetrics-text")
    families = {family.name for family in open_metrics(response.text)}  # type: ignore[no-untyped-call]
    assert {"underfed_build", "underfed_ingest_windows", "underfed_run_verdict"} <= families


def test_figures_of_runs_need_what_the_list_of_runs_needs(tmp_path: Path) -> None:
    with running(tmp_path, "--host", "0.0.0.0") as guarded:
        address = guarded.address.replace("0.0.0.0", "127.0.0.1")
        assert ask(address, "/metrics").status == 401
        assert ask(address, "/healthz").status == ask(address, "/readyz").status == 200


def test_each_gauge_of_a_run_is_named_after_its_unit() -> None:
    assert all(field in RunGauges.__slots__ for _, _, field, _ in RUN_GAUGES)
    assert not [name for name, *_ in RUN_GAUGES if name.endswith(("_us", "_hours", "_s"))]
