"""``underfed backup FILE``: a copy of the database, made while the service goes on."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from underfed_server.errors import BackupError
from underfed_server.settings import database_url_of
from underfed_server.store.databases.database import parse
from underfed_server.store.databases.sqlite import path_of
from underfed_server.store.databases.sqlite_backup import back_up
from underfed_server.terminal.console import answered


def backup(arguments: Sequence[str]) -> int:
    """Copy the service's database into FILE while it runs, and check the copy."""
    parser = argparse.ArgumentParser(prog="underfed backup", description=backup.__doc__)
    parser.add_argument("file", type=Path, metavar="FILE", help="must not exist yet")
    parser.add_argument("--db", metavar="URL", help="as given to underfed serve; default: the same as its default")
    options = parser.parse_args(arguments)

    def answer() -> None:
        database, target = _path(database_url_of(options.db, os.environ)), options.file.absolute()
        size = back_up(database, target, _shown if sys.stderr.isatty() else None)
        print(f"{target}: {size:,} bytes of {database}, checked")

    return answered(answer)


def _path(url: str) -> Path:
    """Raises:
    SettingsError: it is no URL of a database.
    BackupError: PostgreSQL has a better way.
    """
    parsed = parse(url)
    if parsed.get_backend_name() != "sqlite":
        raise BackupError("PostgreSQL makes its own back-ups: pg_dump --format=custom; docs/operations.md says how")
    return path_of(parsed)


def _shown(fraction: float) -> None:
    print(f"\rcopied {fraction:4.0%}", end="" if fraction < 1 else ", checking …\n", file=sys.stderr, flush=True)
