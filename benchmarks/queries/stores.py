"""The two stores for the requests, built once: one of long runs, one of many runs."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.queries.build import Shape, build_run
from benchmarks.runs import build_runs
from underfed_server.store.store import Store

RANKS = 8
COMPARED = 20
MANY = 5_000


@dataclass(frozen=True, slots=True)
class Stores:
    long: Path
    steps: int
    """Of the long run on each rank; the compared ones have a tenth."""
    many: Path


def open_stores(directory: Path, steps: int) -> Stores:
    stores = Stores(directory / f"long-{steps}.db", steps, directory / f"many-{MANY}.db")
    if not stores.long.exists():
        shapes = [Shape("long", RANKS, steps)]
        shapes += [Shape(f"compared-{index}", 1, steps // 10) for index in range(COMPARED)]
        build(stores.long, shapes)
    if not stores.many.exists():
        store = Store(f"sqlite:///{stores.many}")
        build_runs(store, MANY)
        store.close()
    return stores


def build(database: Path, shapes: list[Shape]) -> None:
    began = time.monotonic()
    partial = database.with_suffix(".partial")
    store = Store(f"sqlite:///{partial}")
    for shape in shapes:
        build_run(store, shape, _say)
    store.close()
    partial.rename(database)
    steps = sum(shape.ranks * shape.steps for shape in shapes)
    _say(f"{database.name}: {steps:,} steps in {time.monotonic() - began:,.0f} s\n")


def _say(what: str) -> None:
    print(f"\r{what:<60}", end="", file=sys.stderr, flush=True)
