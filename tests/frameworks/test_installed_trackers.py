"""Figures in the own files of W&B, MLflow and TensorBoard: fetched for it, since they are too heavy for every test."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.launching import run_under
from tests.fakes.service import Service, judging_after, running_service, wait_until
from tests.frameworks.fetched import python_with
from tests.soak.trying import ROOT

TRACKERS = ("wandb", "mlflow", "tensorboard")
VERDICT = {"bound": "data", "level": "bound", "cause": "no_workers", "max_data_stall_fraction": 0.5}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of an environment with the trackers, and behind them with what this one has."""
    return python_with(*TRACKERS, place=tmp_path_factory.mktemp("trackers"))


def variables_of(service: Service, tmp_path: Path) -> dict[str, str]:
    places = {"UNDERFED_URL": service.url, "UNDERFED_DIR": str(tmp_path), "UNDERFED_RINGS": str(tmp_path)}
    quick = {"WANDB_SILENT": "true", "WANDB_X_STATS_SAMPLING_INTERVAL": "3", "CUDA_VISIBLE_DEVICES": ""}
    return {**places, **quick, "UNDERFED_STRICT": "1"}


def read_back(program: list[str]) -> dict[str, Any]:
    read = subprocess.run([*program, "read"], cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(read.stdout.splitlines()[-1])
    return found


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_the_trackers_have_the_figures_that_a_clock_in_the_training_has(python: str, tmp_path: Path) -> None:
    logged = tmp_path / "logged"
    logged.mkdir()
    program = [python, "-m", "tests.frameworks.installed_trackers", str(logged)]
    with running_service() as service:
        service.verdict = VERDICT
        done = run_under("--", *program, variables=variables_of(service, tmp_path))
        assert done.returncode == 0, done.stderr
        run_id = service.windows[0]["run_id"]
        sent = [window["run"]["trackers"] for window in service.windows if "trackers" in window.get("run", {})]
    # The process that logs to MLflow imports it meanwhile, and comes last where others have the cores.
    wait_until(lambda: "underfed.cause" in read_back(program)["mlflow"], "MLflow's run has the verdict")
    found = read_back(program)
    own = found["own"]
    page = f"{service.url}/runs/{run_id}"
    wandb, mlflow, tensorboard = (found[name] for name in TRACKERS)
    assert wandb["openmetrics.underfed.data_stall_fraction.0"] == pytest.approx(own, abs=0.05)
    assert mlflow["system/underfed/data_stall_fraction"] == pytest.approx(own, abs=0.05)
    assert tensorboard["underfed/data_stall_fraction"] == pytest.approx(own, abs=0.05)
    for words, beginning in ((wandb, "underfed/"), (mlflow, "underfed."), (tensorboard, "underfed/")):
        assert {name: words[beginning + name] for name in ("page", "bound", "cause")} == {
            "page": page,
            "bound": "data",
            "cause": "no_workers",
        }
    assert [each["tracker"] for each in sent[-1]] == list(TRACKERS)


@pytest.mark.soak
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize(("steps", "bound"), [(120, "data"), (12, "not judged: 12 of 25 steps")])
def test_a_short_training_that_ends_its_runs_itself_leaves_the_verdict_in_them(
    steps: int, bound: str, python: str, tmp_path: Path
) -> None:
    """The service judges once all steps are there: after that nothing comes by itself before the runs are ended."""
    logged = tmp_path / "logged"
    logged.mkdir()
    program = [python, "-m", "tests.frameworks.installed_trackers", str(logged)]
    with running_service() as service, judging_after(service, steps, VERDICT if bound == "data" else {}):
        done = run_under("--", *program, str(steps), variables=variables_of(service, tmp_path))
        assert done.returncode == 0, done.stderr
    wait_until(lambda: "underfed.bound" in read_back(program)["mlflow"], "MLflow's run has the verdict")
    found = read_back(program)
    assert found["wandb"]["underfed/bound"] == bound
    assert found["mlflow"]["underfed.bound"] == bound
    assert found["tensorboard"]["underfed/bound"] == bound
