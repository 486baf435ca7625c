"""The service's application and an open store, each in a directory of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.serving import application_in
from underfed_server.main import Application
from underfed_server.store.store import Store


@pytest.fixture
def application(tmp_path: Path) -> Iterator[Application]:
    opened = application_in(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(f"sqlite:///{tmp_path}/underfed.db")
    yield opened
    opened.close()
