"""A real service for all scenarios, and a way to run a job and get its final diagnosis."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.app.serving import Service, judged, start_service
from tests.fakes.environment import clean_environment
from tests.fakes.short_predictions import short_predictions
from tests.scenarios.pipelines.pipeline import Strength
from tests.scenarios.pipelines.running import ROOT, diagnose
from underfed_server.model import Diagnosis
from underfed_server.terminal.client import Client

RunJob = Callable[..., Diagnosis]
RunPipeline = Callable[[str, Strength], Diagnosis]


@pytest.fixture(scope="package", autouse=True)
def _short_predictions() -> Iterator[None]:
    """What causes are named does not depend on them; how near they come is tried in ``tests/recorded_runs``."""
    with short_predictions():
        yield


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    served = start_service(tmp_path_factory.mktemp("scenarios") / "underfed.db")
    yield served
    served.kill()


@pytest.fixture
def run_job(service: Service, tmp_path: Path, request: pytest.FixtureRequest) -> RunJob:
    """``run_job(num_workers=2, load_sleep_ms=30)``: the diagnosis of the job once it ended and was judged."""
    client = Client(service.address)

    def run(**options: float | Path) -> Diagnosis:
        run_id = f"scenario-{uuid.uuid4().hex[:8]}"
        flags = [text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", str(value))]
        environment = clean_environment(
            UNDERFED_URL=service.address,
            UNDERFED_DIR=str(tmp_path),
            UNDERFED_NAME=request.node.name,
            UNDERFED_RUN_ID=run_id,
        )
        subprocess.run(
            [sys.executable, "-m", "tests.scenarios.job", *flags], cwd=ROOT, env=environment, check=True, timeout=120
        )
        return judged(client, run_id)

    return run


@pytest.fixture
def run_pipeline(service: Service, tmp_path: Path) -> RunPipeline:
    """``run_pipeline("sick.slow_collate", "clear")``: the diagnosis of that job once it ended and was judged."""
    return partial(diagnose, address=service.address, directory=tmp_path)
