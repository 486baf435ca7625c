"""Pages of docs/frameworks whose program needs no framework; the others' are run by those frameworks' tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.listening import free_port
from tests.fakes.environment import clean_environment
from tests.fakes.forkserver import start
from tests.fakes.received import agent_errors, names, received
from tests.fakes.service import Service, running_service, wait_until
from tests.frameworks.pages import FOLDER, STEPS


@pytest.fixture
def service() -> Iterator[Service]:
    with running_service() as service:
        yield service


def run(page: str, service: Service, place: Path, ranks: int) -> None:
    """Each rank in a process of its own, as ``underfed run`` and torchrun start them."""
    settings = {"UNDERFED_STRICT": "1", "UNDERFED_URL": service.url, "UNDERFED_RUN_ID": page}
    places = dict.fromkeys(("UNDERFED_DIR", "UNDERFED_RINGS"), str(place))
    launched = {"WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks)}
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    jobs = []
    for rank in range(ranks):
        placement = {**launched, **meeting, "RANK": str(rank), "LOCAL_RANK": str(rank)} if ranks > 1 else {}
        variables = clean_environment(**settings, **places, **placement)
        jobs.append(start("tests.frameworks.pages", [page], variables))
    for job in jobs:
        errors = job.communicate()[1]
        assert job.returncode == 0, errors
    wait_until(lambda: len(service.ends()) == ranks, "all ends arrive")
    assert agent_errors(service) == 0


def test_each_page_has_a_program_and_its_steps() -> None:
    assert {page.stem for page in FOLDER.glob("*.md")} == STEPS.keys()


def test_the_page_of_pytorch(service: Service, tmp_path: Path) -> None:
    run("pytorch", service, tmp_path, ranks=1)
    assert sum(len(received(service, name).steps) for name in names(service)) == STEPS["pytorch"]


def test_the_page_of_torchrun(service: Service, tmp_path: Path) -> None:
    run("torchrun", service, tmp_path, ranks=2)
    for rank in range(2):
        assert sum(len(part["data_wait_us"]) for part in service.steps(rank=rank)) == STEPS["torchrun"]
