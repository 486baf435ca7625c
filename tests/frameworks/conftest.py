"""Starts a framework's program once for all of its tests, with a service that keeps what the agent sent. It is looked
all the time what workers execute."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.agent.conftest import forking_interpreter
from tests.fakes.environment import clean_environment
from tests.fakes.forkserver import start
from tests.fakes.received import Received, agent_errors, names, received
from tests.fakes.service import Service, running_service, wait_until
from tests.frameworks.program import AUTOMATIC, BARE, LOGGED, PAGE, WATCHED
from underfed.exchange import launch

__all__ = ["forking_interpreter", "ran"]

LONGEST_S = 500


@dataclass(frozen=True, slots=True)
class Ran:
    """What a framework's trainings saw, and what the service received of them."""

    seen: dict[str, dict[str, Any]]
    service: Service

    def same(self, training: str) -> bool:
        """Whether it saw the same batches each time."""
        first, *others = (batches(self.seen[training][how]) for how in (BARE, WATCHED, AUTOMATIC))
        return all(other == first for other in others)

    def recorded(self, training: str) -> list[Any]:
        """What it saw when it was recorded: with ``watch()``, and automatically."""
        return [self.seen[training][how] for how in (WATCHED, AUTOMATIC)]

    def received(self, training: str, loader: str) -> Received:
        """What arrived of a loader that was watched under this name."""
        return received(self.service, f"{training}-{loader}", WATCHED)

    def automatic_all(self, training: str) -> list[Received]:
        """What arrived of all its loaders when they were recorded automatically."""
        run_id = f"{AUTOMATIC}-{training}"
        return [received(self.service, name, run_id) for name in names(self.service, run_id)]

    def automatic(self, training: str, data_set: str) -> Received:
        """What arrived of its loader over a data set of this type, recorded automatically."""
        (one,) = [each for each in self.automatic_all(training) if each.facts["dataset_type"] == data_set]
        return one

    def steps_of_page(self) -> int:
        """How many arrived of the program on the framework's page in docs/frameworks."""
        return sum(len(each.steps) for each in self.automatic_all(PAGE))

    def logged(self) -> list[dict[str, Any]]:
        """What the framework's own logger stored."""
        stored: list[dict[str, Any]] = self.seen[LOGGED][AUTOMATIC]
        return stored

    def both(self, training: str, loader: str, data_set: str) -> list[Received]:
        return [self.received(training, loader), self.automatic(training, data_set)]


def batches(seen: Any) -> Any:
    """Without the times."""
    if isinstance(seen, dict):
        return {name: batches(part) for name, part in seen.items() if name != "waits_s"}
    return [batches(part) for part in seen] if isinstance(seen, list) else seen


@pytest.fixture(scope="module", params=["0", pytest.param("1", marks=pytest.mark.soak(passes=1, of=2))])
def ran(request: pytest.FixtureRequest, forking_interpreter: str) -> Iterator[Ran]:
    """The results of the test module, which is its own program. With ``--soak`` it is profiled."""
    with running_service() as service, TemporaryDirectory(prefix="underfed-test-", dir="/dev/shm") as rings:
        variables = clean_environment(
            **{launch.COLLECTOR: forking_interpreter},
            UNDERFED_STRICT="1",
            UNDERFED_URL=service.url,
            UNDERFED_DIR=rings,
            UNDERFED_RINGS=rings,
            UNDERFED_LINGER_S="60",
            UNDERFED_STACKS="always",
            UNDERFED_PROFILE=request.param,
            HF_HUB_OFFLINE="1",
            CUDA_VISIBLE_DEVICES="",
        )
        job = start(f"tests.frameworks.{Path(request.path).stem}", [], variables)
        output, errors = job.communicate(LONGEST_S)
        assert job.returncode == 0, errors
        seen = json.loads(output.splitlines()[-1])
        wait_until(lambda: len(service.ends()) == 1 + len(seen), "all ends arrive")
        assert agent_errors(service) == 0, [window["losses"] for window in service.windows]
        yield Ran(seen, service)
