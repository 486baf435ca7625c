"""Runs a pipeline against a service, and waits for its verdict."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tests.app.serving import judged
from tests.fakes.environment import clean_environment
from tests.scenarios.pipelines.pipeline import Strength, pipeline
from underfed_server.model import Diagnosis
from underfed_server.terminal.client import Client

ROOT = Path(__file__).parents[3]
PACKAGE = __package__
TIMEOUT_S = 120


def diagnose(name: str, strength: Strength, *, address: str, directory: Path) -> Diagnosis:
    """The final diagnosis of one run of the pipeline; its spool is in ``directory``.

    Raises:
        CalledProcessError: the job failed.
    """
    run_id = f"{run_name(name, strength)}-{uuid.uuid4().hex[:8]}"
    synthesise = pipeline(name).windows
    if synthesise is not None:
        post(synthesise(strength, run_id), address)
    else:
        train(name, strength, run_id, address=address, directory=directory)
    return judged(Client(address), run_id)


def run_name(name: str, strength: Strength) -> str:
    """In characters that a run id may have."""
    return f"{name.partition('.')[2]}-{strength}".replace("_", "-")


def train(name: str, strength: Strength, run_id: str, *, address: str, directory: Path) -> None:
    ranks = pipeline(name).ranks
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"] if ranks > 1 else []
    environment = clean_environment(
        PYTHONPATH=str(ROOT),
        UNDERFED_URL=address,
        UNDERFED_DIR=str(directory),
        UNDERFED_NAME=name,
        UNDERFED_RUN_ID=run_id,
        UNDERFED_PROFILE="1" if pipeline(name).is_profiled else "0",
    )
    command = [sys.executable, *launcher, "-m", PACKAGE, name, strength]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, timeout=TIMEOUT_S)


def post(windows: Iterable[Mapping[str, Any]], address: str) -> None:
    for window in windows:
        body = json.dumps(window).encode()
        with urlopen(Request(f"{address}/api/v1/ingest", body, {"Content-Type": "application/json"})):
            pass
