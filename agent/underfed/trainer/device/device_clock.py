"""The device's own clock: how long it had nothing to do while the training thread sat in ``next()``.

Event A goes into the consumer's stream when ``next()`` is entered, B when it is left. With D the moment that stream
runs dry, A completes at max(entered, D) and B at max(left, D), so B - A is the device's idle time within the wait: 0
where work enqueued before outlasts it, however long the wait was. That is the least an input costs; the wait itself
is the most. Nothing here waits for the device, initialises one, or raises.
"""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass
from typing import Any, Protocol

from underfed.exchange import ring_format
from underfed.exchange.ring import RingWriter
from underfed.exchange.ring_format import NOT_MEASURED
from underfed.host.signal_handlers import let_through, passing
from underfed.trainer.device import cuda

PAIRS = 64
"""Most steps whose events the device has not reached yet. Training hosts run ahead by a few; steps beyond this are not
timed until the device catches up."""

SAMPLED = 17
"""One in so many steps that cannot have blocked, as the batch was ready, is timed. Not every 16th: a loop that logs or
synchronises every 2ⁿ steps would then be timed in these steps alone, or never."""

QUERIES = 2
"""Most queries per step: one, and one more to catch up. Each takes about a microsecond."""

REASON_LENGTH = 200
"""Length of a reason: CUDA's messages continue with debugging advice."""

HEAD = ring_format.head(ring_format.DEVICE, 0)
NS_PER_MS = 1_000_000


class Event(Protocol):
    """A mark in a stream, completed when the device reaches it; ``torch.cuda.Event`` is one."""

    def record(self, stream: Any) -> None: ...

    def query(self) -> bool:
        """Whether the device has reached it."""

    def wait(self, stream: Any) -> None:
        """Let later work in ``stream`` wait until the device has reached it. The host does not wait."""

    def elapsed_time(self, end_event: Any) -> float:
        """Milliseconds from this mark to a later one, both completed."""


class Stream(Protocol):
    """Work that a device does in order; ``torch.cuda.Stream`` is one."""

    def query(self) -> bool:
        """Whether all of it is done."""


class EventSource(Protocol):
    """What the clock needs of a device. No method may wait for it or initialise it."""

    @property
    def default(self) -> Stream:
        """The stream that work goes to where a program names none."""

    def may_be_used(self) -> bool:
        """Not while a graph is captured, outside the thread that trains, or with another device made current."""

    def stream(self) -> Stream:
        """The training thread's current one: the same object as long as it stays the same stream."""

    def event(self) -> Event:
        """A new one, never freed."""


@dataclass(slots=True, eq=False)
class Span:
    """Two events around one ``next()``."""

    a: Event
    b: Event
    current: Stream
    stream: Stream
    """The stream that was current, and the one that was timed."""
    step: int = -1
    idle_ns: int = NOT_MEASURED
    was_busy: bool = False
    """The device still had work when ``next()`` was entered."""


def new_span(source: EventSource, stream: Stream) -> Span:
    """An event is created at its first recording: that cost is paid here."""
    span = Span(source.event(), source.event(), stream, stream)
    span.a.record(stream)
    span.b.record(stream)
    return span


