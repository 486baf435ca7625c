"""``/metrics``: what it counts is what happened, and its size is bounded whatever agents call their runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from tests.app.made_diagnosis import made_cause, made_diagnosis
from tests.app.made_windows import RUN, SOON_JUDGED, made_stream, made_window, posted
from tests.app.operations.asking import ask, scraped, send
from tests.app.operations.running import Running, running
from tests.app.serving import poll
from tests.app.store.posting import post
from underfed_server.api import exposition
from underfed_server.api.exposition import RUN_GAUGES
from underfed_server.main import Application
from underfed_server.store.runs.counted import read_counted
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


@pytest.mark.sql
def test_a_running_run_has_its_figures_and_what_was_not_measured_has_no_series(
    client: TestClient, store: Store
) -> None:
    named(store, "resnet")
    said = text_of(client)
    assert 'underfed_runs_by_status{status="running"} 1.0' in said
    assert 'underfed_run_verdict{bound="unknown",cause="",level="unknown",run_id="run-1"} 1.0' in said
    assert "underfed_run_data_stall_ratio{" not in said


def test_a_judged_run_shows_its_stall_in_the_units_of_prometheus(service: Running) -> None:
    # Of 40 steps there is one verdict: more windows would bring another between the questions.
    for window in made_stream(2, **SOON_JUDGED):
        send(service.address, window)
    poll(lambda: "underfed_run_data_stall_ratio" in scraped(service.address))
    found = scraped(service.address)
    (stall,) = found["underfed_run_data_stall_ratio"].values()
    (lost,) = found["underfed_run_lost_seconds"].values()
    run = ask(service.address, "/api/v1/runs/run-1/diagnosis").json
    assert stall == pytest.approx(run["headline_stall_fraction"])
    assert lost == pytest.approx(run["hours_lost"] * 3_600)
    (step,) = found["underfed_run_step_seconds"].values()
    assert step == pytest.approx(ask(service.address, "/api/v1/runs/run-1").json["step_us"] / 1e6)
    poll(lambda: scraped(service.address)["underfed_judgement_seconds_count"][()] >= 1)


def test_what_a_run_is_joined_by_stands_in_one_series_of_it(client: TestClient, store: Store) -> None:
    described = RUN | {"slurm_job_id": "4711", "queue": "gpu", "namespace": "team-a", "train_job": "llama"}
    for rank in (1, 0):
        post(store, [made_window(0, rank=rank, run=described | {"pod": f"llama-{rank}", "hostname": f"node-{rank}"})])
    (family,) = (each for each in families_of(client) if each.name == "underfed_run_info")
    (sample,) = family.samples
    assert sample.value == 1
    assert sample.labels == {
        "run_id": "run-1", "project": "vision", "name": "resnet", "user": "ada", "host": "node-0",
        "slurm_job_id": "4711", "namespace": "team-a", "pod": "llama-0", "train_job": "llama", "queue": "gpu",
    }  # fmt: skip
    of_runs = [each for each in families_of(client) if each.name.startswith("underfed_run_")]
    wide = {each.name for each in of_runs for sample in each.samples if len(sample.labels) > 1}
    assert wide == {"underfed_run_info", "underfed_run_verdict"}


def families_of(client: TestClient) -> list[Metric]:
    """As Prometheus' own parsers read them: neither refuses a name or a series, and none is there twice."""
    plain = list(text_string_to_metric_families(text_of(client)))
    asked = {"Accept": "application/openmetrics-text;version=1.0.0"}
    strict: list[Metric] = list(open_metrics(client.get("/metrics", headers=asked).text))  # type: ignore[no-untyped-call]
    for families in (plain, strict):
        series = [(each.name, *sorted(each.labels.items())) for family in families for each in family.samples]
        assert len(series) == len(set(series))
    assert len({family.name for family in strict}) == len(strict)
    return strict


def test_only_the_costliest_running_runs_have_series_and_the_rest_is_counted(
    client: TestClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exposition, "MOST_RUNS", 3)
    for index in range(5):
        post(store, [made_window(0, run_id=f"run-{index}", started_at=f"2026-11-20T10:00:0{index}Z", run=RUN)])
    store.save_diagnosis(made_diagnosis("run-0", hours_lost=1.0, gpu_hours_lost=1.0))
    store.save_diagnosis(made_diagnosis("run-2", hours_lost=5.0))
    said = text_of(client)
    assert "underfed_runs_left_out 2.0" in said
    assert re.findall(r'underfed_run_info{.*run_id="([^"]+)"', said) == ["run-0", "run-2", "run-4"]


def totals(client: TestClient) -> dict[tuple[str, ...], float]:
    """The counters that outlive runs, by name and values of labels."""
    kinds = {"underfed_gpu_lost_seconds": ("project", "user", "cause"), "underfed_gpu_seconds": ("project", "user"),
             "underfed_runs": ("project", "bound")}  # fmt: skip
    return {
        (family.name, *(sample.labels[name] for name in kinds[family.name])): sample.value
        for family in families_of(client)
        if family.name in kinds
        for sample in family.samples
    }


