"""A service with a directory of its own, and a job trained against it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
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

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def environment(self) -> dict[str, str]:
        agent = {"UNDERFED_DIR": str(self.folder), "UNDERFED_URL": self.url, "UNDERFED_PROJECT": "unseen"}
        return {**os.environ, **agent, "PYTHONPATH": str(ROOT)}

    def __enter__(self) -> RealService:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.service = start_service(self.folder / "underfed.db")
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


def command(job: Unseen, more: tuple[str, ...], data: Path) -> list[str]:
    module = ["-m", f"benchmarks.unseen.{job.program}", "--data", str(data), *job.arguments, *more]
    if job.ranks == 1:
        return [sys.executable, *module]
    return [str(SCRIPTS / "torchrun"), "--standalone", "--nproc-per-node", str(job.ranks), *module]


def train(job: Unseen, more: tuple[str, ...], *, data: Path, service: RealService) -> dict[str, Any]:
    """What the job printed about its training loop."""
    data.mkdir(parents=True, exist_ok=True)
    ended = subprocess.run(
        [SCRIPTS / "underfed", "run", "--name", job.name, "--", *command(job, more, data)],
        env=service.environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TRAINING_LIMIT_S,
        check=False,
    )
    lines = [line for line in ended.stdout.splitlines() if line.startswith('{"training_loop"')]
    if ended.returncode != 0 or not lines:
        raise RuntimeError(f"{job.name} ended with {ended.returncode}: {ended.stderr}")
    printed: dict[str, Any] = json.loads(lines[-1])["training_loop"]
    return printed


def speed_of(printed: dict[str, Any]) -> float:
    """Steps a second after warm-up, pauses and validations among them; of a very short run all its steps."""
    return float(printed["steady_steps_per_s"] or printed["steps"] / printed["wall_s"])
