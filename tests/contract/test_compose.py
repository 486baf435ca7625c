"""Deployment files match the product: compose file, image, proxy, alerts and dashboard name what exists."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.metadata import metadata, requires
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from starlette.testclient import TestClient

from tests.app.described import PATHS
from tests.app.made_diagnosis import made_diagnosis
from tests.app.made_windows import made_stream
from tests.app.serving import application_in
from tests.app.store.posting import post
from tests.programs import program
from underfed_server.api.admission import connections
from underfed_server.api.exposition import RUN_GAUGES
from underfed_server.settings import DEFAULT_PORT, Settings, read_settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "underfed"}
DOCKERFILE = (ROOT / "Dockerfile").read_text()


class Asked(dict[str, str]):
    """An environment that knows what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return super().get(name, default)


def settings_of(service: dict[str, Any], environ: dict[str, str] | None = None) -> Settings:
    return read_settings(service["command"], {"UNDERFED_DIR": "/var/lib/underfed"} | (environ or {}))


def defaults(service: dict[str, Any]) -> dict[str, str]:
    """Its environment where nobody set a variable."""
    return {name: re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value) for name, value in service["environment"].items()}


def read_variables() -> set[str]:
    asked = Asked()
    read_settings([], asked)
    libpq = {option.envvar.decode() for option in psycopg.pq.Conninfo.get_defaults() if option.envvar}
    return asked.names | libpq


@pytest.mark.parametrize("name", OURS)
def test_each_service_starts_with_settings_that_there_are(name: str) -> None:
    settings = settings_of(OURS[name], defaults(OURS[name]))
    assert settings.host == "0.0.0.0"
    assert settings.port == DEFAULT_PORT
    assert settings.log_format == "json"
    assert set(OURS[name]["environment"]) <= read_variables()


def test_by_default_one_service_keeps_its_file_in_a_volume() -> None:
    assert [name for name, service in SERVICES.items() if "profiles" not in service] == ["underfed"]
    assert settings_of(SERVICES["underfed"]).database_url == "sqlite:////var/lib/underfed/underfed.db"
    assert SERVICES["underfed"]["volumes"] == ["data:/var/lib/underfed"]
    assert "UNDERFED_DIR=/var/lib/underfed" in DOCKERFILE


def test_the_profile_postgres_has_two_services_on_one_database_behind_a_proxy() -> None:
    shared = {name for name, service in OURS.items() if "postgres" in service.get("profiles", [])}
    assert shared == {"underfed-1", "underfed-2"}
    assert {settings_of(OURS[name]).database_url for name in shared} == {
        "postgresql+psycopg://underfed@postgres/underfed"
    }
    assert SERVICES["postgres"]["environment"]["POSTGRES_USER"] == "underfed"
    assert SERVICES["postgres"]["environment"]["POSTGRES_DB"] == "underfed"
    proxied = re.search(r"reverse_proxy (.*) \{", (DEPLOY / "Caddyfile").read_text())
    assert proxied is not None
    assert (
        set(proxied[1].split())
        == {f"{name}:{DEFAULT_PORT}" for name in shared}
        == {f"{name}:{DEFAULT_PORT}" for name in SERVICES["proxy"]["depends_on"]}
    )
    assert [name for name in shared if "ports" in SERVICES[name]] == [], "only the proxy reaches them"


def test_a_service_that_others_depend_on_has_a_health_check() -> None:
    for service in SERVICES.values():
        waited = service.get("depends_on", {})
        for name, how in waited.items() if isinstance(waited, dict) else ():
            assert how == {"condition": "service_healthy"}
            assert SERVICES[name]["healthcheck"]["test"][0] == "CMD"


def test_health_is_asked_of_paths_that_there_are() -> None:
    asked = [*(" ".join(service["healthcheck"]["test"]) for service in OURS.values()), DOCKERFILE]
    for text in asked:
        found = re.search(rf"http://127\.0\.0\.1:{DEFAULT_PORT}(/\w+)", text)
        assert found is not None
        assert "get" in PATHS[found[1]]
    assert "health_uri /readyz" in (DEPLOY / "Caddyfile").read_text()


