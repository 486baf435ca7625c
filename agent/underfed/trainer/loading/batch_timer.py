"""One worker's measurement of its batches: from taking a task to putting the batch, and once that is on its way.

Of each batch it is recorded when loading it began and ended, and its time on a CPU. What it waited for and read is
measured of each that takes milliseconds, and of so many shorter ones that one part in 200 of the worker's time goes
into it: that takes 35 to 70 µs, and the batch may take less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
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

LONG_NS, LONG_SHARE = 2_000_000, 4
"""A batch is long, too, that takes as many times the mean and so much: measuring is a fiftieth of it."""

MEAN_OF = 16
"""Batches, of the running mean of the time from one to the next."""


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
    counts_samples: bool = False
    """A task that is a list names each sample of its batch. Otherwise they are counted where a batch is measured."""
    is_loading: bool = False
    batch_index: int = 0
    samples: int = NOT_MEASURED
    started_ns: int = 0
    is_measured: bool = False
    """The batch in hand, whatever it takes."""
    measured: int = 0
    unmeasured: int = 0
    """So many batches until the next that is measured, chosen by lot before they are seen: the one that begins, or
    ends, after some time is more often one after a long one, or a long one."""
    pause_ns: int = 0
    """Between two of these, on average. A batch that takes as long is measured, too."""
    mean_ns: int = 0
    """From one batch to the next, of which none counts for more than the pause."""
    random: Callable[[], float] = field(default_factory=lambda: Random().random)
    """Of our own: the program's must go on as without us."""
    began_ns: int = 0
    ended_ns: int = 0
    received: Received | None = field(default_factory=_received_here)

    def taken(self, task: Any) -> None:
        if isinstance(task, tuple):
            self.batch_index = task[0]
            if self.counts_samples:
                self.samples = len(task[1]) if type(task[1]) is list else NOT_MEASURED
            began_ns = now_ns()
            self.mean_ns += (min(began_ns - self.began_ns, self.pause_ns) - self.mean_ns) // MEAN_OF
            self.began_ns = self.started_ns = began_ns
            self.is_measured = not self.unmeasured
            if self.is_measured:
                self.collate.restart()
                self.collate.probe.begin()
                self.started_ns = now_ns()
            else:
                self.unmeasured -= 1
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
        probe = self.collate.probe
        is_measured = self.is_measured or self._is_long(ended_ns - self.started_ns)
        usage = probe.end() if is_measured else probe.cpu_ns()
        if is_no_batch(item[1]):
            return False
        if isinstance(usage, int):
            span_ns = self.started_ns, ended_ns
            self.ring.write(head(SHORT_BATCH, self.pass_index), self.batch_index, *span_ns, usage, self.samples)
        else:
            self._record(ended_ns, usage)
        return True

    def _is_long(self, load_ns: int) -> bool:
        """What its worker read, and waited for a core, since the one that was measured before counts as this one's: of
        what is rare little would be known, were it left to the lot."""
        return load_ns >= self.pause_ns or load_ns >= max(LONG_NS, LONG_SHARE * self.mean_ns)

    def _record(self, ended_ns: int, usage: BatchUsage) -> None:
        collate, span_ns = self.collate, (self.started_ns, ended_ns)
        collate.stop()
        joined = (collate.elapsed_ns, collate.samples) if self.is_measured else (NOT_MEASURED, self.samples)
        write_batch(self.ring, self.pass_index, self.batch_index, span_ns, usage, *joined)
        self.measured += 1
        if self.is_measured:
            own_ns = (self.started_ns - self.began_ns) + (now_ns() - ended_ns)
            self.pause_ns = min(MEASURING_SHARE * own_ns, LONGEST_PAUSE_NS)
        if self.measured >= EARLY_BATCHES:
            between = max(0.0, 2 * self.pause_ns / max(self.mean_ns, 1) - 1)
            drawn = int(self.random() * between)
            # After a long one more of them may come.
            self.unmeasured = drawn if self.is_measured else min(drawn, self.unmeasured)

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
