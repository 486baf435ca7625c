"""The same house rules as for the agent's own tests: a recording leaves nothing behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.agent.conftest import any_service, guest, run_id, service

__all__ = ["any_service", "guest", "rings", "run_id", "service"]


@pytest.fixture
def rings(guest: None) -> Path:
    """Where this test's rings lie."""
    return Path(os.environ["UNDERFED_RINGS"])
