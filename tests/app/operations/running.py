"""``underfed serve`` in a process of its own, with its log in a file."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fakes.environment import clean_environment


@dataclass(frozen=True, slots=True)
class Running:
    process: subprocess.Popen[str]
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
def running(directory: Path, *arguments: str, process: Mapping[str, Any] | None = None) -> Iterator[Running]:
    """A service on ``directory/underfed.db``. ``process``: more for :class:`subprocess.Popen`."""
    database, log = directory / "underfed.db", directory.parent / f"{directory.name}.log"
    with log.open("w") as errors:
        started = start(database, *arguments, stderr=errors, **(process or {}))
    try:
        assert started.stdout is not None
        first = started.stdout.readline()
        assert first.startswith("Underfed"), log.read_text()
        yield Running(started, first.split()[1], database, log)
    finally:
        started.kill()
        started.wait()
        if started.stdout is not None:
            started.stdout.close()


def start(database: Path, *arguments: str, **process: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "underfed_server", "--port", "0", "--db", f"sqlite:///{database}", *arguments]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        **{"env": clean_environment(UNDERFED_DIR=str(database.parent)), **process},
    )


def refused(database: Path, *arguments: str, **process: Any) -> str:
    """The output of a service that does not start."""
    ended = start(database, *arguments, stderr=subprocess.STDOUT, **process)
    said, _ = ended.communicate(timeout=60)
    assert ended.returncode == 1, said
    assert "Traceback" not in said
    return said
