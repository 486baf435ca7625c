"""Asks a service for minutes what no client would: windows of every shape, and every operation of its description."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, RemoteDisconnected
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

from tests.app.hostile.wire_shapes import shaped

SLOWEST_S = 60.0
"""No answer within it is a hang."""


@dataclass(slots=True)
class Found:
    """What a service answered."""

    statuses: Counter[int] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    @property
    def requests(self) -> int:
        return self.statuses.total()


def post_shapes(address: str, seed: int, count: int, token: str | None, ends_at: float = float("inf")) -> Found:
    """Up to so many windows over one connection; ``ends_at``: of the monotonic clock."""
    figures, found = random.Random(seed), Found()
    said = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    with closing(HTTPConnection(urlsplit(address).netloc, timeout=SLOWEST_S)) as connection:
        for number in range(count):
            if time.monotonic() >= ends_at:
                break
            body, encoding, shapes = shaped(figures)
            named = said | ({"Content-Encoding": encoding} if encoding else {})
            try:
                status, answer = _posted(connection, body, named)
            except (OSError, HTTPException) as error:
                found.failures.append(f"seed {seed}, window {number}, {shapes}: {error!r}")
                connection.close()
                continue
            found.statuses[status] += 1
            if status >= 500 and status != 503:
                found.failures.append(f"seed {seed}, window {number}, {shapes}: {status} {answer[:200]!r}")
    return found


def _posted(connection: HTTPConnection, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    """A connection that the service closed while nothing was under way is opened again, and an answer that came before
    all was sent is read, as any client does.
    """
    for is_last in (False, True):
        try:
            with suppress(BrokenPipeError):
                connection.request("POST", "/api/v1/ingest", body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (ConnectionResetError, RemoteDisconnected):
            connection.close()
            if is_last:
                raise
    raise AssertionError


# No schema can say that an expiry must lie ahead, that a cursor must be one of ours, or how a search is written.
# The event stream has no end to wait for.
# How fast examples are made is the host's affair.
ARGUMENTS = (
    "--exclude-checks", "positive_data_acceptance", "--exclude-path", "/api/v1/events",
    "--suppress-health-check", "too_slow", "--no-color",
)  # fmt: skip
WITHOUT_TOKEN = "not_a_server_error,content_type_conformance,response_schema_conformance,status_code_conformance"


def ask_everything(
    address: str, directory: Path, *, seed: int, examples: int, token: str | None
) -> subprocess.CompletedProcess[str]:
    """Schemathesis: what the description allows and forbids, so many examples of each operation beside those.

    Without a token the service refuses, in the shape that the description says.
    """
    # Read here: it would wait for a busy service for ten seconds, and for each answer.
    description = directory / "openapi.json"
    with urlopen(f"{address}/api/v1/openapi.json", timeout=SLOWEST_S) as answer:
        description.write_bytes(answer.read())
    command = [sys.executable, "-m", "schemathesis.cli", "run", str(description), "--url", address, *ARGUMENTS]
    command += ["--request-timeout", str(round(SLOWEST_S))]
    command += ["-H", f"Authorization: Bearer {token}"] if token else ["--checks", WITHOUT_TOKEN]
    command += ["-n", str(examples), "--phases", "coverage,fuzzing", "--seed", str(seed)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=directory)


@dataclass(slots=True)
class Growth:
    """What a process takes while it is asked, sampled every second."""

    pid: int
    rss_mb: list[float] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Growth:
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        while not self._ended.is_set():
            status = dict(line.split(":", 1) for line in Path(f"/proc/{self.pid}/status").read_text().splitlines())
            self.rss_mb.append(int(status["VmRSS"].split()[0]) / 1_000)
            self.threads.append(int(status["Threads"]))
            self.files.append(len(list(Path(f"/proc/{self.pid}/fd").iterdir())))
            self._ended.wait(1.0)
