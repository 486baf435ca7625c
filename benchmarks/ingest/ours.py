"""Our service under load: posts a second, its CPU a post, bytes on disk a step, and how long agents wait."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import uvloop
from sqlalchemy import create_engine, text

from benchmarks.ingest.made import STEPS_A_WINDOW, requests
from benchmarks.ingest.posts import post_all, post_on_time
from benchmarks.ingest.service import serving

CONNECTIONS = 64
"""Agents that post at once, each in order."""

EVERY_S = 2.0
"""Time between two posts of an agent on a busy host."""


@dataclass(frozen=True, slots=True)
class Result:
    posts: int
    seconds: float
    cpu_us_a_post: float
    """Of the service's processes."""
    p50_ms: float
    p99_ms: float
    wire_bytes_a_step: float
    stored_bytes_a_step: float
    """The file after the service has ended; of PostgreSQL the database, without its log."""
    unused_bytes_a_step: float | None
    """Of the file, pages that hot windows left behind and new ones will take; ``None``: PostgreSQL does not say."""

    @property
    def posts_per_s(self) -> float:
        return self.posts / self.seconds


def as_fast_as_possible(
    windows: int,
    num_workers: int | None,
    *,
    with_everything: bool = False,
    judges: bool = False,
    on_postgresql: bool = False,
) -> Result:
    """:data:`CONNECTIONS` runs of so many windows, posted as fast as they are answered."""
    streams = [
        requests(f"run-{index}", windows, num_workers, index, with_everything=with_everything)
        for index in range(CONNECTIONS)
    ]
    with _database(on_postgresql=on_postgresql) as database:
        with serving(database, judges=judges) as service:
            process = psutil.Process(service.pid)
            before, begun = cpu_s(process), time.perf_counter()
            took = uvloop.run(post_all(service.port, streams))
            seconds, spent = time.perf_counter() - begun, cpu_s(process) - before
        return _result(took, seconds, spent, streams, database)


@dataclass(frozen=True, slots=True)
class Punctual:
    """Agents that post on time: how long the first windows took, which create the runs, the last, which end them, and
    all others.
    """

    posts: int
    cores: float
    """CPU of the service, in cores."""
    first_p99_ms: float
    p50_ms: float
    p99_ms: float
    last_p99_ms: float


def on_time(agents: int, seconds: float, num_workers: int | None, *, with_everything: bool, judges: bool) -> Punctual:
    """So many agents with a run each, one post every :data:`EVERY_S`."""
    posts = round(seconds / EVERY_S)
    streams = [
        requests(f"run-{index}", posts, num_workers, index, with_everything=with_everything) for index in range(agents)
    ]
    with _database(on_postgresql=False) as database, serving(database, judges=judges) as service:
        process = psutil.Process(service.pid)
        before, begun = cpu_s(process), time.perf_counter()
        took = uvloop.run(post_on_time(service.port, streams, EVERY_S))
        cores = (cpu_s(process) - before) / (time.perf_counter() - begun)
    first, last = sorted(each[0] for each in took), sorted(each[-1] for each in took)
    between = sorted(wait for each in took for wait in each[1:-1])
    return Punctual(
        posts=sum(map(len, took)),
        cores=cores,
        first_p99_ms=first[len(first) * 99 // 100] * 1e3,
        p50_ms=between[len(between) // 2] * 1e3,
        p99_ms=between[len(between) * 99 // 100] * 1e3,
        last_p99_ms=last[len(last) * 99 // 100] * 1e3,
    )


def cpu_s(process: psutil.Process) -> float:
    """Of the service, and of the processes that it has forked."""
    return sum(sum(each.cpu_times()[:2]) for each in (process, *process.children(recursive=True)))


@contextmanager
def _database(*, on_postgresql: bool) -> Iterator[str]:
    """The URL of a new one; PostgreSQL with its default settings: everything is on disk before it is acknowledged."""
    if on_postgresql:
        from tests.fakes.postgresql import Cluster

        with Cluster() as cluster:
            yield cluster.url.render_as_string(hide_password=False)
        return
    with tempfile.TemporaryDirectory() as directory:
        yield f"sqlite:///{directory}/underfed.db"


def _result(
    took: Sequence[float], seconds: float, spent: float, streams: Sequence[Sequence[bytes]], database: str
) -> Result:
    posts, waits = len(took), sorted(took)
    steps = posts * STEPS_A_WINDOW
    stored, unused = _sizes(database)
    return Result(
        posts=posts,
        seconds=seconds,
        cpu_us_a_post=spent / posts * 1e6,
        p50_ms=waits[posts // 2] * 1e3,
        p99_ms=waits[posts * 99 // 100] * 1e3,
        wire_bytes_a_step=sum(len(request) for stream in streams for request in stream) / steps,
        stored_bytes_a_step=stored / steps,
        unused_bytes_a_step=None if unused is None else unused / steps,
    )


def _sizes(database: str) -> tuple[int, int | None]:
    """Bytes stored, and unused ones among them."""
    if not database.startswith("sqlite"):
        engine = create_engine(database)
        with engine.connect() as connection:
            size = int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())
        engine.dispose()
        return size, None
    file = Path(database.removeprefix("sqlite:///"))
    with closing(sqlite3.connect(file)) as connection:
        free, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("freelist_count", "page_size"))
    return sum(path.stat().st_size for path in file.parent.iterdir()), int(free * size)
