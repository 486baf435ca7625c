"""``underfed export``: every recorded step of a run, in a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from underfed_server.errors import UnderfedError
from underfed_server.terminal.client import client_from_environment

FORMATS = ("csv", "parquet", "json", "trace")


def export(argv: Sequence[str]) -> int:
    """Write every recorded step of a run to a file; trace opens in Perfetto."""
    parser = argparse.ArgumentParser(prog="underfed export", description=export.__doc__)
    parser.add_argument("run", metavar="RUN", help="a run id, a unique beginning of one, or latest")
    parser.add_argument("--format", choices=FORMATS, required=True)
    parser.add_argument("--out", type=Path, metavar="FILE", required=True, help="replaced once the new one is whole")
    arguments = parser.parse_args(argv)
    try:
        client = client_from_environment()
        run_id = client.find(arguments.run).run_id
        size = _save(arguments.out, lambda file: client.export(run_id, arguments.format, file))
    except UnderfedError as error:
        print(f"underfed: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"underfed: {arguments.out} cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    print(f"{arguments.out}: {size:,} bytes of run {run_id}")
    return 0


def _save(target: Path, write: Callable[[IO[bytes]], None]) -> int:
    """The file has its name only once it is whole. Returns its size in bytes."""
    partial = target.with_name(f"{target.name}.partial")
    try:
        with partial.open("wb") as file:
            write(file)
        size = partial.stat().st_size
        partial.replace(target)
        return size
    finally:
        partial.unlink(missing_ok=True)
