"""What the agent costs: µs a step on the training thread, and what its companion uses meanwhile.

Run it as ``python -m benchmarks.overhead``. One loop draws from one iterator while the agent is switched off and on
by chance, so that both see the same machine, and the same workers; medians and trimmed means of the time in
``next()`` are compared, the latter with their standard error. The queue is kept full, so that only the agent's own
time can differ. The companion serves the same run, with a service that answers at once.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import torch
from torch.utils.data import DataLoader, Dataset

import underfed
from underfed.hooks.loader import KEY

WARM_STEPS = 500
TRIM = 2
"""Of a hundred on either side: interrupts, and other users of the machine, but not the steps we look at closely."""

CASES: dict[str, tuple[int, float]] = {
    "0 workers, host busy": (0, 0.0),
    "2 workers, host busy": (2, 0.0),
    "2 workers, host waits as for a GPU": (2, 0.001),
}
"""Workers, and how long each step sleeps; a busy step computes for as long as a batch takes to come."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Time in ``next()``, µs."""

    bare_us: float
    watched_us: float
    mean_us: float
    """Trimmed mean of the watched steps above that of the bare ones."""
    error_us: float
    """Standard error of that."""
    told_us: float | None
    """What the agent itself says."""


@dataclass(frozen=True, slots=True)
class Companion:
    cpu_fraction: float
    rss_bytes: int


class Ready(Dataset[int]):
    """A sample costs nothing: what is left is torch's own machinery, and ours."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> int:
        return index


def first(samples: list[int]) -> int:
    return samples[0]


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20_000, help="a case, half of them bare")
    parser.add_argument("--seconds", type=float, default=15.0, help="to watch the companion of a run of 20 ms steps")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    print(f"{'time in next(), µs':36}{'bare':>9}{'watched':>9}{'agent':>9}{'ratio':>8}{'agent, mean':>16}{'says':>8}")
    with recorded() as windows:
        for name, (workers, sleep_s) in CASES.items():
            print_cost(name, measure(windows, workers, sleep_s, options.steps))
    print()
    for workers in (0, 2, 8):
        with recorded() as windows:
            print_companion(workers, watch_companion(workers, options.seconds))


def print_cost(name: str, cost: Cost) -> None:
    told = "–" if cost.told_us is None else f"{cost.told_us:.2f}"
    print(
        f"{name:36}{cost.bare_us:9.2f}{cost.watched_us:9.2f}{cost.watched_us - cost.bare_us:+9.2f}"
        f"{cost.watched_us / cost.bare_us:8.3f}{cost.mean_us:+9.2f} ± {cost.error_us:.2f}{told:>8}"
    )


def print_companion(workers: int, companion: Companion) -> None:
    print(
        f"companion of a loop of 20 ms steps, {workers} workers: "
        f"{companion.cpu_fraction:.2%} of a core, {companion.rss_bytes / 2**20:.1f} MiB"
    )


def measure(windows: list[dict[str, Any]], workers: int, sleep_s: float, steps: int) -> Cost:
    """Switch the agent off and on by chance while one iterator is drawn from."""
    chance = random.Random(0)
    extra: dict[str, Any] = {"prefetch_factor": 64} if workers else {}
    loader = DataLoader(Ready(10**9), batch_size=4, num_workers=workers, collate_fn=first, **extra)
    iterator = iter(underfed.watch(loader, name=f"{workers} workers, {sleep_s} s"))
    session = vars(iterator)[KEY]
    times: tuple[list[int], list[int]] = ([], [])
    busy_ns = 30_000 if not workers else 400_000
    time.sleep(1.0 if workers else 0.0)
    for step in range(steps + WARM_STEPS):
        is_watched = chance.random() < 0.5
        if is_watched:
            # An arrival between two watched steps is not seen, and the session must not think that it is early.
            session.arrived = iterator._num_yielded
            vars(iterator)[KEY] = session
        else:
            vars(iterator).pop(KEY, None)
        time.sleep(sleep_s) if sleep_s else spin(busy_ns)
        entered = time.perf_counter_ns()
        next(iterator)
        left = time.perf_counter_ns()
        if step >= WARM_STEPS:
            times[is_watched].append(left - entered)
    end_workers(iterator)
    bare, watched = times
    return Cost(
        statistics.median(bare) / 1000,
        statistics.median(watched) / 1000,
        (statistics.mean(trimmed(watched)) - statistics.mean(trimmed(bare))) / 1000,
        (standard_error(watched) ** 2 + standard_error(bare) ** 2) ** 0.5 / 1000,
        told(windows, steps),
    )


def end_workers(iterator: Any) -> None:
    """The queues are full: a loop that is left in the middle takes five seconds a worker otherwise."""
    for worker in getattr(iterator, "_workers", ()):
        worker.terminate()


def told(windows: list[dict[str, Any]], steps: int) -> float | None:
    """Mean of ``overhead_us`` over the windows that arrived since the last case."""
    time.sleep(2.5)
    found = [window["overhead_us"] for window in windows if window.get("overhead_us") is not None]
    windows.clear()
    return statistics.mean(found) if found and steps else None


def watch_companion(workers: int, seconds: float) -> Companion:
    """CPU share and memory of the collector while a loop of 20 ms steps runs."""
    loader = underfed.watch(DataLoader(Ready(10**9), batch_size=4, num_workers=workers, collate_fn=first))
    iterator = iter(loader)
    next(iterator)
    companion = find_companion()
    step_until(iterator, time.monotonic() + 3.0)
    before, started = sum(companion.cpu_times()[:2]), time.monotonic()
    step_until(iterator, started + seconds)
    used = sum(companion.cpu_times()[:2]) - before
    result = Companion(used / (time.monotonic() - started), companion.memory_info().rss)
    end_workers(iterator)
    return result


def step_until(iterator: Iterator[int], deadline: float) -> None:
    while time.monotonic() < deadline:
        next(iterator)
        time.sleep(0.02)


def find_companion() -> psutil.Process:
    run_id = os.environ["UNDERFED_RUN_ID"]
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for process in psutil.process_iter(["cmdline"]):
            if any(word.endswith(f"/{run_id}") for word in process.info["cmdline"] or []):
                return process
        time.sleep(0.05)
    sys.exit("the companion did not start")


@contextmanager
def recorded() -> Iterator[list[dict[str, Any]]]:
    """A run with a directory and a service of its own; gives the windows as they arrive."""
    windows: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            window = json.loads(gzip.decompress(self.rfile.read(int(self.headers["Content-Length"]))))
            windows.append(window)
            answer = json.dumps({"next_window_index": window["window_index"] + 1, "wants_run": False}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as directory:
        os.environ.update(
            UNDERFED_URL=f"http://127.0.0.1:{server.server_address[1]}",
            UNDERFED_DIR=str(Path(directory, "data")),
            UNDERFED_RUN_ID=f"overhead-{os.getpid()}-{time.monotonic_ns()}",
            UNDERFED_STRICT="1",
        )
        try:
            yield windows
        finally:
            underfed.finish()
            server.shutdown()
            server.server_close()


def trimmed(values: Sequence[int]) -> Sequence[int]:
    ordered = sorted(values)
    cut = len(ordered) * TRIM // 100
    return ordered[cut : len(ordered) - cut]


def standard_error(values: Sequence[int]) -> float:
    kept = trimmed(values)
    return statistics.stdev(kept) / math.sqrt(len(kept))


def spin(duration_ns: int) -> None:
    deadline = time.perf_counter_ns() + duration_ns
    while time.perf_counter_ns() < deadline:
        pass


if __name__ == "__main__":
    main(sys.argv[1:])
