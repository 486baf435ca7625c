"""One worker's measurement of its batches: from taking a task to putting the batch, and once that is on its way.

Of each batch it is recorded when loading it began and ended. What that took of the processor, and read, is measured of
each that takes milliseconds, and of so many shorter ones that one part in 200 of the worker's time goes into it: that
takes 35 to 70 µs, and the batch may take less.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from underfed.exchange.ring import RingWriter
from underfed.exchange.ring_format import NOT_MEASURED, RECEIVED, SHORT_BATCH, head
from underfed.host.clock import now_ns
from underfed.host.signal_handlers import let_through, passing
from underfed.trainer.loading.collate import CollateTimer, awaited
from underfed.trainer.loading.probe import BatchUsage, write_batch
from underfed.trainer.loading.received import Received

NO_BATCHES = ("_IterableDatasetStopIteration", "ExceptionWrapper")
"""What a worker puts into its queue instead of a batch."""

EARLY_BATCHES = 32
"""A worker's first batches are all measured, so that a short run has evidence too."""

MEASURING_SHARE = 200
"""Of what follows, measuring takes at most 1 / this."""

LONGEST_PAUSE_NS = 10_000_000
"""Measuring may be interrupted, and is not that dear then."""


def _received_here() -> Received | None:
    """``None``: this system does not tell what a connection received."""
    with passing(ImportError, OSError, AttributeError):
        return Received()
    return None


@dataclass(slots=True, eq=False)
class BatchTimer:
    """One worker's measurement: from taking a task to putting its batch."""

    ring: RingWriter
    collate: CollateTimer
    pass_index: int = 0
    """A persistent worker gets ``_ResumeIteration`` when the iterator begins another pass."""
    is_loading: bool = False
    batch_index: int = 0
    started_ns: int = 0
    is_measured: bool = False
    """The batch in hand, whatever it takes."""
    measured: int = 0
    due_ns: int = 0
    """From when on the next batch is measured."""
    pause_ns: int = 0
    """Between two of these. A batch that takes as long is measured, too: what was read, and waited for a core, since
    the one before counts as its own, and most of it is."""
    began_ns: int = 0
    ended_ns: int = 0
    received: Received | None = field(default_factory=_received_here)

    def taken(self, task: Any) -> None:
        if isinstance(task, tuple):
            self.batch_index = task[0]
            self.began_ns = self.started_ns = now_ns()
            self.is_measured = self.began_ns >= self.due_ns
            if self.is_measured:
                self.collate.restart()
                self.collate.probe.begin()
                self.started_ns = now_ns()
            else:
                self.collate.probe.begin_again()
            self.is_loading = True
            return
        self.is_loading = False
        if type(task).__name__ == "_ResumeIteration":
            self.pass_index += 1
            awaited.timer = self.collate  # torch's loop creates a new fetcher for each pass

    def loaded(self, item: Any) -> bool:
        """Returns whether this was a batch."""
        if not self.is_loading:
            return False
        self.ended_ns = ended_ns = now_ns()
        self.is_loading = False
        is_short = not self.is_measured and ended_ns - self.started_ns < self.pause_ns
        usage = None if is_short else self.collate.probe.end()
        if is_no_batch(item[1]):
            return False
        if usage is None:
            self.ring.write(head(SHORT_BATCH, self.pass_index), self.batch_index, self.started_ns, ended_ns)
        else:
            self._record(ended_ns, usage)
        return True

    def _record(self, ended_ns: int, usage: BatchUsage) -> None:
        collate, span_ns = self.collate, (self.started_ns, ended_ns)
        collate.stop()
        joined = (collate.elapsed_ns, collate.samples) if self.is_measured else (NOT_MEASURED, NOT_MEASURED)
        write_batch(self.ring, self.pass_index, self.batch_index, span_ns, usage, *joined)
        self.measured += 1
        if self.is_measured and self.measured >= EARLY_BATCHES:
            done_ns = now_ns()
            own_ns = (self.started_ns - self.began_ns) + (done_ns - ended_ns)
            self.pause_ns = min(MEASURING_SHARE * own_ns, LONGEST_PAUSE_NS)
            # The one after a long one is measured, too: short ones that follow are taken to be like it.
            self.due_ns = done_ns + self.pause_ns if ended_ns - self.started_ns < self.pause_ns else 0

    def handed_over(self) -> None:
        """Once a second, when the batch is on its way."""
        received = self.received
        if received is None or self.ended_ns < received.due_ns:
            return
        begun_ns = now_ns()
        try:
            reading = received.read()
        except OSError as error:
            let_through(error)
            self.received = None
            return
        received.rest(begun_ns, now_ns())
        self.ring.write(head(RECEIVED, 0), *reading)


def is_no_batch(item: Any) -> bool:
    """What a worker sends instead of a batch. torchdata's workers send ``(item, worker, state)``."""
    item = item[0] if type(item) is tuple and item else item
    return type(item).__name__ in NO_BATCHES
