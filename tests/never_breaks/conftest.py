"""The same house rules as for the agent's own tests: a recording leaves nothing behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.agent.conftest import any_service, guest, run_id, service
from tests.fakes.service import Service

__all__ = ["absent_service", "any_service", "guest", "impatient", "rings", "run_id", "service"]


@pytest.fixture
def impatient(guest: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a job whose service will be of no use to its collector."""
    monkeypatch.setenv("UNDERFED_LINGER_S", "0.2")


@pytest.fixture
def absent_service(service: Service, impatient: None) -> Service:
    """It is not there before the test starts it."""
    service.stop()
    return service


@pytest.fixture
def rings(guest: None) -> Path:
    """Where this test's rings lie."""
    return Path(os.environ["UNDERFED_RINGS"])
