"""``underfed migrate``: everything from one database into another, as from SQLite to PostgreSQL."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing

from sqlalchemy.exc import DBAPIError

from underfed_server.errors import MoveError
from underfed_server.store.databases.database import Database, name_of, open_database
from underfed_server.store.databases.move import Moved, move
from underfed_server.terminal.console import answered


def migrate(argv: Sequence[str]) -> int:
    """Copy a database into an empty one, SQLite or PostgreSQL, and compare them row by row. The first stays."""
    parser = argparse.ArgumentParser(prog="underfed migrate", description=migrate.__doc__)
    parser.add_argument("--from", dest="source", metavar="URL", required=True, help="SQLAlchemy URL of what there is")
    parser.add_argument("--to", dest="target", metavar="URL", required=True, help="SQLAlchemy URL of an empty database")
    arguments = parser.parse_args(argv)
    return answered(lambda: _move(arguments.source, arguments.target))


def _move(source_url: str, target_url: str) -> None:
    if name_of(source_url) == name_of(target_url):
        raise MoveError("--from and --to are the same database")
    with closing(open_database(source_url)) as source, closing(open_database(target_url)) as target:
        moved = _moved(source, target)
    what = f"{moved.runs:,} {'run' if moved.runs == 1 else 'runs'} with {moved.steps:,} steps"
    print(f"{what}, {moved.rows:,} rows in all: copied and compared.")
    print(f"Start the service with --db {name_of(target_url)}")


def _moved(source: Database, target: Database) -> Moved:
    def show(table: str, rows: int) -> None:
        print(f"\r\033[K{table}: {rows:,} rows", end="", file=sys.stderr, flush=True)

    is_watched = sys.stderr.isatty()
    try:
        return move(source, target, show if is_watched else _show_nothing)
    except DBAPIError as error:
        raise MoveError(f"nothing was copied: {error.orig}") from error
    finally:
        if is_watched:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _show_nothing(table: str, rows: int) -> None: ...
