"""What one iterator of a watched loader records: the state behind the hot path, and everything beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from underfed.exchange import ring_format, run_files
from underfed.exchange.guard import Guard
from underfed.exchange.ring import RingWriter
from underfed.exchange.ring_format import NOT_MEASURED
from underfed.host.clock import now_ns
from underfed.trainer.hooks.batch_shape import measure_batch
from underfed.trainer.loading.collate import KEY as COLLATE
from underfed.trainer.loading.collate import CollateTimer
from underfed.trainer.loading.probe import Probe, Usage
from underfed.trainer.loading.worker import WorkerPlan

if TYPE_CHECKING:
    from underfed.trainer.device.device_clock import DeviceClock

STEP_CAPACITY = 4096
"""256 KB a loader: a second of steps of 250 µs, where the collector drains four times a second."""

KEPT_ITERATORS = 4
"""Rings of workers of older iterators are removed, drained or not: files stay bounded without a collector."""

EARLY_STEPS = 32
"""A loader's first steps are all looked at closely, so that a short run has evidence too."""

MEASURING_SHARE = 500
"""Later at most one part in so many of the training's time goes into measuring how batches are loaded. One batch
takes from 13 µs in a tight loop to 120 µs where 100 ms of computing have emptied the caches in between."""

SAMPLED_OVERHEAD = 61
"""Our own time on the training thread is measured so often in steps that are not looked at closely otherwise. A prime
number: else it would always, or never, be a step in which the device is timed too."""

TIMED_SHARE = 0.6
"""So much of our own time in a step lies between the readings of the clock. The rest is the calls from torch's code
into ours, and what we do at the drawing of an index and at a batch's arrival: about as much with workers as without
(``benchmarks/overhead``). What the device clock costs lies between the readings altogether."""

NEVER_NS = 1 << 62
LONG_WAIT_NS = 50_000
"""A batch that is made within this time need not be watched for on the device each time."""


class Reporter(Protocol):
    """The recording, as its loaders know it."""

    def began_epoch(self) -> None:
        """At the start of an epoch, on the training thread."""

    def device_clock(self, loader: WatchedLoader) -> DeviceClock | None:
        """Of the device that the loader's batches are for, if that can be read by now."""

    def see_companion(self) -> None:
        """Now and then, on the training thread: start another companion where this run's was killed."""

    def lacks(self, loader: WatchedLoader, reasons: Mapping[str, str | None]) -> None:
        """These facts of the loader are not measured, for these reasons; ``None``: they are now."""


class WatchedLoader:
    """One loader's numbering and step ring, shared by all its iterators. Changed on the training thread only."""

    __slots__ = (
        "directory",
        "epochs",
        "guard",
        "index",
        "is_prefetched",
        "iterators",
        "name",
        "reporter",
        "ring",
        "shape_is_known",
        "steps",
        "threads_per_worker",
    )

    def __init__(self, index: int, name: str, directory: Path, guard: Guard, reporter: Reporter) -> None:
        self.index = index
        self.name = name
        self.directory = directory
        self.guard = guard
        self.reporter = reporter
        self.ring: RingWriter | None = None
        self.steps = self.epochs = self.iterators = 0
        self.shape_is_known = False
        self.is_prefetched = False
        """By ``underfed.prefetch``."""
        self.threads_per_worker: int | None = None
        """As ``--set threads_per_worker`` asked."""

    def open(self, fetches_ahead: bool = False) -> Session:
        """A session for a new iterator. Makes the step ring for the first."""
        if self.ring is None:
            self.ring = RingWriter(run_files.step_ring(self.directory, self.index), STEP_CAPACITY)
        session = Session(self, self.ring, self.iterators, fetches_ahead)
        self.iterators += 1
        if session.iterator >= KEPT_ITERATORS:
            run_files.remove_batch_rings(self.directory, self.index, session.iterator - KEPT_ITERATORS)
        return session

    def plan(self, session: Session) -> WorkerPlan:
        return WorkerPlan(
            rings=run_files.batch_rings(self.directory, self.index, session.iterator),
            failures=str(self.directory / run_files.FAILURES),
            threads=self.threads_per_worker,
        )


