"""``underfed serve``: the service and its page."""

from __future__ import annotations

import errno
import signal
import socket
import sys
from asyncio import Protocol
from collections.abc import Sequence
from functools import partial
from types import FrameType
from typing import Any, cast

import uvicorn

from underfed_server.api.admission.connections import BoundedProtocol, Connections, raise_file_limit
from underfed_server.api.admission.rate_limits import MOST_EXPORTS
from underfed_server.errors import StartError, UnderfedError
from underfed_server.forked.answering import compact_streams, judge_runs, write_pages
from underfed_server.forked.asked import AskedProcess
from underfed_server.forked.compaction import CompactionProcess
from underfed_server.forked.exporting import ExportProcesses, works
from underfed_server.forked.forks import Forks
from underfed_server.forked.judge import JudgeProcess
from underfed_server.forked.pages import PageProcess
from underfed_server.garbage import collect_and_look_seldom
from underfed_server.logs import start_logging
from underfed_server.main import Application, create_app
from underfed_server.settings import DEFAULT_PORT, Network, Settings, read_settings
from underfed_server.store.databases.database import name_of

KEEP_ALIVE_S = 75
"""Agents post once a second, and when idle every 5 s: the default of 5 s would break their connections."""

STOP_S = 1
"""For requests under way, of three that stopping may take. What is cut off was not acknowledged, and comes again."""

JUDGED_AT_ONCE = 12
"""Two have a run judged, one after the other, while others save: each waits twice for the group of writes under way."""

BACKLOG = 2_048
MOST_CONNECTIONS = 512
"""Where nobody has raised the limit on open files."""


class Interruption:
    """Ctrl-C or SIGTERM while the service starts, remembered until it can stop in order.

    The exception that Python would raise is lost when it falls into a destructor, and could fall into an upgrade.
    """

    def __init__(self) -> None:
        self.has_come = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interruption:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.has_come = True


class Server(uvicorn.Server):
    """Bounds each connection, and ends open event streams before it waits for connections to close: they never would by
    themselves.
    """

    def __init__(
        self,
        application: Application,
        interruption: Interruption | None = None,
        *,
        most_connections: int = MOST_CONNECTIONS,
        proxies: tuple[Network, ...] = (),
    ) -> None:
        connections = Connections(most_connections, proxies, application.parts.counters)
        super().__init__(
            uvicorn.Config(
                application,
                http=cast(type[Protocol], partial(BoundedProtocol, connections, application.posts)),
                # Nothing here speaks it, and a connection that changed to it would be nobody's.
                ws="none",
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=STOP_S,
                server_header=False,
                # Whose word counts is for api/admission/proxy.py to decide.
                proxy_headers=False,
                access_log=False,
                # What it has to say goes where all goes.
                log_config=None,
            )
        )
        self._application = application
        self._interruption = interruption

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._interruption is not None and self._interruption.has_come:
            self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._application.parts.events.close()
        await super().shutdown(sockets)


def serve(argv: Sequence[str]) -> int:
    """Run the service until Ctrl-C."""
    try:
        settings = read_settings(argv)
        start_logging(settings.log_format, settings.log_level)
        with Interruption() as interruption:
            run(settings, interruption)
    except UnderfedError as error:
        print(f"underfed: {error}", file=sys.stderr)
        return 1
    return 0


def run(settings: Settings, interruption: Interruption) -> None:
    """The port before the database: a service that cannot start changes nothing.

    Raises:
        SettingsError, StartError: it cannot start; the message says what to change.
    """
    database = name_of(settings.database_url)
    exporting = works(MOST_EXPORTS)
    with Forks(judge_runs, compact_streams, write_pages, *exporting) as forks, listen(settings) as listening:
        application = create_app(
            settings,
            JudgeProcess(AskedProcess(forks, judge_runs, settings.database_url).ask),
            judged_at_once=JUDGED_AT_ONCE,
            prepare=CompactionProcess(AskedProcess(forks, compact_streams, settings.database_url).ask, forks),
            beside=[forks],
            pages=PageProcess(AskedProcess(forks, write_pages, settings.database_url).ask, forks),
            export=ExportProcesses(forks, exporting, settings.database_url),
        )
        collect_and_look_seldom()
        print_start(settings, application, listening.getsockname()[1], database)
        room = raise_file_limit()
        Server(application, interruption, most_connections=room, proxies=settings.proxy_addresses).run([listening])


def listen(settings: Settings) -> socket.socket:
    """A socket that listens where the settings say.

    Raises:
        StartError: the port is taken, or the address is none of this machine's.
    """
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
        # `localhost` is two addresses: agents and people mean 127.0.0.1.
        family, kind, protocol, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise StartError(f"cannot listen on {settings.host}: {error.strerror}") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise StartError(_why_not(settings, error)) from error
    return listening


def _why_not(settings: Settings, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        other = settings.port + 1 if settings.port < 65_535 else DEFAULT_PORT
        return f"port {settings.port} is in use on {settings.host}; choose another with --port, as in --port {other}"
    if error.errno == errno.EACCES:
        return f"port {settings.port} needs privileges; choose one above 1023 with --port"
    return f"cannot listen on {settings.host}:{settings.port}: {error.strerror}"


def print_start(settings: Settings, application: Application, port: int, database: str) -> None:
    """Say where the page is and where data lie; a new token is shown here and nowhere else."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"http://{host}:{port}"
    print(f"Underfed  {address}")
    if (secret := application.parts.access.new_link()) is not None:
        print(f"Owner     {address}/#owner={secret}")
        print("          It signs in once who may change, delete and make tokens; others on this machine may read.")
        print("          A proxy in front needs --proxy-address: then everybody needs a token.")
    print(f"Data      {database}")
    if application.new_token is not None:
        print(f"Token     {application.new_token}", "          It is shown this once. Agents and browsers", sep="\n")
        print("          need it: set UNDERFED_TOKEN to it where jobs run.")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1:]))
