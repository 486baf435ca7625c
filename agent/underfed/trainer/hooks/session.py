"""What one iterator of a watched loader records: the state behind the hot path, and everything beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from underfed.exchange import ring_format, run_files
from underfed.exchange.ring import RingWriter
from underfed.exchange.ring_format import NOT_MEASURED
from underfed.host.clock import now_ns
from underfed.trainer.device.device_clock import DeviceClock
from underfed.trainer.hooks.batch_shape import measure_batch
from underfed.trainer.hooks.watched_loader import WatchedLoader
from underfed.trainer.loading.collate import KEY as COLLATE
from underfed.trainer.loading.collate import CollateTimer
from underfed.trainer.loading.probe import BatchUsage, Probe
from underfed.trainer.loading.worker import WorkerPlan

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


def open_session(loader: WatchedLoader, fetches_ahead: bool = False) -> Session:
    """For a new iterator of the loader. Makes the step ring for the first."""
    if loader.ring is None:
        loader.ring = RingWriter(run_files.step_ring(loader.directory, loader.index), STEP_CAPACITY)
    session = Session(loader, loader.ring, loader.iterators, fetches_ahead)
    loader.iterators += 1
    if session.iterator >= KEPT_ITERATORS:
        run_files.remove_batch_rings(loader.directory, loader.index, session.iterator - KEPT_ITERATORS)
    return session


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
        "is_constructed",
        "is_inspected",
        "is_map",
        "is_passive",
        "is_probing",
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
        self.is_constructed = False
        """The iterator is complete. Until then, and while it is reset, nothing that happens in it is a step."""
        self.is_passive = False
        """Someone else tells of the steps (``underfed.prefetch``), as this loader's consumer does not ask for them."""
        self.is_inspected = True
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
        self.loader.began_epoch()
        self.device = self.loader.device_clock()

    def constructed(self, iterator: Any) -> None:
        """The iterator is complete, its workers are started: note when, and look at what it has."""
        constructed_ns = now_ns()
        self._look_at(iterator)
        self._write_epoch(constructed_ns)

    def adopt(self, iterator: Any) -> None:
        """An iterator that was there before it was watched: its next request is a first step."""
        self._look_at(iterator)
        self._write_epoch(NOT_MEASURED)

    def begin_plain(self) -> None:
        """For what is no iterator of torch's."""
        self.is_constructed = True
        self._write_epoch(now_ns())

    def resetting(self) -> None:
        """A kept iterator begins another pass, with the workers it has. What comes while it does so belongs to the pass
        before, and torch throws it away."""
        self.started_ns = now_ns()
        self.is_constructed = False
        self.drawn_ns = 0

    def reset(self) -> None:
        self._new_pass()
        self.is_constructed = True
        self._write_epoch(NOT_MEASURED)

    def begin_probing(self) -> None:
        """Before the request of a step whose batch is to be measured."""
        if self.probe is not None and self.collate is not None:
            self.is_probing = True
            self.collate.restart()
            self.probe.begin()

    def end_inspection(self, batch: Any, index: int, entered_ns: int, left_ns: int, done_ns: int) -> None:
        """After it: how the batch was loaded, if that happened here, and what we ourselves cost up to ``done_ns``."""
        self.loader.ensure_collector()
        if self.device is None and not self.is_passive:
            self.device = self.loader.device_clock()
        self.is_inspected = self.loader.steps < EARLY_STEPS
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
        self.is_inspected, self.is_probing = True, False
        self.drawn_ns = 0
        if kind == ring_format.FAILED and self.qsize is not None:
            # A failed batch arrived and was not handed out: count again what waits.
            self.arrived = _arrived(iterator)

    def pinned(self, batch_index: int, started_ns: int) -> None:
        """Also called by the thread that pins."""
        self.ring.write(ring_format.head(ring_format.PIN, self.epoch), batch_index, started_ns, now_ns())

    def _write_epoch(self, constructed_ns: int) -> None:
        drawn_ns, self.drawn_ns = self.drawn_ns, 0
        self.ring.write(
            ring_format.head(ring_format.EPOCH, self.epoch),
            self.iterator,
            self.pass_index,
            self.started_ns,
            constructed_ns,
            self.loader.steps,
            drawn_ns << 1 | self.fetches_ahead,
        )

    def _write_batch(self, usage: BatchUsage, collate: CollateTimer, index: int, entered_ns: int, left_ns: int) -> None:
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
            self.is_inspected = pause_ns <= left_ns - entered_ns
            self.due_ns = 0 if self.is_inspected else left_ns + pause_ns

    def _look_at(self, iterator: Any) -> None:
        self.is_constructed = True
        if iterator._num_workers > 0:
            self._look_at_queues(iterator)
        else:
            self._look_at_fetcher(iterator)

    def worker_plan(self) -> WorkerPlan:
        return WorkerPlan(
            rings=run_files.batch_rings(self.loader.directory, self.loader.index, self.iterator),
            failures=str(self.loader.directory / run_files.FAILURES),
            threads=self.loader.threads_per_worker,
        )

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