class DeviceClock:
    """Clock of one loader. Writes a DEVICE record for each step that ``left()`` announced, a few steps later.

    Used by one thread. A step that is not timed costs 0.2 µs, a timed one two recordings, one or two queries of
    streams, and later two queries of events. The clocks of one device share its events.
    """

    __slots__ = ("_finished", "_free", "_open", "_pending", "_ring", "_source", "_step", "dropped", "errors", "reason")

    def __init__(self, ring: RingWriter, source: EventSource) -> None:
        self._ring = ring
        self._source = source
        self._open: Span | None = None
        self._pending: deque[Span] = deque()
        """Spans that were left and not seen complete, the oldest first."""
        self._finished: Span | None = None
        """A span complete except for the work of its step, which ends where the next step's span begins."""
        self._step = -1
        self.dropped = 0
        """Steps that were to be timed while no pair was free."""
        self.errors = 0
        self.reason: str | None = None
        """Why this clock has stopped, if it has."""
        try:
            self._free = spans_of(source)
        except Exception as error:
            let_through(error)
            self._free = []
            self._stop(error)

    def entered(self, step: int, must: bool) -> bool:
        """``next()`` is entered. Whether the step is timed: one that ``must`` be, since it can block, and samples."""
        if self._open is not None:  # its next() gave no batch
            self._free.append(self._open)
            self._open = None
        self._step = step
        if self.reason is not None or not (must or step % SAMPLED == 0):
            return False
        try:
            self._open = self._begin(step)
        except Exception as error:
            let_through(error)
            self._stop(error)
        return self._open is not None

    def left(self) -> bool:
        """``next()`` gave a batch. Whether a DEVICE record of the step will follow: not where streams were changed."""
        span, self._open = self._open, None
        if span is None:
            return False
        try:
            if self._source.may_be_used() and self._source.stream() is span.current:
                span.b.record(span.stream)
                self._pending.append(span)
                return True
        except Exception as error:
            let_through(error)
            self._stop(error)
        self._free.append(span)
        return False

    def poll(self) -> None:
        """Write records of the steps that the device has finished meanwhile."""
        if not self._pending and self._finished is None:
            return
        try:
            if self._source.may_be_used():
                self._read()
        except Exception as error:
            let_through(error)
            self._stop(error)

    def _begin(self, step: int) -> Span | None:
        source = self._source
        if not source.may_be_used():
            return None
        if not self._free:
            self.dropped += 1
            return None
        current = stream = source.stream()
        # Queried before A is recorded: A itself takes the device some microseconds, and would look like work.
        was_busy = stream is not source.default and not source.default.query()
        if was_busy:
            stream = source.default  # next() runs within a prefetcher's own stream; the model works in this one
        else:
            was_busy = not stream.query()
        span = self._free.pop()
        span.step, span.current, span.stream, span.was_busy = step, current, stream, was_busy
        span.a.record(stream)
        return span

    def _read(self) -> None:
        for _ in range(QUERIES):
            if not self._pending or not self._pending[0].b.query():
                break
            span = self._pending.popleft()
            span.idle_ns = nanoseconds(span.a, span.b)
            self._write_finished(span)
            self._finished = span
        finished = self._finished
        if finished is not None and not self._pending and self._open is None and finished.step != self._step:
            self._write_finished(None)

    def _write_finished(self, follower: Span | None) -> None:
        """``follower``: the next timed step. The work in between is seen where the host was ahead of the device."""
        finished, self._finished = self._finished, None
        if finished is None:
            return
        self._ring.write(HEAD, finished.step, finished.idle_ns, work_between(finished, follower))
        self._free.append(finished)

    def _stop(self, error: Exception) -> None:
        """An error of the device persists and reaches the user at a call of the program. Here it ends the clock."""
        self.errors += 1
        self.reason = reason_of(error)
        if self._finished is not None:
            self._pending.appendleft(self._finished)
        for span in self._pending:
            self._ring.write(HEAD, span.step, NOT_MEASURED, NOT_MEASURED)
        self._pending.clear()
        self._finished = None


def work_between(span: Span, follower: Span | None) -> int:
    """The device's time for the step of ``span``, including any gap that a slow host left in it."""
    if follower is None or follower.step != span.step + 1 or follower.stream is not span.stream:
        return NOT_MEASURED
    return nanoseconds(span.b, follower.a) if follower.was_busy else NOT_MEASURED


def reason_of(error: Exception) -> str:
    return f"the device failed: {type(error).__name__}: {error}".partition("\n")[0][:REASON_LENGTH]


def nanoseconds(begin: Event, end: Event) -> int:
    """Between two completed events; they resolve half a microsecond."""
    return round(begin.elapsed_time(end) * NS_PER_MS)


def open_device_clock(ring: RingWriter) -> DeviceClock | None:
    """A clock of the device that this process uses, writing into ``ring``; ``None`` where ``device_reason()`` says why.

    The first call for a device creates its events: about a millisecond.
    """
    torch = sys.modules.get("torch")
    with passing(Exception):  # the device has failed, as device_reason() says
        device, _why_not = cuda.find_device(torch)
        source = cuda.source_of(torch, device) if device is not None else None
        return DeviceClock(ring, source) if source is not None and source.may_be_used() else None
    return None


def device_reason() -> str | None:
    """Why there is no device clock now, ``None`` where there can be one. A device may come into use at any time."""
    try:
        return cuda.find_device(sys.modules.get("torch"))[1]
    except Exception as error:
        let_through(error)
        return reason_of(error)


_spans: dict[EventSource, list[Span]] = {}


def spans_of(source: EventSource) -> list[Span]:
    """The free pairs of a device, shared by the clocks of all loaders."""
    if source not in _spans:
        stream = source.stream()
        _spans[source] = [new_span(source, stream) for _ in range(PAIRS)]
    return _spans[source]
