"""An open store, over each kind of database, with a clock that tests turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

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
