"""A stream beside the consumer's, in which batches are copied to the device, and what the copies took.

Streams are reused, by one pass at a time: the device's allocator does not reuse memory of one stream in
another, so a new stream for each epoch would need the memory of another batch each time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from underfed.trainer import batch as batches
from underfed.trainer.device.device_clock import Event, EventSource, nanoseconds

Transform = Callable[[Any], Any]
Report = Callable[..., None]
"""Called with what a COPY record has: nanoseconds of a copy, and of its part that the consumer's stream waited for."""


class Streams(EventSource, Protocol):
    """What a copy stream needs of a device."""

    @property
    def target(self) -> Any:
        """What ``Tensor.to`` takes."""

    def is_capturing(self) -> bool:
        """A graph is captured in the current stream."""

    def side_stream(self) -> Any:
        """A new one."""

    def on(self, stream: Any) -> AbstractContextManager[Any]:
        """Make it the current one."""


@dataclass(slots=True, eq=False)
class Transfer:
    """One batch on its way, and the events around its copy; used again and again."""

    begun: Event
    copied: Event
    done: Event
    """In the copy stream: before the copy, after it, and after the transform."""
    reached: Event
    passed: Event
    """In the consumer's stream: before and after it waits for the copy stream."""
    batch: Any = None
    source: Any = None
    """What copy and transform read, held until they are done."""
    number: int = 0
    """Of the batch, as its loader counts them."""
    is_dropped: bool = False
    report: Report | None = None


class CopyStream:
    """Used by one pass at a time. Never waits for the device."""

    def __init__(self, streams: Streams) -> None:
        self.streams = streams
        self.stream = streams.side_stream()
        self._is_cautious = False
        self._free: list[Transfer] = []
        self._copying: deque[Transfer] = deque()
        self._waited: deque[Transfer] = deque()

    def send(self, batch: Any, transform: Transform | None) -> Transfer:
        """Launch the copy of a batch. Raises what moving or transforming it raises."""
        source = batches.pinned(batch)
        event = self.streams.event
        transfer = self._free.pop() if self._free else Transfer(event(), event(), event(), event(), event())
        tensors = list(batches.tensors(source))
        # Both, as some objects move themselves, and others hide their tensors.
        transfer.source, transfer.is_dropped = (source, tensors), True
        self._wait_for_consumer(tensors)
        with self.streams.on(self.stream):
            try:
                transfer.begun.record(self.stream)
                moved = batches.moved(source, self.streams.target, non_blocking=True)
                transfer.copied.record(self.stream)
                transfer.batch = transform(moved) if transform is not None else moved
                transfer.is_dropped = False
            finally:
                transfer.done.record(self.stream)
                self._copying.append(transfer)
        return transfer

    def deliver(self, transfer: Transfer, is_foreign: bool, report: Report | None) -> Any:
        """The batch, safe to use in the current stream from now on. ``is_foreign``: see ``batch.hand_over``."""
        consumer = self.streams.stream()
        transfer.reached.record(consumer)
        # Not wait_stream(): the copy stream may be copying the next batch already.
        transfer.done.wait(consumer)
        transfer.passed.record(consumer)
        if not batches.hand_over(transfer.batch, consumer, is_foreign):
            self._is_cautious = True
        batch, transfer.batch, transfer.report = transfer.batch, None, report
        self._waited.append(transfer)
        return batch

    def drop(self, transfer: Transfer) -> None:
        """Its batch will not be requested."""
        transfer.batch, transfer.is_dropped = None, True
        if transfer.source is None:
            self._free.append(transfer)

    def settle(self) -> None:
        """Release the batches that the device has finished copying, and report their times."""
        if self.streams.is_capturing():
            return
        while self._copying and self._copying[0].done.query():
            transfer = self._copying.popleft()
            transfer.source = None
            if transfer.is_dropped:
                self._free.append(transfer)
        # Only transfers that were released above: the device continues meanwhile.
        while self._waited and self._waited[0].source is None and self._waited[0].passed.query():
            transfer = self._waited.popleft()
            report, transfer.report = transfer.report, None
            if report is not None:
                report(*copy_times(transfer))
            self._free.append(transfer)

    def _wait_for_consumer(self, tensors: list[Any]) -> None:
        """Let the copy stream wait where the consumer's stream produced the tensors or may still use their memory."""
        if self._is_cautious or any(tensor.device.type != "cpu" for tensor in tensors):
            self.stream.wait_stream(self.streams.stream())


def copy_times(transfer: Transfer) -> tuple[int, int]:
    """The last part of the wait for the copy stream is the transform's, the rest the copy's."""
    copy_ns = nanoseconds(transfer.begun, transfer.copied)
    waited_ns = nanoseconds(transfer.reached, transfer.passed)
    return copy_ns, min(copy_ns, max(0, waited_ns - nanoseconds(transfer.copied, transfer.done)))


_free_streams: dict[Any, list[CopyStream]] = {}


def take_stream(streams: Streams) -> CopyStream:
    """A copy stream that no pass uses, or a new one."""
    free = _free_streams.setdefault(streams, [])
    try:
        return free.pop()
    except IndexError:
        return CopyStream(streams)


def return_stream(copies: CopyStream) -> None:
    _free_streams.setdefault(copies.streams, []).append(copies)
