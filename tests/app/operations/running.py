"""``underfed serve`` in a process of its own, with its log in a file."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tests.app.serving import IMPORTED
from tests.fakes import forkserver
from tests.fakes.environment import clean_environment
from tests.fakes.forkserver import Job


@dataclass(frozen=True, slots=True)
class Running:
    process: Job
    address: str
    database: Path
    log: Path

    def stop(self, number: int = signal.SIGTERM) -> float:
        """Seconds until the process was gone."""
        begun = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(60)
        return time.monotonic() - begun


@contextmanager
def running(directory: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> Iterator[Running]:
    """A service on ``directory/underfed.db``."""
    database, log = directory / "underfed.db", directory.parent / f"{directory.name}.log"
    with log.open("w") as errors:
        started = start(database, *arguments, environment=environment, errors=errors)
    try:
        first = started.stdout.readline()
        assert first.startswith("Underfed"), log.read_text()
        yield Running(started, first.split()[1], database, log)
    finally:
        started.kill()
        started.wait()
        started.stdout.close()


def start(
    database: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    errors: TextIO | int = subprocess.STDOUT,
) -> Job:
    words = ["--port", "0", "--db", f"sqlite:///{database}", *arguments]
    variables = environment or clean_environment(UNDERFED_DIR=str(database.parent))
    return forkserver.start("underfed_server", words, variables, imported=IMPORTED, errors=errors)


def refused(database: Path, *arguments: str) -> str:
    """The output of a service that does not start."""
    ended = start(database, *arguments)
    said, _ = ended.communicate(timeout=60)
    assert ended.returncode == 1, said
    assert "Traceback" not in said
    return said
