"""The service as a process of its own, with a token, over both stores; and what it wrote to its log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.app.databases import Databases
from tests.app.operations.asking import Answer, ask
from tests.app.operations.running import running
from tests.fakes.environment import clean_environment

TOKEN = "the-token-of-this-hostile-test"


@dataclass(frozen=True, slots=True)
class Victim:
    address: str
    log: Path
    database_url: str
    directory: Path

    def ask(self, path: str, body: bytes | None = None, token: str | None = TOKEN) -> Answer:
        return ask(self.address, path, body, {"Authorization": f"Bearer {token}"} if token else {})


@pytest.fixture(scope="module")
def victim(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    """One for all tests of a module: whatever a test did to it, it has to withstand the next."""
    environment = clean_environment(UNDERFED_TOKEN=TOKEN)
    directory = tmp_path_factory.mktemp("victim")
    url = databases.new(directory)
    arguments = ("--db", url, "--log-level", "debug", "--requests-per-s", "0")
    with running(directory, *arguments, environment=environment) as service:
        yield Victim(service.address, service.log, url, directory)