@pytest.mark.sql
def test_counters_of_all_runs_never_fall_whatever_becomes_of_a_run(client: TestClient, store: Store) -> None:
    def judged(hours: float, cause: str, status: str = "running", run_id: str = "run-1") -> None:
        figures = {"hours_lost": hours, "gpu_hours_lost": hours, "hours_used": 4 * hours, "status": status}
        store.save_diagnosis(made_diagnosis(run_id, **figures, causes=[made_cause(cause)]))

    post(store, [made_window(0, run=RUN)])
    post(store, [made_window(0, run_id="run-2", run=RUN | {"project": "speech", "user": ""})])
    lost, used = ("underfed_gpu_lost_seconds", "vision", "ada"), ("underfed_gpu_seconds", "vision", "ada")
    judged(1.0, "too_few_workers")
    assert totals(client) == {(*lost, "too_few_workers"): 3_600, used: 14_400}
    # Another cause leads: what was lost until then stays where it was counted.
    judged(1.5, "storage_wait")
    assert totals(client) == {(*lost, "too_few_workers"): 3_600, (*lost, "storage_wait"): 1_800, used: 21_600}
    # Judged anew, by which it lost less.
    judged(0.5, "too_few_workers")
    judged(1.25, "storage_wait")
    assert totals(client) == {(*lost, "too_few_workers"): 3_600, (*lost, "storage_wait"): 1_800, used: 21_600}
    judged(2.0, "storage_wait", "finished")
    judged(2.0, "storage_wait", "crashed")
    judged(3.0, "cpu_limited", "lost", "run-2")
    after = {
        (*lost, "too_few_workers"): 3_600,
        (*lost, "storage_wait"): 3_600,
        ("underfed_gpu_lost_seconds", "speech", "", "cpu_limited"): 10_800,
        used: 28_800,
        ("underfed_gpu_seconds", "speech", ""): 43_200,
        ("underfed_runs", "vision", "data"): 1,
        ("underfed_runs", "speech", "data"): 1,
    }
    assert totals(client) == after
    with store.reading() as reader:
        assert read_counted(reader.connection, frozenset(("speech",)), 9).gpu_lost_us == {
            ("speech", "", "cpu_limited"): 10_800_000_000
        }
        assert read_counted(reader.connection, None, 1).left_out == 4


@pytest.mark.sql
def test_counters_of_all_runs_outlive_those_that_are_removed(
    client: TestClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    post(store, [made_window(0, run=RUN), made_window(1, end={"status": "finished"})])
    said = {"status": "finished", "hours_lost": 1.0, "gpu_hours_lost": 1.0}
    store.save_diagnosis(made_diagnosis("run-1", **said))
    before = totals(client)
    assert len(before) == 3
    store.delete_run("run-1")
    assert totals(client) == before
    monkeypatch.setattr(store, "keep_deleted", timedelta(0))
    while store.forgettable() is not None:
        store.forget_some("run-1")
    with store.reading() as reader:
        assert reader.connection.exec_driver_sql("SELECT count(*) FROM run").scalar() == 0
    assert totals(client) == before


def test_a_run_without_gpus_counts_among_those_that_ended_alone(client: TestClient, store: Store) -> None:
    post(store, [made_window(0, run=RUN)])
    store.save_diagnosis(made_diagnosis("run-1", status="finished", bound="compute"))
    assert totals(client) == {("underfed_runs", "vision", "compute"): 1}


def test_a_run_that_ended_leaves(client: TestClient, store: Store) -> None:
    post(store, [made_window(0, run=RUN, end={"status": "finished", "exit_reason": None, "exit_code": 0})])
    said = text_of(client)
    assert 'underfed_runs_by_status{status="finished"} 1.0' in said
    assert "underfed_run_verdict{" not in said


def test_a_name_cannot_add_a_line_of_its_own(client: TestClient, store: Store) -> None:
    named(store, 'x"} 1\nunderfed_ingest_windows_total 99999\n#' + "y" * 400)
    said = text_of(client)
    assert "\nunderfed_ingest_windows_total 1.0\n" in said
    assert [line for line in said.splitlines() if line.startswith("underfed_ingest_windows_total")] == [
        "underfed_ingest_windows_total 1.0"
    ]
    assert "y" * 101 not in said
    families_of(client)


def test_open_metrics_are_given_to_who_asks_for_them(client: TestClient, store: Store) -> None:
    named(store, "resnet")
    response = client.get("/metrics", headers={"Accept": "application/openmetrics-text;version=1.0.0"})
    assert response.headers["content-type"].startswith("application/openmetrics-text")
    families = {family.name for family in families_of(client)}
    assert {"underfed_build", "underfed_ingest_windows", "underfed_run_verdict"} <= families


def test_figures_of_runs_need_what_the_list_of_runs_needs(tmp_path: Path) -> None:
    with running(tmp_path, "--host", "0.0.0.0") as guarded:
        address = guarded.address.replace("0.0.0.0", "127.0.0.1")
        assert ask(address, "/metrics").status == 401
        assert ask(address, "/healthz").status == ask(address, "/readyz").status == 200


def test_each_gauge_of_a_run_is_named_after_its_unit() -> None:
    assert all(field in RunGauges.__slots__ for _, _, field, _ in RUN_GAUGES)
    assert not [name for name, *_ in RUN_GAUGES if name.endswith(("_us", "_hours", "_s"))]
