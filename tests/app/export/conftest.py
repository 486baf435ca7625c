"""A service to export from."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from underfed_server.main import Application
from underfed_server.store.store import Store


@pytest.fixture
def store(application: Application) -> Store:
    return application.parts.store


@pytest.fixture
def client(application: Application) -> TestClient:
    return TestClient(application, base_url="http://127.0.0.1:7077")
