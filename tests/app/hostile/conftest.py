"""The service as a process of its own, with a token, over both stores; and what it wrote to its log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.app.operations.asking import Answer, ask
from tests.app.operations.running import running
from tests.fakes.environment import clean_environment

TOKEN = "the-token-of-this-hostile-test"


@dataclass(frozen=True, slots=True)
class Victim:
    address: str
    log: Path

    def ask(self, path: str, body: bytes | None = None, token: str | None = TOKEN) -> Answer:
        return ask(self.address, path, body, {"Authorization": f"Bearer {token}"} if token else {})


@pytest.fixture
def victim(tmp_path: Path, database_url: str) -> Iterator[Victim]:
    environment = clean_environment(UNDERFED_TOKEN=TOKEN)
    arguments = ("--db", database_url, "--log-level", "debug", "--requests-per-s", "0")
    with running(tmp_path, *arguments, process={"env": environment}) as service:
        yield Victim(service.address, service.log)
