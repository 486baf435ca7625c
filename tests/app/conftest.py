"""The service's application and an open store, each over a database of its own: once SQLite's, once PostgreSQL's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.serving import application_in
from tests.fakes import postgresql
from underfed_server.main import Application
from underfed_server.store.store import Store

on_sqlite_alone = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
on_postgresql_alone = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[postgresql.Server]:
    with postgresql.serving() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """With the tables of this version, or without any where it is a file that does not exist yet."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/underfed.db"
        return
    server: postgresql.Server = request.getfixturevalue("postgresql_server")
    with server.database() as url:
        yield url


@pytest.fixture
def application(tmp_path: Path, database_url: str) -> Iterator[Application]:
    opened = application_in(tmp_path, database_url=database_url)
    yield opened
    opened.close()


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    opened = Store(database_url)
    yield opened
    opened.close()