class Session:
    """Lies in its iterator's ``__dict__`` and ends with it."""

    __slots__ = (
        "arrived",
        "batch_index",
        "began_ns",
        "collate",
        "device",
        "drawn_ns",
        "due_ns",
        "epoch",
        "fetches_ahead",
        "has_waited",
        "in_order",
        "is_made",
        "is_map",
        "is_passive",
        "is_probing",
        "is_watchful",
        "iterator",
        "loader",
        "mask",
        "memory",
        "next_number",
        "pack",
        "pass_index",
        "probe",
        "qsize",
        "received_ns",
        "ring",
        "started_ns",
        "step_head",
    )

    def __init__(self, loader: WatchedLoader, ring: RingWriter, iterator: int, fetches_ahead: bool) -> None:
        self.loader = loader
        self.ring = ring
        self.memory, self.mask, self.pack, self.next_number = ring.memory, ring.mask, ring.pack, ring.next_number
        self.iterator = iterator
        self.fetches_ahead = fetches_ahead
        self.pass_index = -1
        self.started_ns = now_ns()
        self.is_made = False
        """The iterator is complete. Until then, and while it is reset, nothing that happens in it is a step."""
        self.is_passive = False
        """Someone else tells of the steps (``underfed.prefetch``), as this loader's consumer does not ask for them."""
        self.is_watchful = True
        """The next step is looked at closely: it is the first, one of a sample, or its batch is to be measured."""
        self.has_waited = True
        """The last request took long enough for the device to run dry. Known where there is a device."""
        self.is_probing = False
        """How this step's batch is loaded is being measured. Only without workers."""
        self.due_ns = NEVER_NS
        """From then on another batch may be measured."""
        self.began_ns = 0
        self.drawn_ns = 0
        """Time spent drawing indices that no record tells of yet."""
        self.qsize: Callable[[], int] | None = None
        self.in_order = True
        self.is_map = False
        self.probe: Probe | None = None
        self.collate: CollateTimer | None = None
        self.device: DeviceClock | None = None
        self._new_pass()

    def _new_pass(self) -> None:
        self.epoch = self.loader.epochs
        self.loader.epochs += 1
        self.pass_index += 1
        self.step_head = ring_format.head(ring_format.STEP, self.epoch)
        self.arrived = 0
        """Batches that the training process holds or held, this pass."""
        self.received_ns = 0
        self.batch_index = NOT_MEASURED
        self.loader.reporter.began_epoch()
        self.device = self.loader.reporter.device_clock(self.loader)

    def made(self, iterator: Any) -> None:
        """The iterator is complete, its workers are started: note when, and look at what it has."""
        made_ns = now_ns()
        self._look_at(iterator)
        self._write_epoch(made_ns)

    def adopt(self, iterator: Any) -> None:
        """An iterator that was there before it was watched: its next request is a first step."""
        self._look_at(iterator)
        self._write_epoch(NOT_MEASURED)

    def begin_plain(self) -> None:
        """For what is no iterator of torch's."""
        self.is_made = True
        self._write_epoch(now_ns())

    def resetting(self) -> None:
        """A kept iterator begins another pass, with the workers it has. What comes while it does so belongs to the pass
        before, and torch throws it away."""
        self.started_ns = now_ns()
        self.is_made = False
        self.drawn_ns = 0

    def reset(self) -> None:
        self._new_pass()
        self.is_made = True
        self._write_epoch(NOT_MEASURED)

    def begin_probing(self) -> None:
        """Before the request of a step whose batch is to be measured."""
        if self.probe is not None and self.collate is not None:
            self.is_probing = True
            self.collate.restart()
            self.probe.begin()

    def end_watch(self, batch: Any, index: int, entered_ns: int, left_ns: int, done_ns: int) -> None:
        """After it: how the batch was loaded, if that happened here, and what we ourselves cost up to ``done_ns``."""
        self.loader.reporter.see_companion()
        if self.device is None and not self.is_passive:
            self.device = self.loader.reporter.device_clock(self.loader)
        self.is_watchful = self.loader.steps < EARLY_STEPS
        if not self.loader.shape_is_known:
            self.loader.shape_is_known = True
            self.ring.write(ring_format.head(ring_format.BATCH_SHAPE, self.epoch), *measure_batch(batch))
        if self.is_probing and self.probe is not None and self.collate is not None:
            self.is_probing = False
            self._write_batch(self.probe.end(), self.collate, index, entered_ns, left_ns)
        else:
            timed_ns = (entered_ns - self.began_ns) + (done_ns - left_ns)
            own_ns = timed_ns if self.device is not None else round(timed_ns / TIMED_SHARE)
            self.ring.write(ring_format.head(ring_format.OVERHEAD, self.epoch), own_ns)

    def stopped(self, iterator: Any, is_over: bool, entered_ns: int, left_ns: int) -> None:
        """``next()`` raised: there are no more batches, or something failed."""
        kind = ring_format.EXHAUSTED if is_over else ring_format.FAILED
        if not self.is_passive:
            self.ring.write(ring_format.head(kind, self.epoch), entered_ns, left_ns)
        self.is_watchful, self.is_probing = True, False
        self.drawn_ns = 0
        if kind == ring_format.FAILED and self.qsize is not None:
            # A failed batch arrived and was not handed out: count again what waits.
            self.arrived = _arrived(iterator)

    def pinned(self, batch_index: int, started_ns: int) -> None:
        """Also called by the thread that pins."""
        self.ring.write(ring_format.head(ring_format.PIN, self.epoch), batch_index, started_ns, now_ns())

    def _write_epoch(self, made_ns: int) -> None:
        drawn_ns, self.drawn_ns = self.drawn_ns, 0
        self.ring.write(
            ring_format.head(ring_format.EPOCH, self.epoch),
            self.iterator,
            self.pass_index,
            self.started_ns,
            made_ns,
            self.loader.steps,
            drawn_ns << 1 | self.fetches_ahead,
        )

    def _write_batch(self, usage: Usage, collate: CollateTimer, index: int, entered_ns: int, left_ns: int) -> None:
        collate.is_on = False
        self.ring.write(
            ring_format.head(ring_format.BATCH, self.epoch),
            index,
            entered_ns,
            left_ns,
            usage.cpu_ns,
            usage.runqueue_ns,
            collate.elapsed_ns,
        )
        written_ns = now_ns()
        own_ns = (entered_ns - self.began_ns) + (written_ns - left_ns)
        self.ring.write(
            ring_format.head(ring_format.BATCH_DETAIL, self.epoch),
            index,
            usage.process_cpu_ns,
            usage.asked_bytes,
            usage.read_bytes,
            collate.samples,
            own_ns,
        )
        if self.loader.steps >= EARLY_STEPS:
            pause_ns = own_ns * MEASURING_SHARE
            # A batch that takes as long to load pays for the measuring of the next: then each is measured.
            self.is_watchful = pause_ns <= left_ns - entered_ns
            self.due_ns = 0 if self.is_watchful else left_ns + pause_ns

    def _look_at(self, iterator: Any) -> None:
        self.is_made = True
        if iterator._num_workers > 0:
            self._look_at_queues(iterator)
        else:
            self._look_at_fetcher(iterator)

    def _look_at_fetcher(self, iterator: Any) -> None:
        self.due_ns = 0
        self.probe = Probe()
        self.collate = CollateTimer()
        iterator._dataset_fetcher.__dict__[COLLATE] = self.collate

    def _look_at_queues(self, iterator: Any) -> None:
        self.in_order = getattr(iterator, "_in_order", True)
        self.is_map = iterator._dataset_kind == 0
        self.arrived = _arrived(iterator)
        waiting, finished = iterator._data_queue.qsize, iterator._worker_result_queue.qsize
        is_pinning = iterator._data_queue is not iterator._worker_result_queue
        if is_pinning:
            iterator._worker_result_queue.__dict__[PINNING] = self
        try:
            finished()
        except NotImplementedError:
            return  # macOS has no way to count a queue
        # Batches that wait to be pinned are finished too.
        self.qsize = (lambda: waiting() + finished()) if is_pinning else waiting


PINNING = "_underfed"
"""The session's place in the ``__dict__`` of the queue that the pin thread reads."""


def _arrived(iterator: Any) -> int:
    """Batches of this pass that the training process holds or held: handed out, or come early and waiting."""
    handed_out: int = iterator._num_yielded
    return handed_out + sum(len(task) == 2 for task in iterator._task_info.values())
