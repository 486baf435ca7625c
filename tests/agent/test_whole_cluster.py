"""An agent that a cluster lays beside a training: nothing installed, no `underfed run`, no line changed."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.agent.test_autoload import STAND_IN, packages
from tests.agent.test_scheduled import POD_TEMPLATE, SBATCH
from tests.fakes.jobs import ROOT
from tests.fakes.service import Service, wait_until
from tests.programs import program
from underfed.collector.sampling.traffic import NO_PSUTIL
from underfed.exchange import launch
from underfed.launcher.autoload import DATALOADER
from underfed.launcher.run import SITE

__all__ = ["packages"]

SCRIPT = """
import torch
from torch.utils.data import DataLoader, TensorDataset
import torch.utils.data.dataloader as module
loader = DataLoader(TensorDataset(torch.arange(80)), batch_size=4)
print(sum(int(batch.sum()) for _ in range(2) for (batch,) in loader))
"""
SLURM = ROOT / "deploy" / "slurm"
FITS_NOWHERE = "raise ImportError('_psutil_linux.abi3.so: Error loading shared library libc.so.6')\n"


@pytest.fixture
def laid(tmp_path: Path) -> Iterator[Path]:
    """The agent as an init container copies it, with a psutil for another C library beside it."""
    shutil.copytree(SITE.parents[1], tmp_path / "laid/underfed", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "laid/psutil").mkdir()
    (tmp_path / "laid/psutil/__init__.py").write_text(FITS_NOWHERE)
    pynvml = find_spec("pynvml")
    assert pynvml is not None
    assert pynvml.origin is not None
    shutil.copy(pynvml.origin, tmp_path / "laid/pynvml.py")
    yield tmp_path / "laid"


def site_of(laid: Path) -> str:
    return str(laid / "underfed/launcher/site")


def run(script: str, path: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": path, launch.COLLECTOR: "", **variables}
    return subprocess.run(
        [sys.executable, "-c", script], env=environ, cwd="/", capture_output=True, text=True, check=False, timeout=300
    )


def exported(script: str, **variables: str) -> dict[str, str]:
    """What SLURM sets for the task: each line that its TaskProlog prints as ``export NAME=value`` (slurm.conf(5))."""
    environ = {"PATH": "/usr/bin:/bin", **variables}
    done = subprocess.run([SLURM / script], env=environ, capture_output=True, text=True, check=True)
    lines = [line.removeprefix("export ") for line in done.stdout.splitlines() if line.startswith("export ")]
    return dict(line.split("=", 1) for line in lines)


def test_the_task_prolog_sets_what_records_a_task_and_leaves_what_a_user_set(laid: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t0ken-of-the-cluster\n")
    cluster = {"UNDERFED_AGENT": str(laid), "UNDERFED_TOKEN_FILE": str(tmp_path / "token"), **SBATCH}
    assert exported("task_prolog.sh", **cluster, SLURM_JOB_ACCOUNT="vision", PYTHONPATH="/home/ada/lib") == {
        "PYTHONPATH": f"{site_of(laid)}:/home/ada/lib",
        "UNDERFED_AUTOLOAD": "1",
        "UNDERFED_URL": "http://underfed.example.org:7077",
        "UNDERFED_TOKEN": "t0ken-of-the-cluster",
        "UNDERFED_PROJECT": "vision",
        "UNDERFED_NAME": "train",
    }
    own = {"UNDERFED_URL": "http://own", "UNDERFED_TOKEN": "own", "UNDERFED_PROJECT": "own", "UNDERFED_NAME": "own"}
    assert exported("task_prolog.sh", **cluster, **own, SLURM_JOB_ACCOUNT="vision") == {
        "PYTHONPATH": site_of(laid), "UNDERFED_AUTOLOAD": "1", "UNDERFED_URL": "http://own",
    }  # fmt: skip
    assert exported("task_prolog.sh", **cluster, UNDERFED_DISABLED="1") == {}
    assert exported("task_prolog.sh", **cluster | {"UNDERFED_AGENT": str(tmp_path / "not mounted")}) == {}


@pytest.mark.parametrize(
    ("says", "job", "expected"),
    [
        (
            "echo 'data-bound: 43% lost; run r1'",
            "4711",
            ["--immediate modify job where jobid=4711 set AdminComment=underfed: data-bound: 43% lost; run r1"],
        ),
        ("exit 1", "4711", []),
        ("true", "4711", []),
        ("echo never", "", []),
    ],
)
def test_the_epilog_puts_the_verdict_on_a_jobs_run_into_its_comment(
    says: str, job: str, expected: list[str], tmp_path: Path
) -> None:
    for name, text in {
        "underfed": f'echo "$@" > {tmp_path}/asked; sleep 0.2; {says}',
        "sacctmgr": f'echo "$@" >> {tmp_path}/noted',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "UNDERFED_COMMAND": str(tmp_path / "underfed"), "SLURM_JOB_ID": job}
    # The part that goes on apart from the controller holds this pipe no longer than it runs.
    held, other = os.pipe()
    epilog = subprocess.Popen([SLURM / "epilog_slurmctld.sh"], env=environ, pass_fds=[other], start_new_session=True)
    os.close(other)
    assert epilog.wait(60) == 0
    # As SLURM's controller does once the script has ended.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(epilog.pid, signal.SIGKILL)
    with os.fdopen(held) as until_it_ends:
        until_it_ends.read()
    noted = tmp_path / "noted"
    assert (noted.read_text().splitlines() if noted.exists() else []) == expected
    if job:
        assert (tmp_path / "asked").read_text() == "show slurm:4711 --line\n"


def test_the_scripts_for_slurm_are_those_of_every_shell() -> None:
    scripts = sorted(SLURM.iterdir())
    done = subprocess.run([program("shellcheck"), *scripts], capture_output=True, text=True, check=False)
    assert (done.returncode, len(scripts)) == (0, 3), done.stdout


def test_an_unchanged_script_is_recorded_with_its_job_by_an_agent_whose_psutil_fits_nowhere(
    laid: Path, service: Service
) -> None:
    variables = exported("task_prolog.sh", UNDERFED_AGENT=str(laid), UNDERFED_URL=service.url, **SBATCH)
    done = run(SCRIPT, variables.pop("PYTHONPATH"), **variables, **SBATCH, **POD_TEMPLATE)
    assert (done.returncode, done.stdout) == (0, "6320\n"), done.stderr
    wait_until(lambda: any("end" in window for window in service.windows), "it has ended")
    assert sum(len(steps["step_us"]) for window in service.windows for steps in window.get("steps", [])) == 40
    (facts,) = (window["run"] for window in service.windows if "run" in window)
    assert facts["started_by"] == "autoload"
    named = {name: facts[name] for name in ("slurm_job_id", "namespace", "pod", "train_job", "queue")}
    assert named == {
        "slurm_job_id": "4711", "namespace": "team-a", "pod": "llama-node-0-1-x7", "train_job": "llama",
        "queue": "research",
    }  # fmt: skip
    assert facts["host"]["memory_total_bytes"] > 0
    assert facts["not_measured"]["disks"] == facts["not_measured"]["networks"] == NO_PSUTIL


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"UNDERFED_AUTOLOAD": "1"}, ["attached to DataLoader", "done"]),
        ({"UNDERFED_AUTOLOAD": "1", "UNDERFED_DISABLED": "1"}, ["done"]),
        ({"UNDERFED_AUTOLOAD": "0"}, ["done"]),
        ({}, ["done"]),
    ],
)
def test_only_what_the_cluster_switches_on_is_hooked(
    packages: Path,
    variables: dict[str, str],
    expected: list[str],
) -> None:
    path = os.pathsep.join(map(str, (SITE, ROOT, packages)))
    done = run(STAND_IN + f"import {DATALOADER}\nprint('done')", path, **variables)
    assert done.stdout.splitlines() == expected, done.stderr


def test_a_users_own_launcher_on_such_a_cluster_is_the_one_that_counts(
    laid: Path,
    packages: Path,
    tmp_path: Path,
) -> None:
    (tmp_path / "launch").mkdir()
    path = os.pathsep.join([str(SITE), site_of(laid), str(packages)])
    said = f"""
import sys, {DATALOADER}
print([type(finder).__name__ for finder in sys.meta_path].count("Finder"))
import underfed; print(underfed.__file__)
"""
    done = run(STAND_IN + said, path, UNDERFED_AUTOLOAD="1", UNDERFED_LAUNCH=str(tmp_path / "launch"))
    attached, armed, own = done.stdout.splitlines()
    assert attached == "attached to DataLoader"
    assert armed == "1"
    assert Path(own).parent == SITE.parents[1]
