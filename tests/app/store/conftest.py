"""An open store, over each kind of database, with a clock that tests turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.app.databases import Databases
from tests.app.store.clock import WallClock
from underfed_server.store.store import Store


@pytest.fixture
def clock() -> WallClock:
    return WallClock()


@pytest.fixture
def store(database_url: str, clock: WallClock) -> Iterator[Store]:
    opened = Store(database_url, now=clock)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def shared_clock(databases: Databases) -> WallClock:
    return WallClock()


@pytest.fixture(scope="module")
def shared_store(
    databases: Databases, shared_clock: WallClock, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    """For what a module's tests only read."""
    opened = Store(databases.new(tmp_path_factory.mktemp("shared")), now=shared_clock)
    yield opened
    opened.close()
