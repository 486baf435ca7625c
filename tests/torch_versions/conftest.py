"""One training job a release; the tests look at what it printed and at what the agent sent the service."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

import pytest

from tests.agent.conftest import forking_interpreter
from tests.fakes.forkserver import start
from tests.fakes.jobs import environment
from tests.fakes.service import Service, running_service, wait_until
from tests.torch_versions.record import RECORDED, record, recorded_releases
from tests.torch_versions.wheels import newest_release
from underfed.exchange import launch

__all__ = ["forking_interpreter", "run", "sources"]

NEWEST = "newest"
"""As the package index has it."""

Drawn = dict[str, list[Any]]
"""By the loader's name."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a job printed, and by the loader's name what the service received of it."""

    bare: Drawn
    watched: Drawn
    after: Drawn
    left: list[str]
    is_served: bool
    steps: dict[str, int]
    batches: dict[str, int]
    pinned: dict[str, int]
    """Batches whose copying into page-locked memory was timed."""
    not_measured: dict[str, dict[str, str]]
    failures: int


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Makes a directory with ``torch/utils/data`` of a release."""

    def unpack(release: str) -> Path:
        directory = tmp_path_factory.mktemp(f"torch-{release}-")
        archive = RECORDED / f"{release}.zip"
        if release == NEWEST:
            archive = directory / "newest.zip"
            record(newest_release(), archive)
        with ZipFile(archive) as opened:
            opened.extractall(directory)
        return directory

    return unpack


ALWAYS = ("2.1.2", "2.15.0")
"""The oldest that is supported, and the newest that was recorded."""

RELEASES = [
    release if release in ALWAYS else pytest.param(release, marks=pytest.mark.soak)
    for release in (*recorded_releases(), NEWEST)
]


@pytest.fixture(scope="session", params=RELEASES)
def run(request: pytest.FixtureRequest, sources: Callable[[str], Path], forking_interpreter: str) -> Run:
    return run_on(sources(request.param), forking_interpreter)


def run_on(root: Path, collectors: str, *loaders: str) -> Run:
    """Draw from these loaders (from all, where none is named) on the sources in ``root``. ``collectors``: as the
    fixture ``forking_interpreter`` has it."""
    with running_service() as service, TemporaryDirectory(prefix="underfed-test-", dir="/dev/shm") as rings:
        variables = environment(
            **{launch.COLLECTOR: collectors},
            TORCH_DATA_SOURCES=str(root),
            UNDERFED_DIR=rings,
            UNDERFED_RINGS=rings,
            UNDERFED_URL=service.url,
            UNDERFED_LINGER_S="60",
            UNDERFED_STRICT="1",
        )
        job = start("tests.torch_versions.job", loaders, variables)
        output, errors = job.communicate()
        assert job.returncode == 0, errors
        printed = json.loads(output.splitlines()[-1])
        wait_until(service.ends, "the end arrives")
    names = printed["watched"]
    return Run(
        **printed,
        steps={name: service.count_steps(name) for name in names},
        batches={name: count_batches(service, name, "load_us") for name in names},
        pinned={name: count_batches(service, name, "pin_us") for name in names},
        not_measured={name: reasons(service, name) for name in names},
        failures=sum(window["losses"]["agent_errors"] for window in service.windows),
    )


def count_batches(service: Service, loader: str, fact: str) -> int:
    """Those of which it was measured."""
    columns = [batches.get(fact) or [] for batches in service.batches() if batches["loader"] == loader]
    return sum(value is not None for column in columns for value in column)


def reasons(service: Service, loader: str) -> dict[str, str]:
    """What the newest facts of the loader call not measured."""
    not_measured: dict[str, str] = service.loaders()[loader]["not_measured"]
    return not_measured
