"""How long the list of runs takes: a store of 5,000 runs of 8 ranks, with the requests of page, terminal and scripts.

Run it as ``python -m benchmarks.runs``. The times are the service's own, without the network: a request of the route
``/runs`` from the request to the bytes of its answer.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, insert

from underfed_server.store.databases import tables
from underfed_server.store.runs.listing import RunFilter
from underfed_server.store.store import Store

RANKS = 8
STEPS = 40_000
RUNNING = 20
"""How many of all runs have not ended."""
CAUSES = ("storage_wait", "too_few_workers", "cpu_limited", "slow_samples")
BATCH = 250
"""Runs in one transaction while the store is built."""

QUESTIONS = {
    "all runs in one page": RunFilter(sort="-hours_lost", limit=5_000),
    "the page's first 200": RunFilter(sort="-hours_lost", limit=200),
    "100, the newest first": RunFilter(limit=100),
    "100 by an expression": RunFilter(q="num_workers<8 host:gpu-03 tag:imagenet bound:data", limit=100),
    "100 by a word": RunFilter(q="resnet", limit=100),
}


def main(argv: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runs", description=__doc__)
    parser.add_argument("--runs", type=int, default=5_000, help="in the store (default: %(default)s)")
    parser.add_argument("--times", type=int, default=20, help="each question is asked (default: %(default)s)")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as directory:
        store = Store(f"sqlite:///{Path(directory, 'underfed.db')}")
        try:
            build_runs(store, arguments.runs)
            print(f"{'of ' + format(arguments.runs, ',') + ' runs':<26}{'median ms':>11}{'p95 ms':>9}{'kB':>9}")
            for name, asked in QUESTIONS.items():
                print_times(name, partial(store.runs, asked), arguments.times)
        finally:
            store.close()


def print_times(name: str, ask: Callable[[], bytes], times: int) -> None:
    took_ms = []
    for _ in range(times):
        began = time.perf_counter()
        answer = ask()
        took_ms.append((time.perf_counter() - began) * 1_000)
    p95 = statistics.quantiles(took_ms, n=20)[-1]
    print(f"{name:<26}{statistics.median(took_ms):11.1f}{p95:9.1f}{len(answer) / 1_000:9.1f}", flush=True)


def build_runs(store: Store, count: int) -> None:
    """Fill an empty store with judged runs of the last two weeks, as windows and judgements would have left them."""
    figures = random.Random(5)
    now = store.now()
    for first in range(0, count, BATCH):
        made = [_run(figures, index, now) for index in range(first, min(count, first + BATCH))]
        store.write(partial(_insert, runs=made))


def _insert(connection: Connection, runs: Sequence[dict[str, Any]]) -> None:
    rows: dict[Table, list[dict[str, Any]]] = {tables.run: list(runs)}
    for run in runs:
        for table, row in _beside(run):
            rows.setdefault(table, []).append({"run_id": run["run_id"]} | row)
    for table, filled in rows.items():
        connection.execute(insert(table), filled)


def _run(figures: random.Random, index: int, now: datetime) -> dict[str, Any]:
    is_running = index < RUNNING
    age = timedelta(hours=figures.uniform(0, 13 * 24))
    ended_at = now if is_running else now - age
    used, stall = figures.uniform(1, 60), figures.random() ** 2
    name = f"{figures.choice(('resnet50', 'vit-b16', 'unet3d', 'whisper-sm'))}-{index}"
    return {
        "run_id": f"run-{index:05d}",
        "project": figures.choice(("vision", "speech", "text", "medical")),
        "name": name,
        "job": f"job-{index % 300}",
        "user": figures.choice(("ada", "grace", "wei", "lena", "jonas")),
        "tags": {"dataset": "imagenet", "imagenet": "", "team": figures.choice("abc")},
        "notes": "",
        "command": ["python", "train.py", "--lr", "0.1", "--data", "/data/imagenet"],
        "config": {f"option_{number}": figures.random() for number in range(30)},
        "overrides": {},
        "world_size": RANKS,
        "started_at": ended_at - timedelta(hours=used / RANKS),
        "last_seen_at": ended_at,
        "changed_at": ended_at,
        "judged_at": ended_at,
        "judged_status": "running" if is_running else "finished",
        "ended_at": None if is_running else ended_at,
        "open_ranks": RANKS if is_running else 0,
        "crashed_ranks": 0,
        "loader": "train",
        "bound": "data" if stall > 0.2 else "compute",
        "level": "bound" if stall > 0.2 else "healthy",
        "cause": figures.choice(CAUSES) if stall > 0.05 else None,
        "data_stall_fraction": stall,
        "steps_per_s": figures.uniform(0.5, 20),
        "samples_per_s": figures.uniform(50, 2_000),
        "step_us": figures.randrange(50_000, 2_000_000),
        "hours_lost": used * stall,
        "gpu_hours_lost": used * stall,
        "hours_used": used,
        "predicted_speedup": 1 + stall,
        "least_speedup": 1 + stall,
        "best_advice": {"change": "num_workers", "from": 4, "to": 12, "predicted_speedup": 1 + stall},
        "spark": [round(figures.random(), 4) for _ in range(40)],
    }


def _beside(run: dict[str, Any]) -> Iterator[tuple[Table, dict[str, Any]]]:
    """What other tables know of it."""
    for key, value in run["tags"].items():
        yield tables.tag, {"key": key, "value": value}
    settings = {"num_workers": 4 + run["step_us"] % 9, "batch_size": 64, "prefetch_factor": 2}
    for loader in ("train", "val"):
        info = {"loader": loader, "settings": settings, "not_measured": {}}
        yield tables.loader, {"loader": loader, "info": info, "num_workers": settings["num_workers"]}
    host = f"gpu-{run['step_us'] % 40:02d}"
    gpu = {"name": "NVIDIA H100 80GB HBM3", "memory_total_bytes": 80 * 2**30}
    devices = [{"gpu_index": index, "uuid": f"GPU-{host}-{index}"} | gpu for index in range(RANKS)]
    for rank in range(RANKS):
        yield from _rank(run, rank, host, devices)


def _rank(
    run: dict[str, Any], rank: int, host: str, devices: list[dict[str, Any]]
) -> Iterator[tuple[Table, dict[str, Any]]]:
    key = {"rank": rank, "incarnation": 1}
    facts = {"cpu_count": 128, "memory_total_bytes": 2**40}
    about = {"hostname": host, "local_rank": rank, "host": facts, "devices": devices, "not_measured": {}}
    yield tables.rank, key | about | {"gpu_name": devices[0]["name"]}
    status = {"has_run": True, "end_status": None if run["ended_at"] is None else "finished"}
    losses = ("dropped_steps", "dropped_batches", "dropped_windows", "rejected_windows", "agent_errors")
    ends = {"last_window_index": STEPS // 20, "started_at": run["started_at"], "end_us": STEPS * run["step_us"]}
    spent = {"overhead_us_total": 1.0, "overhead_steps": STEPS}
    yield tables.stream, key | status | ends | spent | dict.fromkeys(losses, 0)
    for lane in ("steps:train", "steps:val", "batches:train", "process", "worker:0:train", "worker:1:train"):
        rows = STEPS if lane == "steps:train" else STEPS // 50
        totals = {"step_us_total": rows * run["step_us"], "data_wait_us_total": 0}
        chunks = {"chunks": rows // 8_192, "chunk_rows": rows, "chunk_bytes": 5 * rows}
        yield tables.track, key | {"lane": lane, "rows": rows, "next_index": rows} | totals | chunks


if __name__ == "__main__":
    main()
