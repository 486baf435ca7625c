"""What a prediction needs to know about a host and no run shows: measured once, before training.

How much longer the same CPU work takes while other cores are busy: hyperthreads share a core, cores share a clock and
a cache (own study: 11 ms of CPU for a batch alone, 20 ms beside a busy sibling). Work that leaves the caches shares the
memory as well, so both kinds are measured. Also what handing a batch to another process takes, which a run without
workers never does.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import random
import statistics
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from underfed.errors import SpoolLockedError
from underfed.host import cgroup, handover, procfs
from underfed.host.files import write_atomically
from underfed.host.handover import Handover
from underfed.host.lock import locked
from underfed.host.memory import read_memory

Curve = list[tuple[float, float]]
"""``(busy cores, CPU time relative to one busy core)``, rising in cores, the first factor 1.0."""

BUDGET_S = 0.3
"""For all points of a curve together: short enough to run before every first training on a host."""

POINTS = 6
WORK_BYTES = 64 << 10
"""Compressing so much takes about 3 ms without the GIL, and stays within a core's own cache, as decoding does."""

COPY_BYTES = 8 << 20
"""Copying so much leaves what a core has as caches of its own."""
MOST_COPIED_BYTES = 256 << 20
"""In memory at once, by all cores that copy: more of them are not measured."""
SPARE_FRACTION = 0.05
"""Of the memory that is left, what copying may take: never the reason why a run is killed."""

PATIENCE_S = 1.0
"""Where srun starts a launcher per rank, the others wait while one measures: their ranks would disturb it."""

QUIET_QUANTILE = 4
"""The fastest quarter of the pieces of work counts: slower ones were disturbed by other processes."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Calibration of one host with one set of CPUs. ``None``: it cannot be measured."""

    cpu_slowdown: Curve
    """Of work that stays within a core's own cache."""
    handover: Handover | None
    memory_slowdown: Curve | None
    """Of work that leaves it, up to as many cores as there is memory for."""
    memory_bytes_per_s: float | None
    """What one core copies."""


def calibrate(data_directory: Path) -> Calibration:
    """Calibrate this host in about 0.8 s with all usable cores busy, unless that was done already.

    Call it before training starts: it would disturb it.
    """
    known = read_cached(data_directory)
    if known is not None:
        return known
    cores = whole_cores()
    measured = Calibration(measure_slowdown(cores), handover.measure_handover(), *measure_memory(cores))
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
    with suppress(OSError, SpoolLockedError), locked(data_directory / "calibration", PATIENCE_S):
        calibrate(data_directory)


def read_cached(data_directory: Path) -> Calibration | None:
    """The calibration stored for this host with these CPUs, or ``None``. Never measures."""
    try:
        known = json.loads(_cache(data_directory).read_text())
        curve = [(float(cores), float(factor)) for cores, factor in known["cpu_slowdown"]]
        handing_over = Handover(**known["handover"]) if known["handover"] else None
        if known["memory_slowdown"] is None:
            return Calibration(curve, handing_over, None, None)
        memory = [(float(cores), float(factor)) for cores, factor in known["memory_slowdown"]]
        return Calibration(curve, handing_over, memory, float(known["memory_bytes_per_s"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


Work = Callable[[], object]
"""A piece of work, which leaves the interpreter to others meanwhile."""


def compressing() -> Work:
    """Text of few letters, which compresses as slowly as real data."""
    text = bytes(random.Random(0).choices(b"acgt", k=WORK_BYTES))
    return lambda: zlib.compress(text)


def copying() -> Work:
    source, target = ((ctypes.c_char * COPY_BYTES).from_buffer(bytearray(COPY_BYTES)) for _ in range(2))
    return lambda: ctypes.memmove(target, source, COPY_BYTES)


def measure_slowdown(cores: int, budget_s: float = BUDGET_S) -> Curve:
    """CPU time of a fixed piece of work within the caches at 1 to ``cores`` busy cores, relative to one."""
    levels = _levels(cores)
    return _relative(levels, [cpu_time_ns(level, budget_s / len(levels)) for level in levels])


def measure_memory(cores: int, budget_s: float = BUDGET_S) -> tuple[Curve, float] | tuple[None, None]:
    """The same of work that leaves the caches, and how many bytes per second one core copies."""
    together = min(MOST_COPIED_BYTES, int(SPARE_FRACTION * _left_bytes()))
    levels = _levels(min(cores, together // (2 * COPY_BYTES)))
    if len(levels) < 2:
        return None, None
    times = [cpu_time_ns(level, budget_s / len(levels), copying) for level in levels]
    return _relative(levels, times), COPY_BYTES / times[0] * 1e9


def _levels(cores: int) -> list[int]:
    return sorted({max(1, round(cores * share / POINTS)) for share in range(1, POINTS + 1)} | {1})


def _relative(levels: Sequence[int], times: Sequence[float]) -> Curve:
    return [(float(level), round(ns / times[0], 3)) for level, ns in zip(levels, times, strict=True)]


def _left_bytes() -> int:
    available, limit = read_memory().available_bytes or 0, cgroup.memory_limit_bytes()
    used = cgroup.memory_used_bytes(cgroup.limiting_memory_group())
    return available if limit is None or used is None else min(available, max(0, limit - used))


def cpu_time_ns(busy: int, seconds: float, prepare: Callable[[], Work] = compressing) -> float:
    """CPU time of one piece of work on the calling thread, while ``busy - 1`` other threads do the same."""
    stop = threading.Event()
    works = [prepare() for _ in range(busy)]
    others = [threading.Thread(target=_work_until, args=(work, stop), daemon=True) for work in works[1:]]
    for other in others:
        other.start()
    deadline = time.monotonic() + seconds
    taken: list[int] = []
    while time.monotonic() < deadline or not taken:
        before = time.thread_time_ns()
        works[0]()
        taken.append(time.thread_time_ns() - before)
    stop.set()
    for other in others:
        other.join()
    return statistics.mean(sorted(taken)[: max(1, len(taken) // QUIET_QUANTILE)])


def whole_cores() -> int:
    """Whole cores that affinity and quota leave, at least one."""
    return max(1, int(cgroup.usable_cores(cgroup.allowed_cpus(), cgroup.quota_cores()) or 1))


def _work_until(work: Work, stop: threading.Event) -> None:
    while not stop.is_set():
        work()


def _cache(data_directory: Path) -> Path:
    """One file for each kind of CPU and set of CPUs."""
    cpus = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    identity = hashlib.sha256(f"{procfs.cpu_model()} {cpus} {whole_cores()}".encode()).hexdigest()[:16]
    return data_directory / "calibration" / f"{identity}.json"
