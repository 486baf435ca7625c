"""One worker's measurement of its batches: from taking a task to putting the batch, and once that is on its way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from underfed.exchange.ring import RingWriter
from underfed.exchange.ring_format import RECEIVED, head
from underfed.host.clock import now_ns
from underfed.host.signal_handlers import let_through, passing
from underfed.trainer.loading.collate import CollateTimer, awaited
from underfed.trainer.loading.probe import process_cpu_ns, write_batch, write_batch_detail
from underfed.trainer.loading.received import Received

NO_BATCHES = ("_IterableDatasetStopIteration", "ExceptionWrapper")
"""What a worker puts into its queue instead of a batch."""


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
    received: Received | None = field(default_factory=_received_here)

    def taken(self, task: Any) -> None:
        if isinstance(task, tuple):
            self.batch_index = task[0]
            self.collate.restart()
            self.collate.probe.begin()
            self.started_ns = now_ns()
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
        ended_ns = now_ns()
        self.is_loading = False
        usage = self.collate.probe.end()
        if is_no_batch(item[1]):
            return False
        ring, epoch, index, collate = self.ring, self.pass_index, self.batch_index, self.collate
        write_batch(ring, epoch, index, self.started_ns, ended_ns, usage, collate.elapsed_ns)
        write_batch_detail(ring, epoch, index, usage, collate.samples, process_cpu_ns())
        return True

    def handed_over(self) -> None:
        """Once a second, when the batch is on its way."""
        received = self.received
        if received is None or (begun_ns := now_ns()) < received.due_ns:
            return
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
