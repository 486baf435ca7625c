"""Whether judging keeps up with runs that train, and what it costs those that post and those that look at pages.

Run it as ``python -m benchmarks.live_runs``; it takes three minutes. A real ``underfed serve`` on SQLite is sent what
the agents of all ranks send, ten steps a second of each and a window as often as ranks that share a host take turns, by
this process, on the same cores. Beside it the database is asked once a second which runs have a verdict and of when,
and a third process asks what pages ask, one request after the other. At last the service is started again on the
database as it was left, and asked for one page. Times are only as good as the machine is idle; CPU is that of the
service, which ingests, and of its children, which judge and compact.
"""

from __future__ import annotations

import argparse
import math
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import psutil
import uvloop
from numpy.typing import NDArray

from benchmarks.ingest.made import STEPS_PER_S, request
from benchmarks.ingest.posts import post_on_time
from benchmarks.judging import windows_of_ranks
from benchmarks.service.pages import Client, Took, addresses, asking
from tests.fakes.environment import clean_environment
from underfed.collector.ranks import TICK_S, ticks_between_windows

JUDGEABLE_STEPS = 25
"""A verdict needs them."""

IN_TIME_S = 20.0

OLDEST_S = 10.0

PAGES_APART_S = 0.1

GOALS_MS = dict.fromkeys(("list", "run", "diagnosis", "workers", "team", "metrics"), 100) | {"hosts": 200}
"""Of 95 requests in a hundred."""

POST_GOAL_MS = 100
FRESH_GOAL_MS = 300


