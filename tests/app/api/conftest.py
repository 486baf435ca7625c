"""The service's application with a client in front of it, and a store with a recorded run behind it."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from tests.app.made_windows import made_stream
from tests.app.serving import AS_OWNER
from tests.app.store.posting import post
from underfed_server.main import Application
from underfed_server.store.store import Store


@pytest.fixture(scope="module")
def shared_application(shared_application: Application) -> Application:
    """A client of the application with the run of ``recorded``."""
    record(shared_application.parts.store)
    return shared_application


@pytest.fixture
def store(application: Application) -> Store:
    return application.parts.store


@pytest.fixture
def client(application: Application) -> TestClient:
    """The owner's, where the service is open."""
    return TestClient(application, base_url="http://127.0.0.1:7077", headers=AS_OWNER)


@pytest.fixture
def recorded(request: pytest.FixtureRequest, store: Store) -> Store:
    """Run ``run-1``: 100 windows of 20 steps."""
    if not request.node.get_closest_marker("reads"):
        record(store)
    return store


def record(store: Store) -> None:
    post(store, made_stream(100))
