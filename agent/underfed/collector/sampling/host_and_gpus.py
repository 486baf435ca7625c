"""The host and its GPUs as a run uses them: facts for each rank, and samples that one rank sends for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from underfed.collector.sampling.gpu import GpuSampler
from underfed.collector.sampling.host_sampler import HostSampler, host_facts
from underfed.collector.sampling.samples import Row
from underfed.collector.sampling.traffic import Traffic
from underfed.collector.wire import HostPart
from underfed.exchange.facts import Origin

OpenGpus = Callable[[str | None, str | None], GpuSampler]
Gpus = list[tuple[int, Row]]


class HostAndGpus:
    """Facts are read once for each rank; samples are taken once a second, for one rank."""

    def __init__(self, open_gpus: OpenGpus) -> None:
        self._open_gpus = open_gpus
        self._samplers: dict[tuple[str | None, str | None], GpuSampler] = {}
        self._parts: dict[int, HostPart] = {}
        self._host: tuple[int, HostSampler] | None = None

    def part(self, origin: Origin) -> HostPart:
        """Found when the rank was first seen; its process may be gone meanwhile."""
        if origin.pid not in self._parts:
            gpus = self._gpu_sampler(origin)
            facts = replace(host_facts(origin.pid, Path(origin.data_directory)), gpu_driver=gpus.driver)
            reasons = Traffic().missing | gpus.reasons
            self._parts[origin.pid] = HostPart(facts, gpus.devices, reasons)
        return self._parts[origin.pid]

    def sample(self, origins: Iterable[Origin]) -> tuple[Row | None, Gpus]:
        """Of the host as the first of these ranks may use it, and of all devices that any of them may use."""
        running = list(origins)
        if not running:
            return None, []
        pid = running[0].pid
        if self._host is None or self._host[0] != pid:
            self._host = pid, HostSampler(pid)
        pids = [origin.pid for origin in running]
        samplers = {id(sampler): sampler for sampler in map(self._gpu_sampler, running)}
        rows = {index: row for sampler in samplers.values() for index, row in sampler.sample(pids)}
        return self._host[1].sample(), sorted(rows.items())

    def _gpu_sampler(self, origin: Origin) -> GpuSampler:
        key = origin.visible_devices, origin.device_order
        if key not in self._samplers:
            self._samplers[key] = self._open_gpus(*key)
        return self._samplers[key]
