"""An open store in a directory of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.store.clock import WallClock
from underfed_server.store.store import Store


@pytest.fixture
def clock() -> WallClock:
    return WallClock()


@pytest.fixture
def store(tmp_path: Path, clock: WallClock) -> Iterator[Store]:
    opened = Store(f"sqlite:///{tmp_path}/underfed.db", now=clock)
    yield opened
    opened.close()
