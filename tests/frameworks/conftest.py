"""Starts a framework's program once for all of its tests, with a service that keeps what the agent told it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.fakes.environment import clean_environment
from tests.fakes.service import Service, running_service, wait_until
from tests.fakes.told import Told, agent_errors, names, told
from tests.frameworks.program import BARE, UNASKED, WATCHED

ROOT = Path(__file__).parents[2]
LONGEST_S = 500


@dataclass(frozen=True, slots=True)
class Ran:
    """What a framework's trainings saw, and what the service was told of them."""

    seen: dict[str, dict[str, Any]]
    service: Service

    def same(self, training: str) -> bool:
        """Whether it saw the same batches each time."""
        first, *others = (batches(self.seen[training][how]) for how in (BARE, WATCHED, UNASKED))
        return all(other == first for other in others)

    def recorded(self, training: str) -> list[Any]:
        """What it saw when it was recorded: watched, and unasked."""
        return [self.seen[training][how] for how in (WATCHED, UNASKED)]

    def told(self, training: str, loader: str) -> Told:
        """Of a loader that was watched under this name."""
        return told(self.service, f"{training}-{loader}", WATCHED)

    def unasked_all(self, training: str) -> list[Told]:
        """Of all its loaders, when nobody named any."""
        run_id = f"{UNASKED}-{training}"
        return [told(self.service, name, run_id) for name in names(self.service, run_id)]

    def unasked(self, training: str, data_set: str) -> Told:
        """Of the one over such a data set."""
        (one,) = [each for each in self.unasked_all(training) if each.facts["dataset_type"] == data_set]
        return one

    def both(self, training: str, loader: str, data_set: str) -> list[Told]:
        return [self.told(training, loader), self.unasked(training, data_set)]


def batches(seen: Any) -> Any:
    """Without the times."""
    if isinstance(seen, dict):
        return {name: batches(part) for name, part in seen.items() if name != "waits_s"}
    return [batches(part) for part in seen] if isinstance(seen, list) else seen


@pytest.fixture(scope="module")
def ran(request: pytest.FixtureRequest) -> Iterator[Ran]:
    """Of the test module that asks, which is its own program."""
    with running_service() as service, TemporaryDirectory(prefix="underfed-test-", dir="/dev/shm") as rings:
        job = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", f"tests.frameworks.{Path(request.path).stem}"],
            cwd=ROOT,
            env=clean_environment(
                UNDERFED_STRICT="1",
                UNDERFED_URL=service.url,
                UNDERFED_DIR=rings,
                UNDERFED_RINGS=rings,
                UNDERFED_LINGER_S="60",
                HF_HUB_OFFLINE="1",
                CUDA_VISIBLE_DEVICES="",
            ),
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
        assert job.returncode == 0, job.stderr
        seen = json.loads(job.stdout.splitlines()[-1])
        wait_until(lambda: len(service.ends()) == 1 + len(seen), "all ends arrive")
        assert agent_errors(service) == 0, [window["losses"] for window in service.windows]
        yield Ran(seen, service)
