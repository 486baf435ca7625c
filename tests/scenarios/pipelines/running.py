"""Runs a pipeline against a service, and waits for its verdict."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path
from urllib.request import Request, urlopen

from tests.app.serving import judged
from tests.fakes.environment import clean_environment
from tests.scenarios.pipelines.pipeline import Strength, Windows, pipeline
from underfed_server.model import Diagnosis
from underfed_server.terminal.client import Client

ROOT = Path(__file__).parents[3]
PACKAGE = __package__
TIMEOUT_S = 120


def diagnose(name: str, strength: Strength, *, address: str, directory: Path) -> Diagnosis:
    """The final diagnosis of one run of the pipeline; its spool lies in ``directory``.

    Raises:
        CalledProcessError: the job failed.
    """
    chosen = pipeline(name)
    run_id = f"{name.partition('.')[2]}-{strength}-{uuid.uuid4().hex[:8]}".replace("_", "-")
    if chosen.windows is not None:
        _post(chosen.windows, strength, run_id, address)
    else:
        _train(name, chosen.ranks, strength, run_id, address, directory)
    return judged(Client(address), run_id)


def _train(name: str, ranks: int, strength: Strength, run_id: str, address: str, directory: Path) -> None:
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"] if ranks > 1 else []
    environment = clean_environment(
        PYTHONPATH=str(ROOT),
        UNDERFED_URL=address,
        UNDERFED_DIR=str(directory),
        UNDERFED_NAME=name,
        UNDERFED_RUN_ID=run_id,
    )
    command = [sys.executable, *launcher, "-m", PACKAGE, name, strength]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, timeout=TIMEOUT_S)


def _post(windows: Windows, strength: Strength, run_id: str, address: str) -> None:
    for window in windows(strength, run_id):
        body = json.dumps(window).encode()
        with urlopen(Request(f"{address}/api/v1/ingest", body, {"Content-Type": "application/json"})):
            pass
