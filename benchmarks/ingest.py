"""What ingest costs: posts a second, CPU of the service a post, and bytes on disk a step, all in one run.

Run it as ``python -m benchmarks.ingest``. The generator shares the machine with the service, so posts a second are a
lower bound; CPU a post and bytes a step are what to compare. The service runs without its judge, which works once a
second and run however many posts there are.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.fakes.environment import clean_environment

STEPS_A_WINDOW = 20
CONNECTIONS = 16
"""Agents that post at once, each in order."""

CASES = {"steps alone": None, "and batches of 0 workers": 0, "and batches of 2 workers": 2}
"""Columns of a run, and its ``num_workers``; samples of process and host belong to each."""

SERVICE = """
import sys
from underfed_server.__main__ import Server, listen
from underfed_server.judgement import Judgement
from underfed_server.main import create_app
from underfed_server.settings import Settings
settings = Settings("127.0.0.1", 0, sys.argv[1])
with listen(settings) as listening:
    application = create_app(settings, Judgement() if sys.argv[2:] else None)
    print(listening.getsockname()[1], flush=True)
    Server(application).run([listening])
"""


@dataclass(frozen=True, slots=True)
class Result:
    posts: int
    seconds: float
    cpu_us_a_post: float
    p50_ms: float
    p99_ms: float
    wire_bytes_a_step: float
    file_bytes_a_step: float
    used_bytes_a_step: float
    """Of the file, without pages that hot windows left behind and new ones will take."""


def windows(run_id: str, count: int, num_workers: int | None, seed: int) -> Iterator[dict[str, Any]]:
    """100 ms steps with lognormal waits and 1 % stalls, one window of 20 steps every two seconds, ended at last."""
    figures = random.Random(seed)
    at_us = 0
    for index in range(count):
        work = [round(figures.gauss(80_000, 2_000)) for _ in range(STEPS_A_WINDOW)]
        wait = [_wait_us(figures) for _ in range(STEPS_A_WINDOW)]
        step_us = [sum(parts) for parts in zip(work, wait, strict=True)]
        first = index * STEPS_A_WINDOW
        window: dict[str, Any] = {
            "version": 1,
            "run_id": run_id,
            "rank": 0,
            "incarnation": 1,
            "window_index": index,
            "previous_window_index": index - 1 if index else None,
            "started_at": "2026-11-20T10:00:00Z",
            "start_us": at_us,
            "end_us": at_us + sum(step_us),
            "steps": [_steps(first, at_us, step_us, wait, figures if num_workers else None)],
            "batches": [] if num_workers is None else _batches(figures, first, at_us, num_workers),
            "process": _process(figures, at_us),
            "host": _host(figures, at_us),
            "overhead_us": round(figures.uniform(1, 3), 2),
        }
        if index == 0:
            window |= {"run": {"project": "bench", "name": run_id}, "loaders": [{"loader": "train"}]}
        if index == count - 1:
            window["end"] = {"status": "finished"}
        yield window
        at_us += sum(step_us)


def _wait_us(figures: random.Random) -> int:
    return round(figures.lognormvariate(9.5, 0.7) * (20 if figures.random() < 0.01 else 1))


def _steps(first: int, at_us: int, step_us: list[int], wait: list[int], queue: random.Random | None) -> dict[str, Any]:
    return {
        "loader": "train",
        "epoch_index": first // 1_000,
        "first_step_index": first,
        "first_batch_index": first % 1_000,
        "start_us": at_us,
        "step_us": step_us,
        "data_wait_us": wait,
        "queue_depth": None if queue is None else [queue.randrange(5) for _ in step_us],
    }


def _batches(figures: random.Random, first: int, at_us: int, num_workers: int) -> list[dict[str, Any]]:
    """One a step, which is the most: without workers an agent measures only some of them."""
    count = STEPS_A_WINDOW
    cpu = [round(figures.gauss(60_000, 6_000)) for _ in range(count)]
    blocked = [round(figures.lognormvariate(7, 1)) for _ in range(count)]
    runqueue = [round(figures.expovariate(1 / 500)) for _ in range(count)]
    start = [at_us + index * 100_000 + figures.randrange(5_000) for index in range(count)]
    load = [sum(parts) for parts in zip(cpu, blocked, runqueue, strict=True)]
    return [
        {
            "loader": "train",
            "epoch_index": first // 1_000,
            "batch_index": list(range(first % 1_000, first % 1_000 + count)),
            "worker": [index % num_workers for index in range(count)] if num_workers else None,
            "start_us": start,
            "load_us": load,
            "cpu_us": cpu,
            "runqueue_us": runqueue,
            "blocked_us": blocked,
            "collate_us": [round(figures.gauss(1_500, 100)) for _ in range(count)],
            "asked_bytes": [figures.randrange(3_000_000, 4_000_000) for _ in range(count)],
            "read_bytes": [0] * count,
            "samples": [32] * count,
            "received_us": [
                at + spent + figures.randrange(1_000, 6_000) for at, spent in zip(start, load, strict=True)
            ],
        }
    ]


def _process(figures: random.Random, at_us: int) -> dict[str, Any]:
    at = [at_us, at_us + 1_000_000]
    return {
        "at_us": at,
        "main_cpu_us": [each * 8 // 10 for each in at],
        "process_cpu_us": [each * 2 for each in at],
        "workers_cpu_us": [each * 12 // 10 for each in at],
        "rss_bytes": [3_000_000_000 + figures.randrange(10_000_000) for _ in at],
        "threads": [40, 40],
    }


def _host(figures: random.Random, at_us: int) -> dict[str, Any]:
    return {
        "at_us": [at_us, at_us + 1_000_000],
        "busy_cores": [round(figures.uniform(2, 4), 2) for _ in range(2)],
        "cpu_pressure_us": [at_us // 100, at_us // 100 + 9_000],
        "io_pressure_us": [at_us // 1_000, at_us // 1_000 + 900],
        "throttled_us": [0, 0],
        "memory_available_bytes": [20_000_000_000 + figures.randrange(50_000_000) for _ in range(2)],
        "swap_used_bytes": [0, 0],
        "shm_free_bytes": [60_000_000 - figures.randrange(9) * 4_096 for _ in range(2)],
    }


def requests(run_id: str, count: int, num_workers: int | None, seed: int) -> list[bytes]:
    """Whole HTTP requests, made before the clock starts."""
    made = []
    for window in windows(run_id, count, num_workers, seed):
        body = gzip.compress(json.dumps(window, separators=(",", ":")).encode(), 1)
        head = (
            "POST /api/v1/ingest HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Content-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        made.append(head.encode() + body)
    return made


@dataclass(frozen=True, slots=True)
class Service:
    pid: int
    port: int


@contextmanager
def serving(database: Path, *, judges: bool) -> Iterator[Service]:
    command = [sys.executable, "-c", SERVICE, f"sqlite:///{database}", *(["judges"] if judges else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=clean_environment()) as service:
        assert service.stdout is not None
        try:
            yield Service(service.pid, int(service.stdout.readline()))
        finally:
            service.terminate()


async def post_all(port: int, streams: list[list[bytes]]) -> list[float]:
    """Seconds that each post took; every stream in order, all at once."""
    took: list[float] = []

    async def post(stream: list[bytes]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for request in stream:
            begun = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            took.append(time.perf_counter() - begun)
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(body.decode())
        writer.close()

    await asyncio.gather(*(post(stream) for stream in streams))
    return took


def measure(windows_a_stream: int, num_workers: int | None) -> Result:
    streams = [requests(f"run-{index}", windows_a_stream, num_workers, index) for index in range(CONNECTIONS)]
    with tempfile.TemporaryDirectory() as directory:
        database = Path(directory, "underfed.db")
        with serving(database, judges=False) as service:
            process = psutil.Process(service.pid)
            before, begun = sum(process.cpu_times()[:2]), time.perf_counter()
            took = sorted(asyncio.run(post_all(service.port, streams)))
            seconds = time.perf_counter() - begun
            cpu_s = sum(process.cpu_times()[:2]) - before
        stored = sum(path.stat().st_size for path in Path(directory).iterdir())
        unused = _unused_bytes(database)
    posts, sent = len(took), sum(len(request) for stream in streams for request in stream)
    steps = posts * STEPS_A_WINDOW
    return Result(
        posts=posts,
        seconds=seconds,
        cpu_us_a_post=cpu_s / posts * 1e6,
        p50_ms=took[posts // 2] * 1e3,
        p99_ms=took[posts * 99 // 100] * 1e3,
        wire_bytes_a_step=sent / steps,
        file_bytes_a_step=stored / steps,
        used_bytes_a_step=(stored - unused) / steps,
    )


def _unused_bytes(database: Path) -> int:
    with closing(sqlite3.connect(database)) as connection:
        free, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("freelist_count", "page_size"))
        return int(free * size)


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ingest", description=__doc__)
    parser.add_argument("--windows", type=int, default=1_030, help="of 20 steps, for each run (default: %(default)s)")
    arguments = parser.parse_args(argv)
    print(f"{CONNECTIONS} runs at once, {arguments.windows * STEPS_A_WINDOW:,} steps each, {STEPS_A_WINDOW} a post")
    heads = ("posts/s", "p50 ms", "p99 ms", "CPU µs/post", "wire B/step", "used B/step", "file B/step")
    print(f"{'columns':<26}" + "".join(f"{head:>13}" for head in heads))
    for name, num_workers in CASES.items():
        result = measure(arguments.windows, num_workers)
        figures = (
            f"{result.posts / result.seconds:,.0f}",
            f"{result.p50_ms:.1f}",
            f"{result.p99_ms:.1f}",
            f"{result.cpu_us_a_post:,.0f}",
            f"{result.wire_bytes_a_step:.1f}",
            f"{result.used_bytes_a_step:.1f}",
            f"{result.file_bytes_a_step:.1f}",
        )
        print(f"{name:<26}" + "".join(f"{figure:>13}" for figure in figures), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
