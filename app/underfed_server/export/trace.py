"""Steps and batches as a trace that Perfetto and ``chrome://tracing`` open: one process a rank, one thread a worker.

The format is Chrome's "Trace Event Format": complete events (``X``) and the names of processes and threads (``M``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from underfed_server.export.steps import Stretch
from underfed_server.model import Run

MOST_WORKERS = 1_000
"""Numbers between the first threads of two loaders."""

Event = dict[str, Any]


def as_trace(run: Run, steps: Iterable[Stretch]) -> Iterator[bytes]:
    """Times are microseconds since the run started."""
    about = {"run_id": run.run_id, "name": run.name, "started_at": run.started_at.isoformat()}
    yield f'{{"displayTimeUnit": "ms", "otherData": {json.dumps(about)}, "traceEvents": ['.encode()
    order = {loader.loader: place for place, loader in enumerate(run.loaders)}
    named: set[tuple[int, int]] = set()
    separator = "\n"
    for stretch in steps:
        events = list(_events(stretch, order[stretch.loader] * MOST_WORKERS, named))
        yield (separator + ",\n".join(map(json.dumps, events))).encode()
        separator = ",\n"
    yield b"\n]}\n"


def _events(stretch: Stretch, thread: int, named: set[tuple[int, int]]) -> Iterator[Event]:
    """``thread``: the number of the loader's first thread; its workers have the following ones."""
    workers = stretch.batches["worker"]
    seen = {thread: f"{stretch.loader}: steps", thread + 1: f"{stretch.loader}: loaded in the training process"}
    loaded = workers[~np.isnan(stretch.batches["load_us"])].tolist()
    used = {thread, *(_thread(thread, worker) for worker in loaded)}
    seen |= {_thread(thread, worker): f"{stretch.loader}: worker {int(worker)}" for worker in np.unique(workers)
             if not np.isnan(worker)}  # fmt: skip
    for number in sorted(used):
        if (stretch.rank, number) not in named:
            named.add((stretch.rank, number))
            yield _named("process_name", stretch.rank, number, f"rank {stretch.rank}")
            yield _named("thread_name", stretch.rank, number, seen[number])
    yield from _steps(stretch, thread)
    yield from _batches(stretch, thread)


def _steps(stretch: Stretch, thread: int) -> Iterator[Event]:
    names = ("step_index", "epoch_index", "batch_index", "start_us", "step_us", "data_wait_us", "queue_depth")
    columns = [stretch.steps[name].tolist() for name in names]
    for index, epoch, batch, start, whole, wait, depth in zip(*columns, strict=True):
        said = {"epoch": int(epoch), "batch": int(batch), "queue_depth": None if np.isnan(depth) else int(depth)}
        # The last step before a pause has no end: it is shown as far as its wait.
        length = wait if np.isnan(whole) else whole
        yield _slice(f"step {int(index)}", stretch.rank, thread, start, length, said)
        yield _slice("wait for data", stretch.rank, thread, start, wait, {})


def _batches(stretch: Stretch, thread: int) -> Iterator[Event]:
    names = ("worker", "start_us", "load_us", "cpu_us", "runqueue_us", "blocked_us", "collate_us", "samples")
    columns = [stretch.batches[name].tolist() for name in names]
    indices = stretch.steps["batch_index"].tolist()
    for index, worker, start, load, cpu, runqueue, blocked, collate, samples in zip(indices, *columns, strict=True):
        if np.isnan(load) or np.isnan(start):
            continue
        parts = {"cpu_us": cpu, "runqueue_us": runqueue, "blocked_us": blocked, "samples": samples}
        said = {name: None if np.isnan(value) else int(value) for name, value in parts.items()}
        place = _thread(thread, worker)
        yield _slice(f"batch {int(index)}", stretch.rank, place, start, load, said)
        if not np.isnan(collate):
            yield _slice("collate", stretch.rank, place, start + load - collate, collate, {})


def _thread(thread: int, worker: float) -> int:
    return thread + 1 if np.isnan(worker) else thread + 2 + int(worker)


def _slice(name: str, rank: int, thread: int, start_us: float, length_us: float, said: Event) -> Event:
    return {
        "name": name,
        "ph": "X",
        "pid": rank,
        "tid": thread,
        "ts": int(start_us),
        "dur": int(length_us),
        "args": said,
    }


def _named(kind: str, rank: int, thread: int, name: str) -> Event:
    return {"name": kind, "ph": "M", "pid": rank, "tid": thread, "args": {"name": name}}
