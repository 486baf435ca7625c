"""Each test records into directories of its own, strictly, and leaves neither hook nor process nor ring behind."""

from __future__ import annotations

import os
import shutil
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import numpy.random  # noqa: F401  # torch seeds it in each worker, which imports it if this process has not
import pytest

import underfed
from tests.fakes.ready_collectors import ready_collectors
from tests.fakes.service import Service, running_service
from tests.fakes.traces import patched_attributes, wait_for_collectors
from underfed.exchange import launch
from underfed.trainer import control
from underfed.trainer.collector_process import package_paths


@pytest.fixture(scope="session")
def any_service() -> Iterator[Service]:
    """For tests that do not look at what arrives: with a service, a collector ends at once."""
    with running_service() as service:
        yield service


@pytest.fixture
def service(guest: None, run_id: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """The service that this test's recordings are sent to."""
    with running_service() as service:
        monkeypatch.setenv("UNDERFED_URL", service.url)
        yield service
        underfed.finish()
        # Without it a collector would go on trying.
        wait_for_collectors(run_id)


@pytest.fixture
def run_id() -> str:
    """Of the recording that this test makes, if it makes one."""
    return f"test-{uuid.uuid4().hex[:12]}"


@pytest.fixture(autouse=True)
def guest(run_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, any_service: Service) -> Iterator[None]:
    """The environment of a test, and what it must look like afterwards."""
    for name in [name for name in os.environ if name.startswith("UNDERFED_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("UNDERFED_STRICT", "1")
    monkeypatch.setenv("UNDERFED_RUN_ID", run_id)
    monkeypatch.setenv("UNDERFED_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("UNDERFED_URL", any_service.url)
    # A collector ends as soon as all was sent, however long that takes where others have the cores.
    monkeypatch.setenv("UNDERFED_LINGER_S", "60")
    # In memory, as in use, but where no other run of this user's is.
    rings = Path("/dev/shm") / run_id
    rings.mkdir(mode=0o700)
    monkeypatch.setenv("UNDERFED_RINGS", str(rings))
    # And again afterwards, whatever the test did.
    monkeypatch.setattr(control._state, "watches_all", False)
    monkeypatch.setattr(control._state, "overrides", None)
    yield
    underfed.finish()
    assert sys.exc_info()[1] is None, "it would be the context of all that later tests raise"
    assert patched_attributes() == []
    if any(rings.iterdir()):  # else nothing was recorded there, and no process has to be looked for
        wait_for_collectors(run_id)
    left = [str(path) for run in rings.glob("*/*") if run.is_dir() for path in (run, *run.rglob("*"))]
    shutil.rmtree(rings)
    assert left == []


@pytest.fixture(autouse=True)
def unread_source(guest: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """To parse a test's file for the call that constructs a loader is a third of what a collector costs here."""
    monkeypatch.setenv("UNDERFED_SEND_SOURCE", "0")


@pytest.fixture
def read_source(unread_source: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in use: the call that constructs a loader is sent."""
    monkeypatch.delenv("UNDERFED_SEND_SOURCE")


@pytest.fixture(scope="session")
def forking_interpreter() -> Iterator[str]:
    """The value of the variable that has collectors forked, not started."""
    places = package_paths()
    with ready_collectors(places) as interpreter:
        yield os.pathsep.join([interpreter, *places])


@pytest.fixture(autouse=True)
def forked_collectors(guest: None, forking_interpreter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To start Python and import is most of what a collector costs here. Not below ``underfed run``, and in
    ``tests/never_breaks`` only where it is asked for.
    """
    monkeypatch.setenv(launch.COLLECTOR, forking_interpreter)


@pytest.fixture
def started_collectors(forked_collectors: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in use: for tests that find or stop the collector's process."""
    monkeypatch.delenv(launch.COLLECTOR)


EAGER = """#!/bin/sh
# Called with: -I -S -c PROGRAM DIRECTORY PLACES
program="import sys; sys.path += sys.argv[2:]
from underfed.collector.sampling import samples
samples.MEASURING_SHARE = 0
$4"
shift 4
exec {python} -I -S -c "$program" "$@"
"""


@pytest.fixture
def eager_collector(forked_collectors: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Collectors take a costly sample each second, where others wait until all of these are 0.05 % of a core: a minute
    and more on a busy machine.
    """
    interpreter = tmp_path / "eager"
    interpreter.write_text(EAGER.format(python=sys.executable))
    interpreter.chmod(0o755)
    monkeypatch.setenv(launch.COLLECTOR, os.pathsep.join([str(interpreter), *package_paths()]))
