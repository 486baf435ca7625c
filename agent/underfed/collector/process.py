"""Samples one training process and its workers: CPU time, waiting for a CPU, memory, threads."""

from __future__ import annotations

from collections.abc import Mapping

import psutil

from underfed import procfs
from underfed.collector.samples import Row
from underfed.rundir import RingName


class ProcessSampler:
    """Keeps ``Process`` objects: a new one each time would forget what it read before."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self._workers: dict[RingName, psutil.Process] = {}
        self._workers_cpu_us: dict[RingName, int] = {}

    @classmethod
    def of(cls, pid: int) -> ProcessSampler | None:
        """``None`` when the process is gone."""
        try:
            return cls(pid)
        except psutil.Error:
            return None

    def sample(self, worker_pids: Mapping[RingName, int], worker_cpu_us: Mapping[RingName, int]) -> Row | None:
        """One row, or ``None`` when the process is gone.

        CPU times are cumulative. That of a worker is what was last seen of it, here or in its own newest record
        (``worker_cpu_us``): a worker may live for less than the second between two samples.
        """
        schedstat = procfs.schedstat(self._process.pid)
        try:
            with self._process.oneshot():
                cpu = self._process.cpu_times()
                row: dict[str, int | None] = {
                    "main_cpu_us": schedstat and schedstat[0] // 1000,
                    "main_runqueue_us": schedstat and schedstat[1] // 1000,
                    "process_cpu_us": int((cpu.user + cpu.system) * 1e6),
                    "rss_bytes": self._process.memory_info().rss,
                    "threads": self._process.num_threads(),
                }
        except psutil.Error:
            return None
        self._open(worker_pids)
        self._see(worker_cpu_us)
        row["workers_rss_bytes"] = self._sample_workers()
        row["workers_cpu_us"] = sum(self._workers_cpu_us.values())
        return row

    def _open(self, worker_pids: Mapping[RingName, int]) -> None:
        for ring, pid in worker_pids.items():
            if ring not in self._workers_cpu_us:
                self._workers_cpu_us[ring] = 0
                try:
                    self._workers[ring] = psutil.Process(pid)
                except psutil.Error:
                    continue  # gone already; its own records tell its CPU time

    def _sample_workers(self) -> int:
        """Resident memory of the living ones together; pages they share with the trainer count for each."""
        rss_bytes = 0
        for ring, worker in list(self._workers.items()):
            try:
                with worker.oneshot():
                    cpu = worker.cpu_times()
                    rss_bytes += worker.memory_info().rss
            except psutil.Error:
                del self._workers[ring]
                continue
            self._see({ring: int((cpu.user + cpu.system) * 1e6)})
        return rss_bytes

    def _see(self, cpu_us: Mapping[RingName, int]) -> None:
        for ring, seen_us in cpu_us.items():
            self._workers_cpu_us[ring] = max(seen_us, self._workers_cpu_us.get(ring, 0))
