"""The host as this run may use it: what it has, once, and how busy it is, once a second."""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Mapping
from pathlib import Path

from underfed.collector.sampling.samples import Row
from underfed.collector.sampling.traffic import Traffic
from underfed.collector.wire import HostFacts
from underfed.host import cgroup, procfs
from underfed.host.calibration import read_cached
from underfed.host.files import read_text
from underfed.host.memory import read_memory, shared_memory

CPU_STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
"""Columns of /proc/stat. psutil has them too, but not which CPU a line is about when some are offline."""

NODES_WITH_MEMORY = Path("/sys/devices/system/node/has_memory")

IDLE = ("idle", "iowait")
"""States of a CPU that is free for other work, also while it waits for storage."""


def host_facts(pid: int, data_directory: Path) -> HostFacts:
    """For the process ``pid``, whose affinity and control groups hold."""
    allowed, quota = cgroup.allowed_cpus(pid), cgroup.quota_cores(pid)
    shm_total_bytes, shm_free_bytes = shared_memory()
    memory = read_memory()
    calibration = read_cached(data_directory)
    return HostFacts(
        cpu_model=procfs.cpu_model(),
        cpu_count=os.cpu_count(),
        allowed_cpus=allowed,
        quota_cores=quota,
        usable_cores=cgroup.usable_cores(allowed, quota),
        memory_total_bytes=memory.total_bytes,
        memory_limit_bytes=cgroup.memory_limit_bytes(pid),
        memory_available_bytes=memory.available_bytes,
        swap_total_bytes=memory.swap_total_bytes,
        shm_total_bytes=shm_total_bytes,
        shm_free_bytes=shm_free_bytes,
        open_files_limit=open_files_limit(pid),
        numa_nodes=numa_nodes(),
        cpu_slowdown=calibration.cpu_slowdown if calibration else None,
        memory_slowdown=calibration.memory_slowdown if calibration else None,
        memory_bytes_per_s=calibration.memory_bytes_per_s if calibration else None,
        handover=calibration.handover if calibration else None,
    )


def open_files_limit(pid: int = 0, is_hard: bool = False) -> int | None:
    """How many files the process may have open, or to what it may raise that; 0: the calling process."""
    try:
        limit = resource.prlimit(pid, resource.RLIMIT_NOFILE)[is_hard]
    except (AttributeError, OSError):
        return None  # no Linux, or the process is gone
    return limit if limit >= 0 else None  # negative: unlimited


def numa_nodes() -> int | None:
    """Nodes that have memory."""
    text = read_text(NODES_WITH_MEMORY)
    if text is None:
        return None
    ranges = [each.split("-") for each in text.split(",") if each]
    return sum(int(ends[-1]) - int(ends[0]) + 1 for ends in ranges)


class HostSampler:
    """For the allowed CPUs and the control groups of the process ``pid``."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._cpu_group = cgroup.cpu_group(pid)
        self._memory_group = cgroup.limiting_memory_group(pid)
        self._before: dict[int, tuple[float, float]] = {}
        self._traffic = Traffic()

    def sample(self) -> Row:
        memory = read_memory()
        return {
            "busy_cores": self._busy_cores(),
            "cpu_pressure_us": procfs.pressure("cpu", "total"),
            "io_pressure_us": procfs.pressure("io", "total"),
            "memory_pressure_us": procfs.pressure("memory", "total"),
            "throttled_us": cgroup.throttled_us(self._cpu_group),
            "memory_available_bytes": memory.available_bytes,
            "memory_used_bytes": cgroup.memory_used_bytes(self._memory_group),
            "swap_used_bytes": memory.swap_used_bytes,
            "shm_free_bytes": shared_memory()[1],
            **self._traffic.sample(),
        }

    def _busy_cores(self) -> float | None:
        """Use of the allowed CPUs by all processes since the last sample; ``None`` for the first."""
        before, self._before = self._before, self._cpu_seconds()
        if not before:
            return None
        busy = 0.0
        for cpu, (busy_s, total_s) in self._before.items():
            busy_0, total_0 = before.get(cpu, (busy_s, total_s))
            if total_s > total_0:
                busy += (busy_s - busy_0) / (total_s - total_0)
        return round(max(0.0, busy), 3)

    def _cpu_seconds(self) -> dict[int, tuple[float, float]]:
        """``(busy, total)`` of each allowed CPU since the machine started. Time stolen by other machines is busy."""
        allowed = os.sched_getaffinity(self._pid)
        lines = re.findall(r"^cpu(\d+) (.+)$", Path("/proc/stat").read_text(), re.MULTILINE)
        return {
            int(cpu): _split(dict(zip(CPU_STATES, map(float, ticks.split()), strict=False)))
            for cpu, ticks in lines
            if int(cpu) in allowed
        }


def _split(times: Mapping[str, float]) -> tuple[float, float]:
    """``(busy, total)``. A guest's time is in user and nice already."""
    total = sum(value for state, value in times.items() if not state.startswith("guest"))
    return total - sum(times.get(state, 0.0) for state in IDLE), total
