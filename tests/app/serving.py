"""Runs the service for tests: in this process on a free port, or as the process that a user starts."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.fakes.environment import clean_environment
from tests.fakes.forkserver import Job
from tests.fakes.forkserver import start as start_forked
from tests.fakes.service import PATIENCE_S, wait_until
from underfed_server.__main__ import Server, listen
from underfed_server.main import Application, create_app
from underfed_server.model import Diagnosis
from underfed_server.settings import OWNER_TOKEN_NAME, Settings
from underfed_server.terminal.client import Client, RefusedError


@contextmanager
def serving(application: Application, settings: Settings) -> Iterator[str]:
    """The address at which ``application`` answers."""
    with answering(Server(application), listen(settings)) as address:
        yield address


@contextmanager
def answering(server: Server, listening: socket.socket) -> Iterator[str]:
    """The address at which ``server`` answers, in a thread of its own."""
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


OWNER = "the-token-of-the-owner-of-a-made-service"
"""Of every open service that is opened in a test's own process."""

AS_OWNER = {"Authorization": f"Bearer {OWNER}"}


def settings_for(directory: Path, *, host: str = "127.0.0.1", token: str | None = None) -> Settings:
    owner = directory / OWNER_TOKEN_NAME
    if not owner.exists():
        owner.touch(0o600)
        owner.write_text(OWNER)
    database_url = f"sqlite:///{directory / 'underfed.db'}"
    return Settings(host=host, port=0, database_url=database_url, token=token, owner_token_path=owner)


def application_in(
    directory: Path, *, host: str = "127.0.0.1", token: str | None = None, database_url: str | None = None
) -> Application:
    settings = settings_for(directory, host=host, token=token)
    return create_app(replace(settings, database_url=database_url or settings.database_url))


@dataclass(frozen=True, slots=True)
class Service:
    """``underfed serve`` in a process of its own."""

    process: Job | subprocess.Popen[str]
    address: str
    said: str

    @property
    def owner_link(self) -> str:
        """Of an open service: the page, signed in as its owner."""
        return next(line.split()[1] for line in self.said.splitlines() if line.startswith("Owner"))

    @property
    def owner_token(self) -> str:
        """Of an open service on a file."""
        database = Path(self.said.splitlines()[-1].split(maxsplit=1)[1])
        return (database.parent / OWNER_TOKEN_NAME).read_text().strip()

    def kill(self) -> None:
        """Also after it has ended: the pipe is closed."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


IMPORTED = "tests.app.imported_service"


def start_service(database: Path | str | None, *arguments: str, port: int = 0, **environment: str) -> Service:
    """The service once it answers; its output up to then is in ``said``."""
    return started(begin(database, *arguments, port=port, **environment))


def begin(database: Path | str | None, *arguments: str, port: int = 0, **environment: str) -> Job:
    """It is the program that a user starts, but for the second of CPU time that importing it takes."""
    words, variables = _command(database, *arguments, port=port, **environment)
    return start_forked("underfed_server", words, variables, imported=IMPORTED, errors=subprocess.STDOUT)


def started(process: Job | subprocess.Popen[str]) -> Service:
    """The service that was launched, once it answers."""
    assert process.stdout is not None
    first = process.stdout.readline()
    assert first.startswith("Underfed"), first + process.stdout.read()
    said = first
    while not said.splitlines()[-1].startswith("Data"):
        said += process.stdout.readline()
    return Service(process, first.split()[1], said)


def launch(database: Path | str | None, *arguments: str, port: int = 0, **environment: str) -> subprocess.Popen[str]:
    """The process as a user starts it, with what it says on one pipe: for tests of how it starts to import."""
    words, variables = _command(database, *arguments, port=port, **environment)
    return subprocess.Popen(
        [sys.executable, "-m", "underfed_server", *words],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _command(
    database: Path | str | None, *arguments: str, port: int, **environment: str
) -> tuple[list[str], dict[str, str]]:
    """Arguments and environment. ``database``: a file, a URL, or ``None``: the default.

    Beside a file lies the token of its owner.
    """
    url = f"sqlite:///{database}" if isinstance(database, Path) else database
    place = {"UNDERFED_DIR": str(database.parent)} if isinstance(database, Path) else {}
    words = ["--port", str(port), *([] if url is None else ["--db", url]), *arguments]
    return words, clean_environment(**place | environment)


def poll(holds: Callable[[], object], *, within_s: float = PATIENCE_S) -> None:
    """Wait until ``holds()`` is true, and ask seldom, so as not to hold up what takes seconds."""
    wait_until(holds, "it comes true", within_s, longest_pause_s=0.2)


def judged(client: Client, run_id: str) -> Diagnosis:
    """The diagnosis of a run that ended, once the whole of it was judged."""

    def is_judged() -> bool:
        try:
            diagnosis = client.diagnosis(run_id)
        except RefusedError:
            return False
        return diagnosis.status == "finished" and diagnosis.judged_at is not None

    poll(is_judged)
    return client.diagnosis(run_id)
