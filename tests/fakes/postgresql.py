"""A PostgreSQL server of the tests' own: Debian's programs on a temporary directory, reached by a Unix socket.

Where ``UNDERFED_TEST_POSTGRESQL`` names a server (an SQLAlchemy URL whose user may create databases), that one is used.
"""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import psycopg
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.engine import URL, make_url

from underfed_server.store.databases import postgresql
from underfed_server.store.databases.schema import upgrade

TEMPLATE = "underfed_template"
# No test needs its data after a power failure.
CARELESS = (
    "-c",
    "fsync=off",
    "-c",
    "full_page_writes=off",
    "-c",
    "synchronous_commit=off",
    "-c",
    "max_connections=300",
)
ROOM_BYTES = 4 << 30
"""Several times what the databases of the tests' servers take at once: 8 MB each, until the end of a module."""

QUIET = ("-c", "listen_addresses=", "-c", "logging_collector=off", "-c", "log_min_messages=fatal")


@dataclass(slots=True)
class Server:
    """Creates databases, each a copy of another; keeps one connection open for that."""

    url: URL
    """Of any database of it, to make others from."""
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _connection: Connection | None = None

    def prepare(self) -> None:
        self._make(TEMPLATE, "template1")
        engine = postgresql.open_writer(self.url.set(database=TEMPLATE))
        upgrade(engine)
        engine.dispose()

    @contextmanager
    def database(self, *, is_empty: bool = False) -> Iterator[str]:
        """The URL of a new one; ``is_empty``: without tables."""
        url = self.make("template1" if is_empty else TEMPLATE)
        try:
            yield url
        finally:
            self.drop(url)

    def make(self, template: str = TEMPLATE) -> str:
        """The URL of a copy of ``template``, a name or a URL, to which nobody is connected."""
        name = f"underfed_test_{os.getpid()}_{next(self._numbers)}"
        self._make(name, make_url(template).database or "" if "://" in template else template)
        return self.url.set(database=name).render_as_string(hide_password=False)

    def drop(self, url: str) -> None:
        """Whoever is connected to it is disconnected."""
        self.run(f'DROP DATABASE "{make_url(url).database}" WITH (FORCE)')

    def run(self, statement: str) -> None:
        """Outside of any transaction, in the database of the server's own URL."""
        self._connected().execute(text(statement))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection.engine.dispose()

    def _make(self, name: str, template: str) -> None:
        self.run(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        # File by file, as before version 15: through the log, as is usual since, takes three times as long.
        is_new = (self._connected().dialect.server_version_info or (0,)) >= (15,)
        self.run(f'CREATE DATABASE "{name}" TEMPLATE "{template}"' + " STRATEGY FILE_COPY" * is_new)

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = create_engine(self.url, isolation_level="AUTOCOMMIT").connect()
        return self._connection


@contextmanager
def serving() -> Iterator[Server]:
    """A server until the end of the block."""
    if given := os.environ.get("UNDERFED_TEST_POSTGRESQL"):
        with _prepared(make_url(given)) as server:
            yield server
        return
    with Cluster(*CARELESS) as cluster, _prepared(cluster.url) as server:
        yield server


class Cluster:
    """A new directory of data with a server on it, which can be killed and started again."""

    def __init__(self, *settings: str) -> None:
        """``settings``: more arguments of ``postgres``."""
        self._programs, self._owner = programs(), _owner()
        self._place = _place()
        if self._owner is not None:
            shutil.chown(self._place, self._owner)
        socket = {"host": str(self._place)}
        self.url = URL.create("postgresql+psycopg", username="postgres", database="postgres", query=socket)
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Cluster:
        data = str(self._place / "data")
        made = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
        program = str(self._programs / "initdb")
        subprocess.run([program, *made], user=self._owner, check=True, stdout=subprocess.DEVNULL, cwd=self._place)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait()
        shutil.rmtree(self._place)

    @property
    def pid(self) -> int:
        """Of the process whose children the connections are."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """On return it takes connections."""
        self._launch()
        while not self._is_ready():
            # After a kill its children keep its shared memory for a moment; until then a new server exits at once.
            if self._process is not None and self._process.poll() is not None:
                self._launch()

    def kill(self) -> None:
        """With its children: one that computes would go on to commit, and find out only then."""
        assert self._process is not None
        children = psutil.Process(self._process.pid).children(recursive=True)
        self._process.kill()
        self._process.wait()
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()

    def _is_ready(self) -> bool:
        try:
            psycopg.connect(host=str(self._place), user="postgres", dbname="postgres").close()
        except psycopg.OperationalError:
            time.sleep(0.02)
            return False
        return True

    def _launch(self) -> None:
        place = str(self._place)
        command = [str(self._programs / "postgres"), "-D", f"{place}/data", "-k", place, *QUIET, *self._settings]
        self._process = subprocess.Popen(
            command, user=self._owner, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=place
        )


@contextmanager
def _prepared(url: URL) -> Iterator[Server]:
    server = Server(url)
    with closing(server):
        server.prepare()
        yield server


def _place() -> Path:
    """A directory in memory where there is room: each database is 300 files, to be copied and removed again."""
    memory = Path("/dev/shm")
    has_room = memory.is_dir() and shutil.disk_usage(memory).free > ROOM_BYTES
    # Short: the path of a Unix socket has a limit.
    return Path(tempfile.mkdtemp(prefix="underfed-pg-", dir=memory if has_room else None))


def programs() -> Path:
    """Where PostgreSQL's programs lie: as ``UNDERFED_TEST_POSTGRESQL_PROGRAMS`` says, else of those here the newest.

    Raises:
        RuntimeError: there are none.
    """
    if given := os.environ.get("UNDERFED_TEST_POSTGRESQL_PROGRAMS"):
        return Path(given)
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    if not found and on_path is None:
        raise RuntimeError("no PostgreSQL here: install one, or name a server in UNDERFED_TEST_POSTGRESQL")
    return found[-1].parent if found else Path(str(on_path)).resolve().parent


def _owner() -> str | None:
    """User to run it as: PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return None
    return next(each.pw_name for each in pwd.getpwall() if each.pw_name in ("postgres", "nobody"))
