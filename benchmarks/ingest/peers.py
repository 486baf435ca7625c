"""The same three metrics of the same steps into MLflow's tracking server and VictoriaMetrics, each in its own format.

MLflow takes ``log-batch`` into its SQLite store, VictoriaMetrics lines of InfluxDB's protocol: one post for each window
of 20 steps here too. Neither recognises a repeated window; MLflow adds it again. A peer is measured where it is
installed: MLflow (``pip install mlflow`` in an environment of its own) and Debian's ``victoria-metrics``.
"""

from __future__ import annotations

import gzip
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import psutil
import uvloop

from benchmarks.ingest.made import STEPS_A_WINDOW, request, requests, windows
from benchmarks.ingest.ours import cpu_s
from benchmarks.ingest.posts import post_all
from benchmarks.ingest.service import serving
from tests.fakes.environment import clean_environment

METRICS = ("step_us", "data_wait_us", "queue_depth")
BUCKETS = 1_000
ASKED = 15
"""How often the overview is requested."""

Windows = Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Peer:
    name: str
    steps_per_s: float
    cpu_us_a_step: float
    bytes_a_step: float
    overview_ms: float
    """One metric over the whole run, for a screen of 1,000 points: the median."""


def ours(runs: int, count: int) -> Peer:
    streams = [requests(f"run-{index}", count, 2, index, with_samples=False) for index in range(runs)]
    streams = [[_without_batches(each) for each in stream] for stream in streams]
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        with serving(place / "underfed.db", judges=False) as service:
            processes = [psutil.Process(service.pid)]
            asked = {"metric": "step_us", "buckets": BUCKETS}
            url = f"http://127.0.0.1:{service.port}/api/v1/runs/run-0/series?{urlencode(asked)}"
            return _measured("Underfed", service.port, streams, processes, lambda: _get(url), _settled, place)


def victoria_metrics(runs: int, count: int) -> Peer | None:
    program = shutil.which("victoria-metrics") or shutil.which("victoria-metrics-prod")
    if program is None:
        return None
    made = [list(windows(f"run-{index}", count, 2, index, with_samples=False)) for index in range(runs)]
    length_us = max(run[-1]["end_us"] for run in made)
    start_us = int(time.time() * 1e6) - length_us
    streams = [[_lines(window, start_us) for window in run] for run in made]
    with tempfile.TemporaryDirectory() as directory:
        port = _free_port()
        command = [
            program,
            f"-storageDataPath={directory}",
            f"-httpListenAddr=127.0.0.1:{port}",
            "-retentionPeriod=10y",
        ]
        with _running(command, f"http://127.0.0.1:{port}/health") as process:
            step_s = max(1, round(length_us / 1e6 / BUCKETS))
            asked = {
                "query": f'max_over_time(step_step_us{{run="run-0"}}[{step_s}s])',
                "start": start_us / 1e6,
                "end": (start_us + length_us) / 1e6,
                "step": step_s,
            }
            url = f"http://127.0.0.1:{port}/api/v1/query_range?{urlencode(asked)}"

            def settle() -> None:
                _get(f"http://127.0.0.1:{port}/internal/force_flush")
                _get(f"http://127.0.0.1:{port}/internal/force_merge")
                time.sleep(5)

            processes = [psutil.Process(process.pid)]
            return _measured("VictoriaMetrics", port, streams, processes, lambda: _get(url), settle, Path(directory))


def mlflow(program: str | None, runs: int, count: int) -> Peer | None:
    program = program or shutil.which("mlflow")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as directory:
        port = _free_port()
        command = [program, "server", "--backend-store-uri", f"sqlite:///{directory}/mlflow.db", "--workers", "1"]
        command += ["--host", "127.0.0.1", "--port", str(port), "--default-artifact-root", f"{directory}/artifacts"]
        with _running(command, f"http://127.0.0.1:{port}/health") as process:
            ids = [_mlflow_run(port) for _ in range(runs)]
            made = [list(windows(f"run-{index}", count, 2, index, with_samples=False)) for index in range(runs)]
            streams = [[_log_batch(run_id, each) for each in run] for run_id, run in zip(ids, made, strict=True)]
            asked = {"run_ids": ids[0], "metric_key": "step_us", "max_results": BUCKETS}
            place = "ajax-api/2.0/mlflow/metrics/get-history-bulk-interval"
            url = f"http://127.0.0.1:{port}/{place}?{urlencode(asked)}"
            parent = psutil.Process(process.pid)
            processes = [parent, *parent.children(recursive=True)]
            return _measured("MLflow", port, streams, processes, lambda: _get(url), _settled, Path(directory))


