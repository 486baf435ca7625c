"""Samples one training process, and its workers summed up: CPU time, waiting for a CPU, memory, threads, open files,
what it writes."""

from __future__ import annotations

import os
from collections.abc import Mapping

from underfed.collector.sampling.samples import Row
from underfed.exchange.run_files import RingName
from underfed.host import procfs
from underfed.host.procfs import ProcessUsage

SWAP_SAMPLES = 10
"""Samples between two readings of swapped memory: it changes slowly, and every worker must be read."""

LivingWorkers = Mapping[RingName, ProcessUsage]


class ProcessSampler:
    """Remembers what workers that are gone have used."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._workers_cpu_us: dict[RingName, int] = {}
        self._forgotten_cpu_us = 0
        self._programs_cpu_us = 0
        self._before_us: int | None = None
        """What programs had used by the first sample."""
        self._samples = 0

    def sample(self, workers: LivingWorkers, recorded_cpu_us: Mapping[RingName, int]) -> Row | None:
        """One row, or ``None`` when the process is gone. ``workers`` are the living ones.

        CPU times are cumulative. That of a worker is what was last seen of it, here or in its own newest record
        (``recorded_cpu_us``): a worker may live for less than the second between two samples.
        """
        own = procfs.usage(self._pid)
        if own is None:
            return None
        schedstat = procfs.schedstat(self._pid)
        self._see(recorded_cpu_us)
        self._see({ring: usage.cpu_us + usage.children_cpu_us for ring, usage in workers.items()})
        self._see_programs(own)
        self._samples += 1
        return {
            "main_cpu_us": schedstat and schedstat[0] // 1000,
            "main_runqueue_us": schedstat and schedstat[1] // 1000,
            "process_cpu_us": own.cpu_us,
            "rss_bytes": own.rss_bytes,
            "threads": own.threads,
            "open_files": procfs.open_files(self._pid),
            "swap_bytes": self._swap_bytes(workers),
            "written_bytes": procfs.written_bytes(self._pid),
            "workers_rss_bytes": sum(usage.rss_bytes for usage in workers.values()),
            "workers_cpu_us": self._forgotten_cpu_us + sum(self._workers_cpu_us.values()) + self._programs_cpu_us,
        }

    def forget(self, ring: RingName) -> None:
        """The worker has ended and its ring is gone, so it is sampled no more."""
        self._forgotten_cpu_us += self._workers_cpu_us.pop(ring, 0)

    def _see(self, cpu_us: Mapping[RingName, int]) -> None:
        for ring, seen_us in cpu_us.items():
            self._workers_cpu_us[ring] = max(seen_us, self._workers_cpu_us.get(ring, 0))

    def _see_programs(self, own: ProcessUsage) -> None:
        """What loading starts in the training process, as a decoder, is the run's own. Where there are workers, the
        children that ended may be those: none is counted from then on.
        """
        if self._workers_cpu_us or self._forgotten_cpu_us:
            return
        others = (pid for pid in procfs.started_by_main(self._pid) if pid != os.getpid())
        living = (usage for pid in others if (usage := procfs.usage(pid)) is not None)
        seen_us = own.children_cpu_us + sum(usage.cpu_us + usage.children_cpu_us for usage in living)
        self._before_us = seen_us if self._before_us is None else self._before_us
        self._programs_cpu_us = max(self._programs_cpu_us, seen_us - self._before_us)

    def _swap_bytes(self, workers: LivingWorkers) -> int | None:
        is_swapping = procfs.is_swapping()
        if not is_swapping:
            return None if is_swapping is None else 0
        if self._samples % SWAP_SAMPLES != 1:
            return None
        sizes = (procfs.swap_bytes(pid) for pid in (self._pid, *(usage.pid for usage in workers.values())))
        return sum(size for size in sizes if size is not None)