@dataclass(slots=True)
class Seen:
    """What the database told, once a second."""

    first_at: dict[str, float] = field(default_factory=dict)
    """When a run was first seen with a verdict, by the monotonic clock."""
    oldest_s: list[float] = field(default_factory=list)
    """Since when the verdict was neither found nor confirmed that has waited longest, in each second in which all runs
    had one."""
    found_s: list[float] = field(default_factory=list)
    """Likewise, since when it was not found."""


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live_runs", description=__doc__)
    parser.add_argument("--runs", type=int, default=300, help="that train at once (default: %(default)s)")
    parser.add_argument("--ranks", type=int, default=8, help="of each run, on one host (default: %(default)s)")
    parser.add_argument("--seconds", type=int, default=60, help="of training (default: %(default)s)")
    parser.add_argument(
        "--window", type=int, metavar="S", help="of a rank, a post each (default: as the ranks of a host take turns)"
    )
    arguments = parser.parse_args(argv)
    window_s = arguments.window or round(TICK_S * ticks_between_windows(arguments.ranks))
    judgeable_s = 0.5 + window_s * math.ceil(JUDGEABLE_STEPS / (STEPS_PER_S * window_s))
    runs = [f"run-{number}" for number in range(arguments.runs)]
    streams = _streams(runs, arguments.ranks, arguments.seconds // window_s, window_s)
    with tempfile.TemporaryDirectory() as directory:
        database = Path(directory, "underfed.db")
        with _serving(database) as (process, port):
            before, begun = _cpu_s(process), time.monotonic()
            with (
                _watched(database, len(runs)) as seen,
                asking(port, runs[0], PAGES_APART_S, first_s=judgeable_s) as pages,
            ):
                took = uvloop.run(post_on_time(port, streams, window_s))
                passed = time.monotonic() - begun
                spent = [(now - then) / passed for now, then in zip(_cpu_s(process), before, strict=True)]
        load = f"{arguments.runs} runs of {arguments.ranks} ranks, a window of {window_s} s of each"
        print(f"{load}, for {passed:.0f} s; load of the machine {os.getloadavg()[0]:.1f}")
        _print_judged(seen, len(runs), begun + judgeable_s)
        _print_posts(np.concatenate([np.array(each) for each in took]) * 1e3, passed, spent)
        _print_pages(pages)
        _print_fresh(database, runs[0])


def _print_judged(seen: Seen, runs: int, judgeable: float) -> None:
    in_time = sum(at - judgeable <= IN_TIME_S for at in seen.first_at.values())
    _print(f"with a verdict within {IN_TIME_S:.0f} s of the 25th step", f"{in_time} of {runs}", "all")
    _print("with a verdict at the end", f"{len(seen.first_at)} of {runs}", "all")
    late_s = max(seen.first_at.values(), default=math.nan) - judgeable
    _print("the last one after, s", f"{late_s:.1f}", f"{IN_TIME_S:.0f}")
    _print("oldest verdict, second by second: median, most, s", _ages(seen.oldest_s), f"{OLDEST_S:.0f}")
    _print("oldest that was found, not confirmed: median, most, s", _ages(seen.found_s), "")


def _ages(seconds: Sequence[float]) -> str:
    return f"{np.median(seconds):.1f}, {max(seconds):.1f}" if seconds else "–"


def _print_posts(waits_ms: NDArray[np.float64], passed: float, spent: Sequence[float]) -> None:
    figures = f"{np.median(waits_ms):.0f}, {np.percentile(waits_ms, 99):.0f}"
    _print("post answered: p50, p99, ms", figures, str(POST_GOAL_MS))
    _print("posts a second", f"{len(waits_ms) / passed:.0f}", "")
    _print("cores of ingest, of judging and compacting", f"{spent[0]:.2f}, {spent[1]:.2f}", "")


def _print_pages(pages: Took) -> None:
    for page, took_ms in pages.items():
        figures = f"{np.median(took_ms):.0f}, {np.percentile(took_ms, 95):.0f}"
        _print(f"{page}, asked {len(took_ms)} times: p50, p95, ms", figures, str(GOALS_MS[page]))


def _print_fresh(database: Path, run_id: str) -> None:
    """Each page is asked of a process of its own, as soon as it takes connections."""
    megabytes = sum(each.stat().st_size for each in database.parent.iterdir()) / 1e6
    for page, path in addresses(run_id).items():
        with _serving(database) as (_, port):
            took_ms = Client(port).ask(path)
        _print(f"{page}, first answer of a new process, {megabytes:.0f} MB, ms", f"{took_ms:.0f}", str(FRESH_GOAL_MS))


def _print(what: str, figures: str, goal: str) -> None:
    print(f"{what:<58}{figures:>14}{goal and f'   goal {goal}'}", flush=True)


def _streams(runs: Sequence[str], ranks: int, windows: int, window_s: int) -> list[list[bytes]]:
    """Of each rank of each run, the requests in order."""
    made = windows_of_ranks(ranks, windows, window_s)
    return [
        [request("/api/v1/ingest", each[rank].replace(b'"RUN"', b'"' + run_id.encode() + b'"')) for each in made]
        for run_id in runs
        for rank in range(ranks)
    ]


@contextmanager
def _serving(database: Path) -> Iterator[tuple[psutil.Process, int]]:
    command = [sys.executable, "-m", "underfed_server", "--port", "0", "--db", f"sqlite:///{database}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean_environment()) as service:
        assert service.stdout is not None
        try:
            port = int(service.stdout.readline().rsplit(":", 1)[1])
            yield psutil.Process(service.pid), port
        finally:
            service.terminate()


def _cpu_s(service: psutil.Process) -> tuple[float, float]:
    """Of the service itself, and of its children."""
    times = [sum(each.cpu_times()[:2]) for each in (service, *service.children(recursive=True))]
    return times[0], sum(times[1:])


@contextmanager
def _watched(database: Path, runs: int) -> Iterator[Seen]:
    """What is seen while the block runs."""
    seen, is_over = Seen(), threading.Event()
    watching = threading.Thread(target=_watch, args=(database, runs, seen, is_over))
    watching.start()
    try:
        yield seen
    finally:
        is_over.set()
        watching.join()


def _watch(database: Path, runs: int, seen: Seen, is_over: threading.Event) -> None:
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    while not is_over.wait(1.0):
        rows = connection.execute("SELECT run_id, bound, judged_at FROM run").fetchall()
        now, today = time.monotonic(), datetime.now(timezone.utc)
        for run_id, bound, _ in rows:
            if bound != "unknown":
                seen.first_at.setdefault(run_id, now)
        judged = [at for _, _, at in rows if at is not None]
        if len(judged) == runs:
            seen.oldest_s.append((today - _instant(min(judged))).total_seconds())
            (found_at,) = connection.execute("SELECT min(judged_at) FROM diagnosis").fetchone()
            seen.found_s.append((today - _instant(found_at)).total_seconds())
    connection.close()


def _instant(stored: int) -> datetime:
    return datetime.fromtimestamp(stored / 1e6, timezone.utc)


if __name__ == "__main__":
    main(sys.argv[1:])
