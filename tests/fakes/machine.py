"""A host with a simulated device, and loaders that live there in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tests.fakes.streams import Device, ns
from tests.fakes.tensors import Memory, SimulatedStreams, SimulatedTensor
from underfed.trainer.hooks.session import Session
from underfed.trainer.prefetcher.passes import Pass


class Machine:
    """A simulated host and device, and loaders that live on it."""

    def __init__(self) -> None:
        self.device = Device()
        self.memory = Memory(self.device)
        self.streams = SimulatedStreams(self.device)
        self.closed = 0

    def plain(self, batches: int, load_ms: float = 1.0, place: str = "pageable") -> Iterator[SimulatedTensor]:
        """An iterable of batches, and nothing more."""
        try:
            for number in range(batches):
                self.device.host(load_ms)
                yield self.memory.tensor(number, place)
        finally:
            self.closed += 1

    def prefetch(self, loader: Iterable[Any], transform: Callable[[Any], Any] | None = None) -> Pass:
        return Pass(iter(loader), self.streams, transform)

    def train(self, loader: Iterable[Any], work_ms: float, sync: bool = False) -> list[int]:
        """Train on batches of one tensor. Returns their values."""
        seen = []
        for batch in loader:
            seen.append(int(batch))
            self.device.work(work_ms, reads=(batch,))
            del batch
            if sync:
                self.device.synchronize()
        return seen

    def torn_reads(self) -> int:
        """Copies and kernels that read memory that was already reused, or not yet written."""
        self.device.host(1e6)
        return sum(read.is_torn for read in self.device.reads)


class Queue:
    """The data queue of a loader with workers, in virtual time."""

    def __init__(self, device: Device, finished_ms: Iterable[float]) -> None:
        self.device = device
        self.finished = [ns(each) for each in finished_ms]
        self.taken = 0

    def qsize(self) -> int:
        return sum(each <= self.device.now for each in self.finished) - self.taken


class Worked:
    """An iterator as torch has it with workers: batch k is finished at ``finished_ms[k]``."""

    def __init__(self, machine: Machine, finished_ms: list[float]) -> None:
        self.machine = machine
        self._num_workers = 2
        self._data_queue = self._worker_result_queue = Queue(machine.device, finished_ms)
        self._task_info: dict[int, tuple[int, ...]] = {}
        self._dataset_kind = 0
        self._rcvd_idx = self._num_yielded = 0

    def __iter__(self) -> Worked:
        return self

    def __next__(self) -> SimulatedTensor:
        queue, device = self._data_queue, self.machine.device
        if queue.taken == len(queue.finished):
            raise StopIteration
        device.now = max(device.now, queue.finished[queue.taken])
        queue.taken += 1
        self._rcvd_idx += 1
        self._num_yielded += 1
        session: Session | None = self.__dict__.get("_underfed")
        if session is not None:
            session.arrived += 1
        return self.machine.memory.tensor(self._rcvd_idx - 1)
