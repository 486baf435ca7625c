"""A simulated device: streams that work in order, events, graph capture and an allocator, in one virtual time.

The host's time advances only where a test says so (``host``) and where the host waits for the device; with a
``LiveDevice`` it is the real time. What CUDA forbids
fails here too: reading events that are not complete, touching streams while a graph is captured, recording on a device
without a context. A record that is queried at once is not complete yet, even in an idle stream.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from underfed.host.clock import now_ns
from underfed.trainer.device import cuda

LATENCY_NS = 5_000
"""From the host's call until an idle device has done it (CUDA: 5 to 10 µs)."""

NS_PER_MS = 1_000_000


def ns(milliseconds: float) -> int:
    return round(milliseconds * NS_PER_MS)


class Device:
    """The device as one process uses it; ``now`` is the host's clock in nanoseconds."""

    def __init__(self) -> None:
        self.now = 0
        self.call_ns = 0
        """Time that each call of the driver takes on the host; the device goes on meanwhile."""
        self.default = self.current = Stream(self)
        self.events = 0
        """How many were created."""
        self.synchronizations = 0
        self.is_capturing = False
        self.capture_is_broken = False
        self.error: str | None = None
        """The error of every call from now on, as after an illegal access."""
        self.busy_ns: list[tuple[int, int]] = []
        """Begin and end of each piece of work."""
        self.reads: list[Read] = []
        self.current_index = 0
        self.contexts = {0: 1 << 20}
        """Bytes of tensors on each device that has a context."""

    def host(self, milliseconds: float) -> None:
        """The host does something else."""
        self.now += ns(milliseconds)

    def work(self, milliseconds: float, stream: Stream | None = None, reads: tuple[Any, ...] = ()) -> None:
        """Launch work, asynchronously, that looks at ``reads`` all the time it takes."""
        begin, end = (stream or self.current).run(ns(milliseconds))
        self.busy_ns.append((begin, end))
        self.reads += [Read(tensor.block, tensor.block.version, begin, end) for tensor in reads]

    def synchronize(self, stream: Stream | None = None) -> None:
        self.synchronizations += 1
        self.now = max(self.now, (stream or self.current).done_at)

    @contextmanager
    def on(self, stream: Stream) -> Iterator[None]:
        before, self.current = self.current, stream
        try:
            yield
        finally:
            self.current = before

    @contextmanager
    def capturing(self) -> Iterator[None]:
        self.is_capturing = True
        try:
            yield
        finally:
            self.is_capturing = False

    def idle_ns(self, begin: int, end: int) -> int:
        """How much of this span no work was done in."""
        return end - begin - sum(max(0, min(end, b) - max(begin, a)) for a, b in self.busy_ns)

    def touch(self) -> None:
        """Part of every call of the driver."""
        self.now += self.call_ns
        if self.is_capturing:
            self.capture_is_broken = True
            raise RuntimeError("CUDA error: operation not permitted when stream is capturing")
        if self.error is not None:
            raise RuntimeError(self.error)


class LiveDevice(Device):
    """In real time: the host's clock goes on by itself, and waiting is sleeping."""

    @property
    def now(self) -> int:
        return now_ns()

    @now.setter
    def now(self, later: int) -> None:
        time.sleep(max(0, later - now_ns()) / 1e9)


class Stream:
    """Work that is done in order."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.done_at = 0
        """When all that was launched so far will be done."""
        self.free_blocks: list[Block] = []

    def run(self, duration_ns: int) -> tuple[int, int]:
        begin = max(self.device.now + LATENCY_NS, self.done_at)
        self.done_at = begin + duration_ns
        return begin, self.done_at

    def query(self) -> bool:
        self.device.touch()
        return self.done_at <= self.device.now

    def wait_stream(self, other: Stream) -> None:
        self.device.touch()
        self.done_at = max(self.done_at, other.done_at)


class Event:
    """A mark in a stream."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.at: int | None = None
        device.events += 1

    def record(self, stream: Stream) -> None:
        self.device.touch()
        self.at = stream.run(0)[1]

    def query(self) -> bool:
        self.device.touch()
        return self.at is None or self.at <= self.device.now

    def wait(self, stream: Stream) -> None:
        self.device.touch()
        if self.at is not None:
            stream.done_at = max(stream.done_at, self.at)

    def elapsed_time(self, end_event: Event) -> float:
        self.device.touch()
        if self.at is None or end_event.at is None or not (self.query() and end_event.query()):
            raise RuntimeError("CUDA error: device not ready")
        return (end_event.at - self.at) / NS_PER_MS


class Events:
    """The device as an ``EventSource``."""

    def __init__(self, device: Device) -> None:
        self.device = device

    @property
    def default(self) -> Stream:
        return self.device.default

    def may_be_used(self) -> bool:
        return not self.device.is_capturing

    def is_capturing(self) -> bool:
        return self.device.is_capturing

    def stream(self) -> Stream:
        return self.device.current

    def event(self) -> Event:
        return Event(self.device)


@dataclass(eq=False)
class Block:
    """A piece of memory, on the host or the device, that is overwritten when it is reused."""

    version: int = 0
    written: list[tuple[int, int, int]] = field(default_factory=list)
    """Version, begin and end of each writing."""
    users: list[Stream] = field(default_factory=list)
    """Streams that were recorded for the allocator."""
    usable_at: int = 0

    def write(self, begin: int, end: int) -> None:
        self.version += 1
        self.written.append((self.version, begin, end))


@dataclass(frozen=True)
class Read:
    """A span in which a block must hold one version."""

    block: Block
    version: int
    begin: int
    end: int

    @property
    def is_torn(self) -> bool:
        early = any(version == self.version and end > self.begin for version, _, end in self.block.written)
        return early or any(version > self.version and begin < self.end for version, begin, _ in self.block.written)


def stand_for_cuda(monkeypatch: pytest.MonkeyPatch, device: Device) -> None:
    """Replace the functions of ``torch.cuda`` that the agent calls by this device's."""
    import torch

    class CudaEvent(Event):
        def __init__(self, enable_timing: bool) -> None:
            super().__init__(device)

    def current_stream(index: int) -> Stream:
        return device.current

    def default_stream(index: int) -> Stream:
        return device.default

    public: dict[str, Any] = {
        "is_initialized": lambda: True,
        "current_device": lambda: device.current_index,
        "device_count": lambda: 8,
        "memory_allocated": lambda index: device.contexts[index],
        "current_stream": current_stream,
        "default_stream": default_stream,
        "is_current_stream_capturing": lambda: device.is_capturing,
        "Event": CudaEvent,
    }
    private: dict[str, Any] = {
        "_cuda_hasPrimaryContext": lambda index: index in device.contexts,
        "_cuda_getDevice": lambda: device.current_index,
        "_cuda_getCurrentStream": lambda index: (id(device.current), index, 1),
    }
    for name, answer in public.items():
        monkeypatch.setattr(torch.cuda, name, answer)
    for name, answer in private.items():
        monkeypatch.setattr(torch._C, name, answer, raising=False)
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    monkeypatch.setattr(cuda, "_sources", {})
