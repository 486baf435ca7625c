"""Tensors on a simulated device, in memory that is reused as soon as the rules allow.

Real tensors as far as their type and content go. Where they lie is simulated: a block that is freed is written by
whoever allocates next, so a copy or kernel that still reads it sees the wrong version.
"""

from __future__ import annotations

import weakref
from contextlib import AbstractContextManager
from typing import Any

import torch

from tests.fakes.streams import Block, Device, Events, Read, Stream, ns


class Memory:
    """Host and device memory of one process. ``copy_ms``: duration of a copy of one tensor."""

    def __init__(self, device: Device, copy_ms: float = 2.0) -> None:
        self.device = device
        self.copy_ms = copy_ms
        self.locked: list[Block] = []
        """Free, and page-locked."""
        self.alive = 0
        """Tensors that are still referenced."""

    def tensor(self, value: int, place: str = "pageable") -> SimulatedTensor:
        block = self.locked.pop() if place == "pinned" and self.locked else Block()
        if place == "device":
            return self._made(value, place, self.device_block(self.device.current), self.device.current)
        block.write(self.device.now, self.device.now)
        return self._made(value, place, block, None)

    def device_block(self, stream: Stream) -> Block:
        """The block that was freed last in this stream, if the allocator may reuse it."""
        usable = [block for block in stream.free_blocks if block.usable_at <= self.device.now]
        if not usable:
            return Block()
        stream.free_blocks.remove(usable[-1])
        return usable[-1]

    def copied(self, tensor: SimulatedTensor) -> SimulatedTensor:
        """On the device, in the current stream. From pageable memory the host waits."""
        stream = self.device.current
        begin, end = stream.run(ns(self.copy_ms))
        self.device.reads.append(Read(tensor.block, tensor.block.version, begin, end))
        if tensor.place == "pageable":
            self.device.now = end
        block = self.device_block(stream)
        block.write(begin, end)
        return self._made(int(tensor), "device", block, stream)

    def _made(self, value: int, place: str, block: Block, stream: Stream | None) -> SimulatedTensor:
        tensor = torch.tensor(value).as_subclass(SimulatedTensor)
        tensor.memory, tensor.place, tensor.block = self, place, block
        self.alive += 1
        weakref.finalize(tensor, self._let_go, place, block, stream).atexit = False
        return tensor

    def _let_go(self, place: str, block: Block, stream: Stream | None) -> None:
        self.alive -= 1
        if place == "pinned":
            self.locked.append(block)
        if stream is not None:
            block.usable_at = max((user.done_at for user in block.users), default=0)
            block.users.clear()
            stream.free_blocks.append(block)


class SimulatedTensor(torch.Tensor):
    """A number in simulated memory."""

    memory: Memory
    place: str
    block: Block

    @property
    def device(self) -> Any:  # type: ignore[override]
        return torch.device("cuda", 0) if self.place == "device" else torch.device("cpu")

    def is_pinned(self, *_: Any) -> bool:
        return self.place == "pinned"

    def pin_memory(self, *_: Any) -> Any:
        return self.memory.tensor(int(self), "pinned")

    def to(self, *arguments: Any, **named: Any) -> Any:
        return self if self.place == "device" else self.memory.copied(self)

    def record_stream(self, s: Any) -> None:
        self.block.users.append(s)


class SimulatedStreams(Events):
    """The device as the prefetcher uses it."""

    target = torch.device("cuda", 0)

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self.side_streams: list[Stream] = []

    def side_stream(self) -> Stream:
        self.side_streams.append(Stream(self.device))
        return self.side_streams[-1]

    def on(self, stream: Stream) -> AbstractContextManager[None]:
        return self.device.on(stream)
