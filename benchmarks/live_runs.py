"""Whether judging keeps up with runs that train, and what it costs those that post.

Run it as ``python -m benchmarks.live_runs``. A real ``underfed serve`` on SQLite is sent what the agents of all ranks
send, a window of 20 steps each every two seconds, by this process, on the same cores. Beside it the database is asked
once a second which runs have a verdict and of when. Times are only as good as the machine is idle; CPU is that of the
service, which ingests, and of its children, which judge.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
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

from benchmarks.ingest.posts import post_on_time
from benchmarks.judging import windows_of_ranks
from tests.fakes.environment import clean_environment

EVERY_S = 2.0
"""A window of each rank: 20 steps of 0.1 s."""

JUDGEABLE_WINDOWS = 2
"""A verdict needs 25 steps."""

IN_TIME_S = 20.0


@dataclass(slots=True)
class Seen:
    """What the database told, once a second."""

    first_at: dict[str, float] = field(default_factory=dict)
    """When a run was first seen with a verdict, by the monotonic clock."""
    oldest_s: list[float] = field(default_factory=list)
    """Age of the oldest judgement, in each second in which all runs had one."""


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live_runs", description=__doc__)
    parser.add_argument("--runs", type=int, default=60, help="that train at once (default: %(default)s)")
    parser.add_argument("--ranks", type=int, default=8, help="of each run, on one host (default: %(default)s)")
    parser.add_argument("--seconds", type=int, default=60, help="of training (default: %(default)s)")
    arguments = parser.parse_args(argv)
    runs = [f"run-{number}" for number in range(arguments.runs)]
    streams = _streams(runs, arguments.ranks, int(arguments.seconds / EVERY_S))
    with tempfile.TemporaryDirectory() as directory:
        database = Path(directory, "underfed.db")
        with _serving(database) as (process, port):
            seen, is_over = Seen(), threading.Event()
            watching = threading.Thread(target=_watch, args=(database, len(runs), seen, is_over))
            before = _cpu_s(process)
            begun = time.monotonic()
            watching.start()
            took = asyncio.run(post_on_time(port, streams, EVERY_S))
            passed = time.monotonic() - begun
            spent = [(now - then) / passed for now, then in zip(_cpu_s(process), before, strict=True)]
            is_over.set()
            watching.join()
    judgeable = begun + 0.5 + JUDGEABLE_WINDOWS * EVERY_S
    in_time = sum(at - judgeable <= IN_TIME_S for at in seen.first_at.values())
    waits = np.concatenate([np.array(each) for each in took]) * 1e3
    print(f"{arguments.runs} runs of {arguments.ranks} ranks for {passed:.0f} s; load {os.getloadavg()[0]:.1f}")
    print(f"with a verdict within {IN_TIME_S:.0f} s of the 25th step   {in_time} of {len(runs)}")
    print(f"with a verdict at the end                    {len(seen.first_at)} of {len(runs)}")
    oldest = f"{np.median(seen.oldest_s):.1f} s, at most {max(seen.oldest_s):.1f}" if seen.oldest_s else "–"
    print(f"oldest judgement, second by second: median   {oldest}")
    print(f"post answered: p50, p99                      {np.median(waits):.0f}, {np.percentile(waits, 99):.0f} ms")
    print(f"posts a second                               {len(waits) / passed:.0f}")
    print(f"cores of ingest, of judging                  {spent[0]:.2f}, {spent[1]:.2f}", flush=True)


def _streams(runs: Sequence[str], ranks: int, windows: int) -> list[list[bytes]]:
    """Of each rank of each run, the requests in order."""
    made = windows_of_ranks(ranks, windows)
    return [
        [_request(each[rank].replace(b'"RUN"', b'"' + run_id.encode() + b'"')) for each in made]
        for run_id in runs
        for rank in range(ranks)
    ]


def _request(body: bytes) -> bytes:
    packed = gzip.compress(body, 1)
    head = (
        "POST /api/v1/ingest HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n"
    )
    return head.encode() + packed


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
            seen.oldest_s.append((today - min(map(_instant, judged))).total_seconds())
    connection.close()


def _instant(stored: int) -> datetime:
    return datetime.fromtimestamp(stored / 1e6, timezone.utc)


if __name__ == "__main__":
    main(sys.argv[1:])
