"""What it costs the training thread that figures reach trackers, and what the process behind takes beside it.

The first table: µs that a step takes longer in which each is called once, against steps without it in alternating
blocks. Programs call these in every tenth to fiftieth step, and `look` once an iterator, at most every five seconds.
The second: the process that logs to MLflow or writes TensorBoard's events, where this Python has these packages: its
memory, CPU time until its first line was logged, and CPU time of each later one.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import psutil

from benchmarks.overhead.pairs import Bare, Draw, compare
from underfed.collector.trackers.tracker_writer import TrackerWriter
from underfed.exchange import figures, trackers
from underfed.exchange.guard import Guard
from underfed.exchange.parts import write_part
from underfed.exchange.trackers import MLFLOW, TENSORBOARD, Target, Targets
from underfed.trainer import trackers as of_process

STEPS, LINES = 20_000, 20
WORK_BYTES = 1 << 20
"""Touched between steps: a step empties the processor's caches."""

KNOWN = {
    **figures.nothing(),
    "steps": 1_000,
    "page": "http://127.0.0.1:7077/runs/run-1",
    "recent": {"steps": 1_000, **dict.fromkeys(figures.SCALARS, 0.25)},
}


class Calling(Bare):
    """The loop with one more call in each step."""

    def __init__(self, iterator: Iterator[int], call: Callable[[], object]) -> None:
        super().__init__(iterator)
        self._call = call

    def begin(self) -> Draw:
        iterator, call = self.iterator, self._call

        def draw() -> object:
            call()
            return next(iterator)

        return draw


def main() -> None:
    with TemporaryDirectory(prefix="underfed-bench-", dir="/dev/shm") as directory:
        write_part(Path(directory) / figures.FILE, KNOWN)
        in_the_training(Path(directory))
        beside_it(Path(directory))


def in_the_training(directory: Path) -> None:
    path = str(directory / figures.FILE)
    file = figures.FiguresFile(path)
    logs: dict[str, float] = {}
    process = of_process.ProcessTrackers(directory, "", Guard())
    rows: dict[str, Callable[[], object]] = {
        "nothing": lambda: None,
        "a plain read and json.loads": lambda: json.loads(Path(path).read_bytes()),
        "underfed.stats()": file.read,
        "underfed.stats(), newly written": lambda: figures.FiguresFile(path).read(),
        "figures into logs": lambda: logs.update(figures.scalars(file.read())),
        "look, within five seconds": process.look,
    }
    for name, call in rows.items():
        print(f"{name:32} {added_us(call)}")
    with patch.object(of_process, "PAUSE_S", 0.0):
        process = of_process.ProcessTrackers(directory, "", Guard())
        print(f"{'look, no tracker imported':32} {added_us(process.look)}")
        with patch.dict(sys.modules, imported()):
            process = of_process.ProcessTrackers(directory, "", Guard())
            print(f"{'look, MLflow and TensorBoard':32} {added_us(process.look)}")


def imported() -> dict[str, Any]:
    """As a program with both has them."""
    run = SimpleNamespace(info=SimpleNamespace(run_id="m1", experiment_id="7"))
    return {
        "mlflow": SimpleNamespace(get_tracking_uri=lambda: "sqlite:///ml.db"),
        "mlflow.tracking.fluent": SimpleNamespace(active_run=lambda: run),
        of_process.EVENT_WRITER: SimpleNamespace(),
    }


def added_us(call: Callable[[], object]) -> str:
    numbers, touched = count(), bytearray(WORK_BYTES)

    def work() -> None:
        touched.count(1)

    found = compare(Bare(numbers), Calling(numbers, call), work, STEPS)
    return f"{found.typical_us} µs a call"


def beside_it(directory: Path) -> None:
    targets = {
        TENSORBOARD: Target(TENSORBOARD, "events", directory=str(directory / "events")),
        MLFLOW: mlflow_target(directory) if find_spec("mlflow") else None,
    }
    for name, target in targets.items():
        if target is None or find_spec(name) is None:
            print(f"{name:32} is not installed here")
            continue
        write_part(directory / trackers.FILE, Targets([target], sys.executable, sys.path))
        print(f"{name:32} {taken_by(TrackerWriter(directory))}")


def mlflow_target(directory: Path) -> Target:
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{directory}/ml.db")
    with mlflow.start_run() as run:
        return Target(MLFLOW, run.info.run_id, mlflow.get_tracking_uri(), run.info.experiment_id)


def taken_by(writer: TrackerWriter) -> str:
    with patch("underfed.collector.trackers.tracker_writer.EVERY_S", 0.0):
        writer.read()
        writer.pass_on(KNOWN)
        process = psutil.Process(writer.pid)
        first_s = cpu_when_quiet(process)
        for _ in range(LINES):
            writer.pass_on(KNOWN)
        last_s = cpu_when_quiet(process)
        memory = process.memory_info().rss
        writer.end()
        writer.wait(60)
    each_ms = (last_s - first_s) / LINES * 1e3
    return f"{memory / 2**20:.0f} MiB, {first_s:.1f} s of CPU until the first line, {each_ms:.1f} ms each later one"


def cpu_when_quiet(process: psutil.Process) -> float:
    """CPU seconds, once it has used none for a second."""
    used, known = -1.0, 0.0
    while used < known or known == 0.0:
        used = known
        time.sleep(1)
        times = process.cpu_times()
        known = times.user + times.system
    return known


if __name__ == "__main__":
    main()
