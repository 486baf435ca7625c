"""A PostgreSQL of the tests' own: Debian's programs on a directory that is thrown away, reached by a Unix socket.

Where ``UNDERFED_TEST_POSTGRESQL`` names a server (an SQLAlchemy URL whose user may make databases), that one is used.
"""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import create_engine, text
from sqlalchemy.engine import URL, make_url

from underfed_server.store import postgresql
from underfed_server.store.schema import upgrade

TEMPLATE = "underfed_template"
# What a test loses in a power failure is worth nothing.
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
QUIET = ("-c", "listen_addresses=", "-c", "logging_collector=off", "-c", "log_min_messages=fatal")


@dataclass(slots=True)
class Server:
    """Makes databases with the tables of this version, each from a template."""

    url: URL
    """Of any database of it, to make others from."""
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def prepare(self) -> None:
        self._make(TEMPLATE, "template1")
        engine = postgresql.open_writer(self.url.set(database=TEMPLATE))
        upgrade(engine)
        engine.dispose()

    @contextmanager
    def database(self, *, is_empty: bool = False) -> Iterator[str]:
        """The URL of a new one; ``is_empty``: without tables."""
        name = f"underfed_test_{os.getpid()}_{next(self._numbers)}"
        self._make(name, "template1" if is_empty else TEMPLATE)
        try:
            yield self.url.set(database=name).render_as_string(hide_password=False)
        finally:
            self.run(f'DROP DATABASE "{name}" WITH (FORCE)')

    def run(self, statement: str) -> None:
        """Outside of any transaction, in the database that the server was given with."""
        engine = create_engine(self.url, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(statement))
        engine.dispose()

    def _make(self, name: str, template: str) -> None:
        self.run(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        self.run(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')


@contextmanager
def serving() -> Iterator[Server]:
    """A server until the end of the block."""
    if given := os.environ.get("UNDERFED_TEST_POSTGRESQL"):
        yield _prepared(make_url(given))
        return
    with cluster() as (url, _):
        yield _prepared(url)


@contextmanager
def cluster(*settings: str) -> Iterator[tuple[URL, subprocess.Popen[bytes]]]:
    """A new cluster's address and process; ``settings``: more arguments of ``postgres``."""
    programs, owner = _programs(), _owner()
    # Short: the path of a Unix socket has a limit.
    place = Path(tempfile.mkdtemp(prefix="underfed-pg-"))
    if owner is not None:
        shutil.chown(place, owner)
    data = place / "data"
    made = [
        str(programs / "initdb"),
        "-D",
        str(data),
        "-U",
        "postgres",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C",
        "-N",
    ]
    subprocess.run(made, user=owner, check=True, stdout=subprocess.DEVNULL, cwd=place)
    command = [str(programs / "postgres"), "-D", str(data), "-k", str(place), *QUIET, *(settings or CARELESS)]
    process = subprocess.Popen(command, user=owner, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=place)
    try:
        url = URL.create("postgresql+psycopg", username="postgres", database="postgres", query={"host": str(place)})
        ready = [str(programs / "pg_isready"), "-h", str(place), "-q"]
        while subprocess.run(ready, check=False).returncode:
            assert process.poll() is None, "PostgreSQL ended at once"
        yield url, process
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(place)


def _prepared(url: URL) -> Server:
    server = Server(url)
    server.prepare()
    return server


def _programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    if not found and on_path is None:
        raise RuntimeError("no PostgreSQL here: install one, or name a server in UNDERFED_TEST_POSTGRESQL")
    return found[-1].parent if found else Path(str(on_path)).resolve().parent


def _owner() -> str | None:
    """PostgreSQL refuses to run as root: whom to run it as, then."""
    if os.getuid() != 0:
        return None
    return next(each.pw_name for each in pwd.getpwall() if each.pw_name in ("postgres", "nobody"))
