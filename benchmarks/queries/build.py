"""Builds the store for the requests: long runs written chunk by chunk, as compaction would have left them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sqlalchemy import Connection, update

from benchmarks.ingest.made import STEPS_A_WINDOW
from underfed_server.ingest.decode import decode
from underfed_server.ingest.posted import PostedWindow
from underfed_server.measurements import RECORDED, Column, Columns
from underfed_server.store.databases import tables
from underfed_server.store.store import Store
from underfed_server.store.writing.add_chunks import new_chunks, write_chunks
from underfed_server.store.writing.streams import StreamKey
from underfed_server.store.writing.tail import belongs_to

CHUNK_ROWS = 205 * STEPS_A_WINDOW
"""What compaction makes of windows of 20 steps."""

CHUNKS_A_WRITE = 8
STEP_US = 100_000
LOADER = "train"


@dataclass(frozen=True, slots=True)
class Shape:
    """Of a run."""

    run_id: str
    ranks: int
    steps: int
    has_batches: bool = False


def build_run(store: Store, shape: Shape, say: Callable[[str], None]) -> None:
    """Also its samples of process and host, once a second; ended."""
    for rank in range(shape.ranks):
        key = StreamKey(shape.run_id, rank, 1)
        _announce(store, key, shape)
        figures = np.random.default_rng(rank)
        chunks = list(_starts(shape.steps))
        for first in range(0, len(chunks), CHUNKS_A_WRITE):
            part = chunks[first : first + CHUNKS_A_WRITE]
            made = [_lanes(figures, begin, rows, shape) for begin, rows in part]
            store.write(partial(_lay_down, key, made))
        say(f"{shape.run_id}: rank {rank} of {shape.ranks}")


def _starts(steps: int) -> Iterator[tuple[int, int]]:
    for first in range(0, steps, CHUNK_ROWS):
        yield first, min(CHUNK_ROWS, steps - first)


def _announce(store: Store, key: StreamKey, shape: Shape) -> None:
    """The window that describes the run and says that it ended."""
    window: dict[str, Any] = {
        "version": 1,
        "run_id": key.run_id,
        "rank": key.rank,
        "incarnation": key.incarnation,
        "window_index": 0,
        "previous_window_index": None,
        "started_at": "2026-11-01T10:00:00Z",
        "start_us": 0,
        "end_us": shape.steps * STEP_US,
        "run": {"project": "bench", "name": key.run_id, "world_size": shape.ranks, "hostname": "node-1"},
        "loaders": [{"loader": LOADER, "settings": {"num_workers": 4}}],
        "end": {"status": "finished"},
    }
    body = json.dumps(window).encode()
    store.submit(PostedWindow(decode(body), "gzip", gzip.compress(body, 1))).result(timeout=60)
    # As after a judgement.
    judged = update(tables.run).where(tables.run.c.run_id == key.run_id).values(loader=LOADER)
    store.write(lambda connection: connection.execute(judged).close())


def _lay_down(key: StreamKey, made: list[dict[str, Columns]], connection: Connection) -> None:
    for lanes in made:
        for lane, columns in lanes.items():
            _count(connection, key, lane, columns)
        write_chunks(connection, key, new_chunks(connection, key, lanes))


def _count(connection: Connection, key: StreamKey, lane: str, columns: Columns) -> None:
    """What the writer counts when windows arrive."""
    track = tables.track
    rows = len(next(iter(columns.values())))
    step_us, wait_us = (int(np.nansum(columns.get(name, np.zeros(1)))) for name in ("step_us", "data_wait_us"))
    known = connection.execute(
        update(track)
        .where(belongs_to(track, key), track.c.lane == lane)
        .values(
            rows=track.c.rows + rows,
            next_index=track.c.next_index + (rows if lane.startswith("steps:") else 0),
            step_us_total=track.c.step_us_total + step_us,
            data_wait_us_total=track.c.data_wait_us_total + wait_us,
        )
    )
    if not known.rowcount:
        numbers = {"rows": rows, "next_index": rows, "step_us_total": step_us, "data_wait_us_total": wait_us}
        nothing = dict.fromkeys(("chunks", "chunk_rows", "chunk_bytes", "dropped_chunks", "ladder_bytes"), 0)
        connection.execute(track.insert().values(**key._asdict(), lane=lane, **numbers, **nothing))


def _lanes(figures: np.random.Generator, first: int, rows: int, shape: Shape) -> dict[str, Columns]:
    step_us, wait_us = _durations(figures, rows)
    start_us = first * STEP_US + np.concatenate(([0.0], np.cumsum(step_us)[:-1]))
    lanes = {f"steps:{LOADER}": _steps(figures, first, start_us, step_us, wait_us)}
    seconds = np.arange(first * STEP_US, (first + rows) * STEP_US, 1_000_000, dtype=np.float64)
    if len(seconds):
        lanes |= {"process": _process(figures, seconds), "host": _host(figures, seconds)}
    if shape.has_batches:
        lanes[f"batches:{LOADER}"] = _batches(figures, first, start_us)
    return lanes


def _durations(figures: np.random.Generator, rows: int) -> tuple[Column, Column]:
    """100 ms steps with lognormal waits and 1 % stalls."""
    stalls = np.where(figures.random(rows) < 0.01, 20, 1)
    wait_us = np.round(figures.lognormal(9.5, 0.7, rows) * stalls)
    return np.round(figures.normal(80_000, 2_000, rows)) + wait_us, wait_us


def _steps(figures: np.random.Generator, first: int, start_us: Column, step_us: Column, wait_us: Column) -> Columns:
    """With device times sampled as agents sample them: where a request could block, and in one of 16 others."""
    rows = len(step_us)
    index = first + np.arange(rows, dtype=np.float64)
    depth = figures.integers(0, 9, rows).astype(np.float64)
    timed = (depth == 0) | (index % 16 == 0)
    made = {
        "step_index": index,
        "epoch_index": index // 10_000,
        "batch_index": index % 10_000,
        "start_us": start_us,
        "step_us": step_us,
        "data_wait_us": wait_us,
        "queue_depth": depth,
        "gpu_idle_us": np.where(timed, np.round(wait_us * figures.uniform(0.8, 1, rows)), np.nan),
        "gpu_work_us": np.where(timed, np.round(figures.normal(70_000, 1_500, rows)), np.nan),
        "h2d_us": np.where(timed, np.round(figures.normal(2_000, 60, rows)), np.nan),
    }
    return {name: made.get(name, np.full(rows, np.nan)) for name in RECORDED["steps"]}


def _batches(figures: np.random.Generator, first: int, start_us: Column) -> Columns:
    rows = len(start_us)
    cpu_us = np.round(figures.normal(60_000, 6_000, rows))
    blocked_us = np.round(figures.lognormal(7, 1, rows))
    runqueue_us = np.round(figures.exponential(500, rows))
    load_us = cpu_us + blocked_us + runqueue_us
    index = first + np.arange(rows, dtype=np.float64)
    made = {
        "epoch_index": index // 10_000,
        "batch_index": index % 10_000,
        "worker": index % 4,
        "start_us": start_us + figures.integers(0, 5_000, rows),
        "load_us": load_us,
        "cpu_us": cpu_us,
        "runqueue_us": runqueue_us,
        "blocked_us": blocked_us,
        "collate_us": np.round(figures.normal(1_500, 100, rows)),
        "asked_bytes": figures.integers(3_000_000, 4_000_000, rows).astype(np.float64),
        "read_bytes": np.zeros(rows),
        "samples": np.full(rows, 32.0),
    }
    made["received_us"] = made["start_us"] + load_us + figures.integers(1_000, 6_000, rows)
    return {name: made.get(name, np.full(rows, np.nan)) for name in RECORDED["batches"]}


def _process(figures: np.random.Generator, at_us: Column) -> Columns:
    rows = len(at_us)
    made = {
        "at_us": at_us,
        "main_cpu_us": np.round(at_us * 0.8),
        "process_cpu_us": at_us * 2,
        "workers_cpu_us": np.round(at_us * 1.2),
        "rss_bytes": 3e9 + figures.integers(0, 2_500, rows) * 4_096,
        "threads": np.full(rows, 40.0),
    }
    return {name: made.get(name, np.full(rows, np.nan)) for name in RECORDED["process"]}


def _host(figures: np.random.Generator, at_us: Column) -> Columns:
    rows = len(at_us)
    made = {
        "at_us": at_us,
        "busy_cores": np.round(figures.uniform(2, 4, rows), 2),
        "cpu_pressure_us": np.round(at_us / 100),
        "io_pressure_us": np.round(at_us / 1_000),
        "throttled_us": np.zeros(rows),
        "memory_available_bytes": 2e10 + figures.integers(0, 12_000, rows) * 4_096,
        "swap_used_bytes": np.zeros(rows),
        "shm_free_bytes": 6e7 - figures.integers(0, 9, rows) * 4_096,
    }
    return {name: made.get(name, np.full(rows, np.nan)) for name in RECORDED["host"]}
