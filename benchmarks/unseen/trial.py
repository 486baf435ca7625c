"""A service with a directory of its own, and a job trained against it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.unseen.truths import Unseen
from tests.app.serving import start_service

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(sys.executable).parent
TRAINING_LIMIT_S = 900
SERVICE_LIMIT_S = 90
UNCHANGED_S = 3.0
"""A diagnosis that stays the same for so long after the run's end is the last one."""


class RealService:
    """As long as the block lasts."""

    def __init__(self, folder: Path, project: str) -> None:
        self.folder = folder
        self.project = project

    @property
    def database(self) -> Path:
        return self.folder / "underfed.db"

    @property
    def environment(self) -> dict[str, str]:
        agent = {"UNDERFED_DIR": str(self.folder), "UNDERFED_URL": self.url, "UNDERFED_PROJECT": self.project}
        return {**os.environ, **agent, "PYTHONPATH": str(ROOT)}

    def __enter__(self) -> RealService:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.service = start_service(self.database)
        self.url = self.service.address
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.service.kill()

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.url}{path}", timeout=30) as answer:
            return json.load(answer)

    def finished_run(self) -> Any:
        """The newest run with all its loaders, once it has ended."""
        ends = time.monotonic() + SERVICE_LIMIT_S
        while time.monotonic() < ends:
            runs = self.get("/api/v1/runs")["runs"]
            if runs and runs[0]["status"] != "running":
                return self.get(f"/api/v1/runs/{runs[0]['run_id']}")
            time.sleep(0.5)
        raise TimeoutError(f"after the job's end its run was {runs[0]['status'] if runs else 'not there'}")

    def diagnosis(self, run_id: str) -> Any:
        """The run's last diagnosis."""
        ends = time.monotonic() + SERVICE_LIMIT_S
        last, since = None, time.monotonic()
        while time.monotonic() < ends:
            current = self.get(f"/api/v1/runs/{run_id}/diagnosis")
            if current != last:
                last, since = current, time.monotonic()
            elif current["status"] != "running" and time.monotonic() - since > UNCHANGED_S:
                return current
            time.sleep(0.5)
        raise TimeoutError(f"the last diagnosis is of a run that was {last and last['status']}")


@contextmanager
def service_of_its_own(project: str) -> Iterator[RealService]:
    """One that knows no other run, in a directory that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix=f"{project}-") as folder, RealService(Path(folder), project) as service:
        yield service


def command(job: Unseen, more: tuple[str, ...], data: Path) -> list[str]:
    module = ["-m", f"benchmarks.unseen.{job.program}", "--data", str(data), *job.arguments, *more]
    if job.ranks == 1:
        return [sys.executable, *module]
    return [str(SCRIPTS / "torchrun"), "--standalone", "--nproc-per-node", str(job.ranks), *module]


def train(job: Unseen, more: tuple[str, ...], *, data: Path, service: RealService) -> dict[str, Any]:
    """What the job printed about its training loop."""
    data.mkdir(parents=True, exist_ok=True)
    return printed_by(recorded(job.name, command(job, more, data), service=service))


def recorded(name: str, command: Sequence[str], *, service: RealService, **environment: str) -> str:
    """Run the command under the agent; return what it wrote to standard output."""
    ended = subprocess.run(
        [SCRIPTS / "underfed", "run", "--name", name, "--", *command],
        env={**service.environment, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TRAINING_LIMIT_S,
        check=False,
    )
    if ended.returncode != 0:
        raise RuntimeError(f"{name} ended with {ended.returncode}: {ended.stderr}")
    return ended.stdout


def printed_by(output: str) -> dict[str, Any]:
    """What ``Loop.report`` printed."""
    lines = [line for line in output.splitlines() if line.startswith('{"training_loop"')]
    if not lines:
        raise RuntimeError(f"the job printed nothing about its loop: {output}")
    printed: dict[str, Any] = json.loads(lines[-1])["training_loop"]
    return printed


def speed_of(printed: dict[str, Any]) -> float:
    """Steps a second after warm-up, pauses and validations among them; of a very short run all its steps."""
    return float(printed["steady_steps_per_s"] or printed["steps"] / printed["wall_s"])
