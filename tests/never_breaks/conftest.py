"""The same rules as for the agent's own tests: a recording leaves nothing behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.agent.conftest import any_service, forking_interpreter, guest, run_id, service, started_collectors
from tests.fakes.service import Service
from underfed.exchange import launch

__all__ = [
    "absent_service",
    "any_service",
    "forked_collectors",
    "forking_interpreter",
    "go_on",
    "guest",
    "rings",
    "run_id",
    "service",
    "short_linger",
    "started_collectors",
]


@pytest.fixture
def forked_collectors(guest: None, forking_interpreter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the agent's own tests, where it is asked for: where a collector's process itself is not what is harmed,
    and its host is none of its own."""
    monkeypatch.setenv(launch.COLLECTOR, forking_interpreter)


@pytest.fixture(autouse=True)
def bursts_always(guest: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """All the time it is looked what workers execute."""
    monkeypatch.setenv("UNDERFED_STACKS", "always")


@pytest.fixture
def short_linger(guest: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a job whose collector cannot use its service: the collector soon ends."""
    monkeypatch.setenv("UNDERFED_LINGER_S", "0.2")


@pytest.fixture
def absent_service(service: Service, short_linger: None) -> Service:
    """A service that the test starts later."""
    service.stop()
    return service


@pytest.fixture
def go_on(tmp_path: Path) -> Path:
    """A file that a job waits for in its middle: what a test does to it meanwhile finds it there, however late its
    collector has begun."""
    return tmp_path / "go on"


@pytest.fixture
def rings(guest: None) -> Path:
    """Where this test's rings are."""
    return Path(os.environ["UNDERFED_RINGS"])
