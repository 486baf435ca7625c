"""Helm chart and manifests: they start what there is, with settings that there are, and hand facts to the agent."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

import underfed
from tests.contract.test_compose import DOCKERFILE, OURS, read_variables
from tests.programs import program
from underfed.exchange import launch
from underfed.launcher.run import SITE
from underfed.trainer.scheduled import NAMESPACE, POD, QUEUE, TRAIN_JOB
from underfed_server.proxy_groups import read_proxy_groups
from underfed_server.settings import DEFAULT_PORT, read_settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "underfed"
LAID = "/opt/underfed-agent"
"""Where the image has the agent that pods copy."""

OF_AGENT = {
    *("UNDERFED_URL", "UNDERFED_TOKEN", "UNDERFED_DIR", "UNDERFED_PROJECT", "UNDERFED_NAME", launch.AUTOLOAD),
    *(names[0] for names in (NAMESPACE, POD, QUEUE, TRAIN_JOB)),
}


def objects(text: str) -> dict[str, dict[str, Any]]:
    """By kind."""
    return {each["kind"]: each for each in yaml.safe_load_all(text) if each is not None}


def rendered(*sets: str, values: Path | None = None) -> str:
    words = [
        program("helm"),
        "template",
        "underfed",
        str(CHART),
        "--namespace=underfed",
        *(f"--set={each}" for each in sets),
    ]
    words += [] if values is None else [f"--values={values}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


MANIFESTS = (DEPLOY / "kubernetes" / "underfed.yaml").read_text()
SERVED = objects(MANIFESTS)
JOB = objects((DEPLOY / "kubernetes" / "training-job.yaml").read_text())["Job"]["spec"]["template"]["spec"]


def service_process(kind: dict[str, Any]) -> dict[str, Any]:
    (container,) = kind["spec"]["template"]["spec"]["containers"]
    return dict(container)


def test_the_service_starts_with_settings_that_there_are_as_compose_starts_it() -> None:
    assert set(SERVED) == {"StatefulSet", "Service", "NetworkPolicy"}
    container = service_process(SERVED["StatefulSet"])
    settings = read_settings(container["args"], {})
    assert settings.host == "0.0.0.0"
    assert settings.port == DEFAULT_PORT == container["ports"][0]["containerPort"]
    assert {each["name"] for each in container["env"]} <= read_variables()
    (limits,) = {OURS[name]["mem_limit"] for name in OURS}
    assert container["resources"]["limits"]["memory"].lower() == f"{limits}i"
    pod = SERVED["StatefulSet"]["spec"]["template"]["spec"]
    user = pod["securityContext"]["runAsUser"]
    assert re.search(rf"^USER {user}:{user}$", DOCKERFILE, re.MULTILINE)
    assert SERVED["StatefulSet"]["spec"]["replicas"] == 1, "one process a file"
    assert [each["mountPath"] for each in container["volumeMounts"]] == re.findall(r"UNDERFED_DIR=(\S+)", DOCKERFILE)


def test_probes_ask_what_answers_without_a_token() -> None:
    container = service_process(SERVED["StatefulSet"])
    asked = {kind: container[kind]["httpGet"]["path"] for kind in ("startupProbe", "readinessProbe", "livenessProbe")}
    assert asked == {"startupProbe": "/healthz", "readinessProbe": "/readyz", "livenessProbe": "/healthz"}


def test_the_chart_has_the_version_of_the_package() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == underfed.__version__
    assert f"image: underfed:{underfed.__version__}" in (DEPLOY / "kubernetes" / "training-job.yaml").read_text()
    assert service_process(SERVED["StatefulSet"])["image"] == f"underfed:{underfed.__version__}"


def variables(containers: Iterable[dict[str, Any]]) -> dict[str, Any]:
    (container,) = containers
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container["env"]}


def test_a_pod_lays_the_agent_where_its_training_finds_it_and_says_what_it_is() -> None:
    (init,) = JOB["initContainers"]
    (mount,) = init["volumeMounts"]
    assert init["command"] == ["cp", "-R", f"{LAID}/.", mount["mountPath"]]
    assert f"cp -R underfed psutil pynvml.py {LAID}/" in DOCKERFILE
    assert f"COPY --from=installed {LAID} {LAID}" in DOCKERFILE
    said = variables(JOB["containers"])
    assert said["PYTHONPATH"] == f"{mount['mountPath']}/{SITE.relative_to(SITE.parents[2])}"
    assert said[launch.AUTOLOAD] == "1"
    assert said.keys() - {"PYTHONPATH"} <= OF_AGENT
    assert said["UNDERFED_POD"] == {"fieldRef": {"fieldPath": "metadata.name"}}


def test_the_training_runtime_of_the_chart_does_the_same() -> None:
    text = (CHART / "templates" / "trainingruntime.yaml").read_text()
    environment = dict(re.findall(r"- name: (\w+)\n +(value.*)$", text, re.MULTILINE))
    assert set(environment) == {"PYTHONPATH", *OF_AGENT}
    assert environment["PYTHONPATH"] == f"value: {variables(JOB['containers'])['PYTHONPATH']}"
    assert f"command: [cp, -R, {LAID}/., /underfed]" in text


def test_prometheus_takes_namespace_and_pod_for_the_trainings() -> None:
    assert "honorLabels: true" in (CHART / "templates" / "servicemonitor.yaml").read_text()


def test_the_manifests_are_what_helm_renders() -> None:
    comment = "".join(line for line in MANIFESTS.splitlines(keepends=True)[:2])
    assert comment.startswith("# ")
    assert objects(rendered("secrets.existing=underfed")) == SERVED


def test_on_postgresql_several_processes_start_without_a_volume_and_a_password_in_no_argument() -> None:
    url = "postgresql+psycopg://underfed@pg/underfed"
    found = objects(rendered(f"postgresql.url={url}", "proxyAddress=10.0.0.0/8", "publicUrl=https://u.example.org"))
    assert set(found) == {"Deployment", "Service", "NetworkPolicy", "Secret"}
    assert found["Deployment"]["spec"]["replicas"] == 2
    settings = read_settings(service_process(found["Deployment"])["args"], {})
    assert settings.database_url == url
    assert "PGPASSWORD" in {each["name"] for each in service_process(found["Deployment"])["env"]}
    assert len(found["Secret"]["data"]) == 2


def test_groups_of_the_proxy_are_the_file_that_the_service_reads(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    groups = {"vision team": {"vision": "edit", "shared data": "view"}, "platform": {"*": "admin"}}
    values.write_text(yaml.safe_dump({"proxyGroups": groups}))
    signed_in = ("proxyAddress=10.0.0.0/8", "proxyUserHeader=X-Forwarded-User", "proxyGroupsHeader=Remote-Groups")
    found = objects(rendered(*signed_in, values=values))
    container = service_process(found["StatefulSet"])
    (mount,) = [each for each in container["volumeMounts"] if each["name"] == "groups"]
    (volume,) = found["StatefulSet"]["spec"]["template"]["spec"]["volumes"]
    assert volume == {"name": "groups", "configMap": {"name": found["ConfigMap"]["metadata"]["name"]}}
    for name, text in found["ConfigMap"]["data"].items():
        (tmp_path / name).write_text(text)
    laid = [each.replace(mount["mountPath"], str(tmp_path)) for each in container["args"]]
    settings = read_settings(laid, {})
    assert settings.proxy_groups == read_proxy_groups(tmp_path / "groups.json")
    assert settings.proxy_groups["platform"] == {"*": "admin"}
    assert (settings.proxy_groups_header, settings.proxy_user_header) == ("Remote-Groups", "X-Forwarded-User")


def test_all_that_the_chart_can_render_is_yaml_of_the_right_kinds() -> None:
    found = objects(
        rendered("serviceMonitor.enabled=true", "trainingRuntime.enabled=true", "networkPolicy.enabled=false")
    )
    assert set(found) == {"StatefulSet", "Service", "Secret", "ServiceMonitor", "ClusterTrainingRuntime"}
    (job,) = found["ClusterTrainingRuntime"]["spec"]["template"]["spec"]["replicatedJobs"]
    assert variables(job["template"]["spec"]["template"]["spec"]["containers"]).keys() == {"PYTHONPATH", *OF_AGENT}