def _measured(
    name: str,
    port: int,
    streams: Sequence[Sequence[bytes]],
    processes: Sequence[psutil.Process],
    overview: Callable[[], object],
    settle: Callable[[], None],
    place: Path,
) -> Peer:
    before, begun = sum(map(cpu_s, processes)), time.perf_counter()
    uvloop.run(post_all(port, streams))
    seconds = time.perf_counter() - begun
    steps = sum(map(len, streams)) * STEPS_A_WINDOW
    settle()
    # What is done after the answer, such as merging, is part of the cost of the steps.
    spent = sum(map(cpu_s, processes)) - before
    asked = [_timed(overview) for _ in range(ASKED)]
    # Stopped in order: logs that are written beside the data are in them then.
    processes[0].terminate()
    psutil.wait_procs(processes, timeout=60)
    stored = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    return Peer(name, steps / seconds, spent / steps * 1e6, stored / steps, statistics.median(asked) * 1e3)


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _settled() -> None:
    """Wait until everything that was acknowledged is in its final place on disk."""
    time.sleep(2)


def _without_batches(post: bytes) -> bytes:
    head, _, packed = post.partition(b"\r\n\r\n")
    window = json.loads(gzip.decompress(packed))
    path = head.split()[1].decode()
    return request(path, json.dumps(window | {"batches": []}, separators=(",", ":")).encode())


def _lines(window: dict[str, Any], start_us: int) -> bytes:
    """One line a step, at the step's own millisecond."""
    steps = window["steps"][0]
    at_us = window["start_us"]
    lines = []
    for values in zip(*(steps[metric] for metric in METRICS), strict=True):
        fields = ",".join(f"{metric}={value}" for metric, value in zip(METRICS, values, strict=True))
        lines.append(f"step,run={window['run_id']} {fields} {(start_us + at_us) * 1_000}")
        at_us += values[0]
    return request("/write", "\n".join(lines).encode())


def _log_batch(run_id: str, window: dict[str, Any]) -> bytes:
    steps = window["steps"][0]
    first = steps["first_step_index"]
    metrics = [
        {"key": metric, "value": value, "timestamp": (window["start_us"] + index) // 1_000, "step": first + index}
        for metric in METRICS
        for index, value in enumerate(steps[metric])
    ]
    body = json.dumps({"run_id": run_id, "metrics": metrics}).encode()
    head = "POST /api/2.0/mlflow/runs/log-batch HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _mlflow_run(port: int) -> str:
    url = f"http://127.0.0.1:{port}/api/2.0/mlflow/runs/create"
    asked = Request(url, json.dumps({"experiment_id": "0"}).encode(), {"Content-Type": "application/json"})
    with urlopen(asked, timeout=60) as answer:
        return str(json.load(answer)["run"]["info"]["run_id"])


@contextmanager
def _running(command: Sequence[str], health: str) -> Iterator[subprocess.Popen[bytes]]:
    """A peer's server, once it answers."""
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet, env=clean_environment()) as process:
        try:
            deadline = time.monotonic() + 120
            while True:
                try:
                    _get(health)
                    break
                except (URLError, OSError):
                    if process.poll() is not None or time.monotonic() > deadline:
                        sys.exit(f"{command[0]} does not answer")
                    time.sleep(0.2)
            yield process
        finally:
            if process.poll() is None:
                for child in psutil.Process(process.pid).children(recursive=True):
                    child.terminate()
                process.terminate()


def _free_port() -> int:
    import socket

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _get(url: str) -> bytes:
    with urlopen(url, timeout=60) as answer:
        body: bytes = answer.read()
        return body
