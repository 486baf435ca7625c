"""What a prediction needs to know about a host and no run shows: measured once, before training.

How much longer the same CPU work takes while other cores are busy: hyperthreads share a core, cores share a clock and
a cache (own study: 11 ms of CPU for a batch alone, 20 ms beside a busy sibling). Also what handing a batch to another
process takes, which a run without workers never does.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import statistics
import threading
import time
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path

from underfed.errors import SpoolLockedError
from underfed.host import cgroup, handover, procfs
from underfed.host.files import write_atomically
from underfed.host.handover import Handover
from underfed.host.lock import locked

Curve = list[tuple[float, float]]
"""``(busy cores, CPU time relative to one busy core)``, rising in cores, the first factor 1.0."""

BUDGET_S = 0.3
"""For all points together: short enough to run before every first training on a host."""

POINTS = 6
WORK_BYTES = 64 << 10
"""Compressing so much takes about 3 ms without the GIL, and stays within a core's own cache, as decoding does."""

PATIENCE_S = 0.5
"""Where srun starts a launcher per rank, the others wait while one measures: their ranks would disturb it."""

QUIET_QUANTILE = 4
"""The fastest quarter of the pieces of work counts: slower ones were disturbed by other processes."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Calibration of one host with one set of CPUs. ``handover``: ``None`` where it cannot be measured."""

    cpu_slowdown: Curve
    handover: Handover | None


def calibrate(data_directory: Path) -> Calibration:
    """Calibrate this host in about 0.5 s with all usable cores busy, unless that was done already.

    Call it before training starts: it would disturb it.
    """
    known = read_cached(data_directory)
    if known is not None:
        return known
    measured = Calibration(measure_slowdown(whole_cores()), handover.measure_handover())
    path = _cache(data_directory)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(asdict(measured)))
    return measured


def calibrate_once(data_directory: Path) -> None:
    """Calibrate the host unless that was done; of processes that start together one does. Raises nothing.

    Where the result cannot be stored nothing is measured: every run would do so again. A single core has no curve.
    """
    if whole_cores() < 2 or read_cached(data_directory) is not None:
        return
    try:
        with locked(data_directory / "calibration", PATIENCE_S):
            calibrate(data_directory)
    except (OSError, SpoolLockedError):
        return


def read_cached(data_directory: Path) -> Calibration | None:
    """The calibration stored for this host with these CPUs, or ``None``. Never measures."""
    try:
        known = json.loads(_cache(data_directory).read_text())
        curve = [(float(cores), float(factor)) for cores, factor in known["cpu_slowdown"]]
        return Calibration(curve, Handover(**known["handover"]) if known["handover"] else None)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def measure_slowdown(cores: int, budget_s: float = BUDGET_S) -> Curve:
    """CPU time of a fixed piece of work at 1 to ``cores`` busy cores, relative to one."""
    levels = sorted({max(1, round(cores * share / POINTS)) for share in range(1, POINTS + 1)} | {1})
    times = [cpu_time_ns(level, budget_s / len(levels)) for level in levels]
    return [(float(level), round(ns / times[0], 3)) for level, ns in zip(levels, times, strict=True)]


def cpu_time_ns(busy: int, seconds: float) -> float:
    """CPU time of one piece of work on the calling thread, while ``busy - 1`` other threads do the same."""
    stop = threading.Event()
    others = [threading.Thread(target=_work_until, args=(stop,), daemon=True) for _ in range(busy - 1)]
    for other in others:
        other.start()
    work, deadline = _work(), time.monotonic() + seconds
    taken: list[int] = []
    while time.monotonic() < deadline or not taken:
        before = time.thread_time_ns()
        zlib.compress(work)
        taken.append(time.thread_time_ns() - before)
    stop.set()
    for other in others:
        other.join()
    return statistics.mean(sorted(taken)[: max(1, len(taken) // QUIET_QUANTILE)])


def whole_cores() -> int:
    """Whole cores that affinity and quota leave, at least one."""
    return max(1, int(cgroup.usable_cores(cgroup.allowed_cpus(), cgroup.quota_cores()) or 1))


def _work_until(stop: threading.Event) -> None:
    work = _work()
    while not stop.is_set():
        zlib.compress(work)


def _work() -> bytes:
    """Text of few letters, which compresses as slowly as real data."""
    return bytes(random.Random(0).choices(b"acgt", k=WORK_BYTES))


def _cache(data_directory: Path) -> Path:
    """One file for each kind of CPU and set of CPUs."""
    cpus = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    identity = hashlib.sha256(f"{procfs.cpu_model()} {cpus} {whole_cores()}".encode()).hexdigest()[:16]
    return data_directory / "calibration" / f"{identity}.json"
