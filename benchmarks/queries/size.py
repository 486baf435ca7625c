"""Bytes that a step takes on disk, all included."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from benchmarks.queries.build import Shape
from benchmarks.queries.stores import build

CASES = {"steps, process and host": False, "and batches of 4 workers": True}
PARTS = ("hot", "chunk.body", "chunk.rollups", "rollup.body", "histogram.body")


def print_sizes(directory: Path, steps: int) -> None:
    print(f"{'bytes a step':<28}{'whole file':>12}" + "".join(f"{part:>16}" for part in PARTS[1:]))
    for name, has_batches in CASES.items():
        database = directory / f"size-{steps}-{has_batches}.db"
        if not database.exists():
            build(database, [Shape("sized", 1, steps, has_batches)])
        sizes = [f"{database.stat().st_size / steps:.2f}", *(f"{each / steps:.2f}" for each in _parts(database))]
        print(f"{name:<28}{sizes[0]:>12}" + "".join(f"{size:>16}" for size in sizes[1:]), flush=True)


def _parts(database: Path) -> list[int]:
    """What lies in the columns, without what the file adds."""
    with closing(sqlite3.connect(database)) as connection:
        sums = []
        for part in PARTS[1:]:
            table, column = part.split(".")
            sums.append(connection.execute(f"SELECT coalesce(sum(length({column})), 0) FROM {table}").fetchone()[0])
        return [int(each) for each in sums]