def test_volumes_files_and_secrets_that_are_mounted_exist() -> None:
    used = {volume.split(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}
    named = {source for source in used if not source.startswith(".")}
    assert named == set(COMPOSE["volumes"])
    assert [source for source in used - named if not (ROOT / source).exists()] == []
    assert {secret for service in SERVICES.values() for secret in service.get("secrets", [])} == set(COMPOSE["secrets"])
    assert "*" in (DEPLOY / "secrets" / ".gitignore").read_text().split()


def test_no_secret_is_written_down() -> None:
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if re.search("TOKEN|PASSWORD", name):
                assert re.fullmatch(r"\$\{\w+:-\}|/run/secrets/[\w-]+", value), name


def test_the_image_is_built_from_existing_files_and_runs_unprivileged() -> None:
    sources = re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE)
    assert sources
    assert [name for line in sources for name in line.split() if not (ROOT / name).exists()] == []
    allowed = re.findall(r"^!([\w./-]+?)(?:/\*\*)?$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    for line in sources:
        for name in line.split():
            assert any(name.startswith(top.split("/")[0]) for top in allowed), name
    extras = re.findall(r"^(\w+) = \[$", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    installed = re.search(r'"\.\[([\w,]+)\]"', DOCKERFILE)
    assert installed is not None
    assert set(installed[1].split(",")) <= set(extras)
    assert re.search(r"^USER 10001:10001$", DOCKERFILE, re.MULTILINE)
    command = json.loads(re.findall(r"^CMD (.*)$", DOCKERFILE, re.MULTILINE)[-1])
    assert read_settings(command, {}).host == "0.0.0.0"


def test_what_the_image_takes_from_its_stages_they_lay_in_the_image_without_a_network_too() -> None:
    offline = (DEPLOY / "offline" / "Dockerfile").read_text()
    for taken in re.findall(r"^COPY --from=installed (\S+)", DOCKERFILE, re.MULTILINE):
        for said in (DOCKERFILE.rpartition("\nFROM ")[0], offline):
            assert re.search(rf"(venv|mkdir) {taken}\b", said), taken


def test_the_unit_for_systemd_starts_with_settings_that_there_are() -> None:
    unit = (DEPLOY / "systemd" / "underfed.service").read_text()
    started = re.search(r"^ExecStart=/opt/underfed/bin/underfed serve (.*)$", unit, re.MULTILINE)
    assert started is not None
    assert read_settings(started[1].split(), {}).log_level == "info"
    assert set(re.findall(r"^Environment=(\w+)=", unit, re.MULTILINE)) <= read_variables()


@pytest.mark.parametrize("name", OURS)
def test_each_service_has_a_memory_limit(name: str) -> None:
    assert bytes_of(OURS[name]["mem_limit"]) <= 2 * 2**30
    assert OURS[name]["ulimits"]["nofile"] == connections.MOST_FILES


def test_the_unit_has_the_same_memory_limit_and_lets_the_service_open_files() -> None:
    unit = dict(re.findall(r"^(\w+)=(.*)$", (DEPLOY / "systemd" / "underfed.service").read_text(), re.MULTILINE))
    assert {bytes_of(service["mem_limit"]) for service in OURS.values()} == {bytes_of(unit["MemoryMax"])}
    assert bytes_of(unit["MemoryHigh"]) < bytes_of(unit["MemoryMax"])
    assert int(unit["LimitNOFILE"]) == connections.MOST_FILES


def bytes_of(size: str) -> int:
    return int(size[:-1]) * {"M": 2**20, "G": 2**30}[size[-1].upper()]


def test_the_image_has_what_every_format_of_an_export_and_every_database_needs() -> None:
    installed = re.search(r'pip install .*"\.\[([\w,]+)\]"', DOCKERFILE)
    assert installed is not None
    extras = set(installed[1].split(","))
    needed = [re.match(r"([\w-]+).*extra == .(\w+).", each) for each in requires("underfed") or []]
    assert {"pyarrow", "psycopg"} <= {found[1] for found in needed if found is not None and found[2] in extras}
    assert extras == set(metadata("underfed").get_all("Provides-Extra") or []) - {"server", "demo", "dev", "bench"}


@pytest.fixture(scope="module")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names of all that ``/metrics`` may show: of a service that has a run, and of what only a judged one has."""
    application = application_in(tmp_path_factory.mktemp("metrics"))
    try:
        post(application.parts.store, made_stream(5))
        application.parts.store.save_diagnosis(made_diagnosis(status="finished", gpu_hours_lost=1.0))
        client = TestClient(application, base_url="http://127.0.0.1:7077")
        client.get("/api/v1/runs/nobody")
        said = client.get("/metrics").text
    finally:
        application.close()
    found = set(re.findall(r"^([a-zA-Z_:][\w:]*)[ {]", said, re.MULTILINE))
    return found | {f"underfed_run_{name}" for name, *_ in RUN_GAUGES}


def queries() -> Iterator[str]:
    dashboard = json.loads((DEPLOY / "grafana" / "dashboards" / "underfed.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield target["expr"]
    yield from (variable["query"]["query"] for variable in dashboard["templating"]["list"])
    alerts = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())
    yield from (rule["expr"] for group in alerts["groups"] for rule in group["rules"])


def metrics_in(query: str) -> set[str]:
    return set(re.findall(r"\b(?:underfed|process)_\w+", re.sub(r'"[^"]*"', "", query)))


def test_dashboard_and_alerts_ask_for_nothing_that_is_not_exposed(exposed: set[str]) -> None:
    asked = {name for query in queries() for name in metrics_in(query)}
    assert len(asked) > 15
    assert asked - exposed == set()


def test_dashboard_and_data_source_know_each_other() -> None:
    sources = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yml").read_text())["datasources"]
    dashboard = json.loads((DEPLOY / "grafana" / "dashboards" / "underfed.json").read_text())
    assert {panel["datasource"]["uid"] for panel in dashboard["panels"]} == {source["uid"] for source in sources}
    place = yaml.safe_load((DEPLOY / "grafana/provisioning/dashboards/underfed.yml").read_text())["providers"][0]
    assert f"./deploy/grafana/dashboards:{place['options']['path']}:ro" in SERVICES["grafana"]["volumes"]
    assert sources[0]["url"] == "http://prometheus:9090"


def left_out(said: Any, kept: Any, at: str = "") -> Iterator[str]:
    """Where ``kept`` does not say what ``said`` says."""
    if isinstance(said, dict) and isinstance(kept, dict):
        for name, value in said.items():
            yield from left_out(value, kept.get(name), f"{at}.{name}")
    elif isinstance(said, list) and isinstance(kept, list) and len(said) == len(kept):
        for index, (one, other) in enumerate(zip(said, kept, strict=True)):
            yield from left_out(one, other, f"{at}[{index}]")
    elif said != kept:
        yield at


def test_grafanas_own_types_keep_all_that_the_dashboard_says() -> None:
    """They leave out what they do not know: an option that is misspelt, or that this kind of panel does not have."""
    models = pytest.importorskip("grafana_foundation_sdk.models.dashboard", reason="Grafana's types need Python 3.11")
    encoder = importlib.import_module("grafana_foundation_sdk.cog.encoder")

    def lost(dashboard: Any) -> list[str]:
        kept = json.loads(encoder.JSONEncoder().encode(models.Dashboard.from_json(dashboard)))
        return list(left_out(dashboard, kept))

    dashboard = json.loads((DEPLOY / "grafana" / "dashboards" / "underfed.json").read_text())
    assert lost(dashboard) == []
    dashboard["panels"][1]["fieldConfig"]["defaults"]["unitt"] = "s"
    assert lost(dashboard) == [".panels[1].fieldConfig.defaults.unitt"]


def test_prometheus_finds_the_services_by_the_name_that_they_share() -> None:
    (job,) = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())["scrape_configs"]
    (found,) = job["dns_sd_configs"]
    for service in OURS.values():
        assert service["networks"]["default"]["aliases"] == found["names"]
    assert found["port"] == DEFAULT_PORT
    assert job["authorization"]["credentials_file"] == f"/run/secrets/{SERVICES['prometheus']['secrets'][0]}"
    assert job.get("metrics_path", "/metrics") in PATHS
    assert {job["job_name"]} == set(re.findall(r'job="(\w+)"', " ".join(queries())))


def test_the_table_of_metrics_in_the_docs_is_what_is_exposed(exposed: set[str]) -> None:
    docs = (ROOT / "docs" / "operations.md").read_text()
    documented = set(re.findall(r"^\| `(underfed_\w+)`", docs, re.MULTILINE))
    families = {re.sub(r"_(bucket|count|sum|created)$", "", name) for name in exposed if name.startswith("underfed_")}
    assert documented == families


def test_the_docs_name_flags_and_variables_that_there_are() -> None:
    docs = (ROOT / "docs" / "operations.md").read_text()
    lines = re.findall(r"underfed serve((?: --[\w-]+[ =][^\s`]+)+)", docs)
    assert lines
    for line in lines:
        read_settings(line.split(), {})
    assert set(re.findall(r"UNDERFED_[A-Z_]*[A-Z]", docs)) <= read_variables() | set(
        re.findall(r"\$\{(\w+):-", (ROOT / "docker-compose.yml").read_text())
    )


def checked(tool: str, *arguments: str, **environ: str) -> str:
    """What ``tool`` says of a file of ours, which it must find good; skipped where there is none."""
    ran = subprocess.run(
        [program(tool), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin"} | environ,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def composed() -> list[str]:
    """The command for compose, whichever of its two is here."""
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("no compose client is installed here")
    return ["docker", "compose"]


def test_compose_itself_reads_the_file() -> None:
    tool, *words = composed()
    read = yaml.safe_load(
        checked(tool, *words, "--profile=postgres", "--profile=observability", "config", UNDERFED_TOKEN="t0ken")
    )
    assert set(read["services"]) == set(SERVICES)
    for name in OURS:
        assert read["services"][name]["environment"]["UNDERFED_TOKEN"] == "t0ken"
        assert read["services"][name]["command"] == OURS[name]["command"]
    assert read["services"]["proxy"]["environment"]["UNDERFED_SITE"] == ":80"


def test_caddy_reads_its_file() -> None:
    checked("caddy", "adapt", "--config", "deploy/Caddyfile", UNDERFED_SITE=":80")


RULES = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())


def test_each_alert_says_something_of_labels_that_its_series_have() -> None:
    """What ``promtool check rules`` would refuse, and what it lets pass: a label in a sentence that no series has."""
    assert set(RULES) == {"groups"}
    names = [rule["alert"] for group in RULES["groups"] for rule in group["rules"]]
    assert len(names) == len(set(names))
    for group in RULES["groups"]:
        assert set(group) == {"name", "rules"}
        for rule in group["rules"]:
            assert {"alert", "expr", "annotations"} <= set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
            assert re.fullmatch(r"\d+[smhd]", rule.get("for", "0s"))
            assert rule["expr"].count("(") == rule["expr"].count(")")
            labels = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
            kept = re.match(r"\(*\s*(?:max|sum) by \(([\w, ]+)\)", rule["expr"])
            assert labels <= (set(kept[1].split(", ")) if kept else {"instance"}), rule["alert"]


def test_prometheus_reads_its_files() -> None:
    checked("promtool", "test", "rules", "tests/contract/alerts.test.yml")
    checked("promtool", "check", "config", "--syntax-only", "deploy/prometheus/prometheus.yml")
    checked("promtool", "check", "rules", "deploy/prometheus/alerts.yml")
