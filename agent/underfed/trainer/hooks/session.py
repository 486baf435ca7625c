"""What one iterator of a watched loader records: the state that the hot path uses, and all that runs less often."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from mmap import mmap
from typing import Any

from underfed.exchange import ring_format, run_files
from underfed.exchange.ring import RingWriter
from underfed.exchange.ring_format import (
    DEEPEST,
    NOT_MEASURED,
    SAMPLER_SHIFT,
    TIMED,
    head,
    pack_pass,
    pack_request,
    unpack_request,
)
from underfed.host.clock import now_ns
from underfed.host.signal_handlers import let_through
from underfed.trainer.attached import attach, attached, detach
from underfed.trainer.batch import BatchShape, measure_batch
from underfed.trainer.device.device_clock import DeviceClock
from underfed.trainer.hooks.gradients import GraphWatch, grad_enabled
from underfed.trainer.hooks.sampler_timing import SamplerTiming, timing
from underfed.trainer.hooks.watched_loader import WatchedLoader
from underfed.trainer.loading.collate import KEY as COLLATE
from underfed.trainer.loading.collate import CollateTimer
from underfed.trainer.loading.probe import Probe, write_batch
from underfed.trainer.loading.worker import WorkerPlan
from underfed.trainer.narrow_values import fits_uint8

STEP_CAPACITY = 4096
"""Records in a step ring, 256 KB: a second of steps of 250 µs, and the collector drains four times a second."""

STEP_MASK = STEP_CAPACITY - 1
"""Gives the place of a record in it."""

EARLY_STEPS = 32
"""A loader's first steps are all measured closely, so that a short run has evidence too."""

MEASURING_SHARE = 500
"""Later measuring how batches are loaded takes at most 1 / this of the training's time. One batch takes
from 13 µs in a tight loop to 120 µs where 100 ms of computing have emptied the caches in between."""

SAMPLED_OVERHEAD = 61
"""Of the steps that are not measured closely, in every 61st our own time on the training thread is measured. A prime
number: else it would always, or never, be a step in which the device is timed too."""

LOOK_PAUSE_NS = 200_000_000
"""Where steps are short, it is measured in fewer: what runs seldom takes 60 µs each time, as no cache holds it."""

TIMED_SHARE, TIMED_SHARE_OF_WORKERS = 0.6, 0.3
"""This share of our own time in a step is between the readings of the clock. The rest is what our statements take
beside them and in torch's other functions: with workers more, where the batch is received and what was in the caches is
gone each time (``benchmarks/overhead``: 10 µs of CPU time a step, 3 of it between the readings). All of what the device
clock costs is between the readings."""

NEVER_NS = 1 << 62
LONG_WAIT_NS = 50_000
"""A request that is answered within this time need not be timed on the device each time."""


PINNING = "_underfed"
"""The session's name among the attributes of the queue that the pin thread reads."""

KEY = "_underfed"
"""The session's name among its iterator's attributes. The class of all iterators has ``None`` there."""


def open_session(loader: WatchedLoader, fetches_ahead: bool = False, requests_a_step: int = 1) -> Session:
    """For a new iterator of the loader. Creates the step ring for the first."""
    if loader.ring is None:
        loader.ring = RingWriter(run_files.step_ring(loader.directory, loader.index), STEP_CAPACITY)
    return Session(loader, loader.ring, take_number(loader), fetches_ahead, requests_a_step)


def take_number(loader: WatchedLoader) -> int:
    """For another iterator of the loader, whose workers write rings of this number."""
    number = loader.iterators
    loader.iterators += 1
    if number >= loader.kept_iterators:
        run_files.remove_batch_rings(loader.directory, loader.index, number - loader.kept_iterators)
    return number


def stop_recording(iterator: Any, where: str, error: Exception) -> None:
    """Stop recording this iterator; the training goes on. What a signal handler raised does not stop it."""
    let_through(error)
    session: Session | None = attached(iterator, KEY)
    detach(iterator, KEY)
    if session is not None:
        if session.collate is not None:
            session.collate.stop()
        session.loader.guard.failed(where, error)


@dataclass(slots=True, eq=False, kw_only=True)
class EachStep:
    """What is used in each step, and therefore first in memory, side by side: a batch that was loaded has emptied the
    processor's caches, and each line of them is fetched again.
    """

    loader: WatchedLoader = field(kw_only=False)
    is_plain: bool = False
    """Before the next request nothing is done but what the statements in torch's function do."""
    counts_queue: bool = False
    """These count its queue."""
    entered_ns: int = 0
    """When the request in hand was recorded as entered."""
    is_apart: bool = False
    """Steps are not recorded by these statements: there is a device, batches come out of order, or the steps are the
    prefetcher's."""
    has_workers: bool = False
    step_head: int = 0
    request: int = 0
    """Depth of the queue at the request in hand, + 1, with ``TIMED`` where the device is timed, and with the sampler
    time where that is not timed in each step: see ``pack_request``."""
    received_ns: int = 0
    next_look_ns: int = 0
    """A step that ends by then, or later, is looked at."""
    times_sampler: bool = False
    sampler_ns: int = 0
    """Sampler time that is in no record yet."""
    memory: mmap = field(init=False)
    pack: Callable[..., None] = field(init=False)
    next_number: Callable[[], int] = field(init=False)
    """The last three are the ring's, for the one place where a call of ``write`` would cost too much."""
    usual_request: int = 0
    """What ``request`` is without a queue."""
    most_waiting: int = 0
    free_places: Callable[[], int] = int
    """Of the queue that workers put batches into, and of how many, + 1. It belongs to a semaphore: the queue itself
    would keep batches in it after the iterator is gone."""
    arrived: int = 0
    """Batches of this pass that reached the training process."""
    is_constructed: bool = False
    """The iterator is complete. Until then, and while it is reset, nothing that happens in it is a step."""
    in_order: bool = True
    is_map: bool = False
    batch_index: int = NOT_MEASURED
    """Of the batch that came last, where they come out of order."""
    asked_ns: int = 0
    """When the sampler was asked last."""


@dataclass(slots=True, eq=False)
class Session(EachStep):
    """An attribute of its iterator, and ends with it."""

    ring: RingWriter
    iterator: int
    """Its number among the loader's iterators."""
    fetches_ahead: bool
    """Its consumer requests the batch after the one that it hands out."""
    requests_a_step: int = 1
    """Of it: one rank may request for others, too."""
    pass_index: int = -1
    epoch: int = 0
    started_ns: int = field(default_factory=now_ns)
    is_inspected: bool = True
    """The next step is measured closely: it is its pass's first, one of a sample, or its batch is to be measured."""
    due_ns: int = NEVER_NS
    """When the next batch may be measured."""
    look_step: int = 0
    """The next step that may be looked at for the sample follows this one."""
    usual_sampler_ns: int = 0
    """What sampler time is taken for in a step in which it is not timed."""
    qsize: Callable[[Any], int] | None = None
    """Batches that wait in the iterator's queues. It must hold none of these: one holds the session, and a ring of
    references would keep the batches in them after the iterator is gone."""
    probe: Probe | None = None
    is_passive: bool = False
    """``underfed.prefetch`` records the steps: this loader's requests are not its consumer's."""
    has_waited: bool = True
    """The last request took long enough for the device to run dry. Known where there is a device."""
    is_only_looking: bool = False
    """The next request is looked at for the graph alone."""
    is_probing: bool = False
    """How this step's batch is loaded is being measured. Only without workers."""
    look_ns: int = 0
    """The next step that is looked at for the sample is that after ``look_step``, or after a later multiple, from then
    on."""
    began_ns: int = 0
    looked_ns: int = 0
    """Of the request in hand: when we began to look closely, and when that was done."""
    left_ns: int = 0
    """When the step that was looked at last ended."""
    collate: CollateTimer | None = None
    device: DeviceClock | None = None
    is_between_passes: bool = False
    unwritten_pins: deque[tuple[int, int, int]] = field(default_factory=deque)
    """Batches that were pinned while the iterator was reset: their index, begin and end. The number of their pass is
    not known yet, and there are as many as are asked for ahead."""
    graph: GraphWatch = field(init=False)
    sampler: SamplerTiming = field(init=False)

    def __post_init__(self) -> None:
        ring, self.sampler = self.ring, self.loader.sampler
        self.memory, self.pack, self.next_number = ring.memory, ring.pack, ring.next_number
        self._begin_pass()

    def __del__(self, end_timing: Callable[[int], None] = timing.discard) -> None:
        """As Python exits, names of this module may be gone."""
        end_timing(id(self))

    def _begin_pass(self) -> None:
        self.epoch = self.loader.epochs
        self.loader.epochs += 1
        self.loader.number_steps(self.requests_a_step)
        if self.loader.profiler is not None:
            self.loader.profiler.pass_begins(self.loader)
        self.pass_index += 1
        self.step_head = head(ring_format.STEP, self.epoch)
        self.arrived = self.received_ns = 0
        self.batch_index = NOT_MEASURED
        self.graph = GraphWatch()
        self.sampler.begin_pass()
        self._time_sampler(is_on=True, usual_ns=0)
        self._look_closely()
        self.loader.report_versions()
        self.loader.ensure_collector()
        self.time_device(self.loader.device_clock(), is_passive=self.is_passive)

    def time_device(self, device: DeviceClock | None, *, is_passive: bool = False) -> None:
        """Time steps on this device from now on. ``is_passive``: the prefetcher records them."""
        self.device, self.is_passive = device, is_passive
        self.is_apart = device is not None or is_passive or not self.in_order
        self.is_plain = False

    def _time_sampler(self, *, is_on: bool, usual_ns: int) -> None:
        """``usual_ns``: what is recorded where it is not timed."""
        self.times_sampler = is_on and self.sampler_ns != NOT_MEASURED
        self.usual_sampler_ns = usual_ns if self.sampler_ns != NOT_MEASURED else NOT_MEASURED
        self.usual_request = self.request = usual_ns << SAMPLER_SHIFT
        if self.times_sampler:
            timing.add(id(self))
        else:
            timing.discard(id(self))

    def _look_closely(self) -> None:
        """At the next step."""
        self.is_inspected, self.is_plain, self.next_look_ns = True, False, 0

    def constructed(self, iterator: Any, sees_arrivals: bool, constructed_ns: int) -> None:
        """The iterator is complete and its workers are started. ``NOT_MEASURED``: that was before its loader was
        watched, and its next request is a first step."""
        self._read(iterator, sees_arrivals)
        self._write_epoch(constructed_ns)

    def record_continuation(self) -> None:
        """This pass goes on with the one before it, under other settings."""
        self._write(ring_format.CONTINUES)

    def begin_plain(self) -> None:
        """For an iterator that is not torch's."""
        self.is_constructed = True
        self._write_epoch(now_ns())
        self.sampler_ns = NOT_MEASURED
        self._time_sampler(is_on=False, usual_ns=0)

    def resetting(self) -> None:
        """A persistent iterator begins another pass, with the workers it has. What comes while it does so belongs to
        the pass before, and torch throws it away."""
        self.started_ns = now_ns()
        self.is_constructed, self.is_between_passes = False, True
        self._time_sampler(is_on=True, usual_ns=0)
        self.sampler_ns = 0

    def reset(self) -> None:
        self._begin_pass()
        self.is_constructed = True
        self._write_epoch(NOT_MEASURED)
        self.is_between_passes = False
        self._write_pins()

    def not_reset(self) -> None:
        self.unwritten_pins.clear()
        self.is_constructed, self.is_between_passes = True, False

    def ask(self, iterator: Any) -> int:
        """Queue depth + 1 at a request (0: it is not known), with ``TIMED`` where the device is timed in this step."""
        depth = 0
        if self.qsize is not None:
            depth = self.qsize(iterator) + self.arrived - iterator._num_yielded + 1
            depth = max(0, min(depth, DEEPEST))
        if self.device is not None:
            # The queue was empty, or there is none and the last batch took its time.
            must = depth == 1 or (depth == 0 and self.has_waited)
            if self.device.entered(self.loader.steps, must):
                depth |= TIMED
        return depth

    def begin_request(self, iterator: Any, began_ns: int) -> bool:
        """Where the next request is not plain. ``False``: it is none of the training loop's."""
        if self.is_inspected and not self.begin_inspection(began_ns):
            return False
        self.request = self.ask(iterator) + self.usual_request
        asks_each_time = self.device is not None or (self.qsize is not None and not self.counts_queue)
        self.is_plain = not self.is_inspected and not asks_each_time
        if self.is_inspected and not asks_each_time:
            self.looked_ns = now_ns()  # a plain step has none of this
        return True

    def look(self, iterator: Any, batch: Any, left_ns: int, done_ns: int) -> None:
        """After a request, where it is time: at this step, which was measured closely, or whether the next one is."""
        if self.is_inspected:
            self.end_inspection(batch, self._batch_index(iterator), self.entered_ns, left_ns, done_ns)
        elif self.is_due(self.loader.steps - 1, left_ns):
            self._look_closely()

    def _batch_index(self, iterator: Any) -> int:
        """Of the batch that was handed out last."""
        index: int = self.batch_index
        if self.in_order:
            index = (iterator._rcvd_idx if self.has_workers else iterator._num_yielded) - 1
        return index

    def is_due(self, step: int, left_ns: int) -> bool:
        """Whether the step after this one is looked at closely: a batch may be measured, or it is of the sample."""
        if left_ns >= self.due_ns or (step >= self.look_step and left_ns >= self.look_ns):
            return True
        steps_left = max(0, self.look_step - step)
        since = max(1, SAMPLED_OVERHEAD - steps_left)
        sample_ns = left_ns + steps_left * (left_ns - self.left_ns) // since
        self.next_look_ns = min(self.due_ns, max(self.look_ns, sample_ns))
        return False

    def begin_inspection(self, began_ns: int) -> bool:
        """Before a request that is to be looked at closely. ``False``: it is none of the training loop's."""
        if not self.is_constructed:
            # During construction torchdata requests batches, to skip those before its checkpoint.
            return False
        self.began_ns = began_ns
        self.look_for_graph()
        if began_ns >= self.due_ns:
            self._begin_probing()
        self.looked_ns = now_ns()
        return True

    def look_for_graph(self) -> None:
        """Before a request: whether what was done with the batches before it built an autograd graph."""
        if self.graph.has_changed():
            self._write(ring_format.GRAPH, int(bool(self.graph.was_built)), int(self.graph.is_in_background))
        if self.is_only_looking:
            self.is_only_looking = False
            self.is_inspected = self.began_ns >= self.due_ns

    def _begin_probing(self) -> None:
        """Before the request of a step whose batch is to be measured."""
        if self.probe is not None and self.collate is not None:
            self.is_probing = True
            self.collate.restart()
            self.probe.begin()

    def end_inspection(self, batch: Any, index: int, entered_ns: int, left_ns: int, done_ns: int) -> None:
        """After that request: record how the batch was loaded, if that happened here, and what the agent cost.

        ``done_ns``: when all was done that is done in each step.
        """
        loader, was_probed = self.loader, self.is_probing
        self.is_inspected = loader.steps < EARLY_STEPS
        self.left_ns = left_ns
        if was_probed:
            self._end_probing(index, entered_ns, left_ns)
        if left_ns >= self.look_ns:
            self._look_around(batch)
            self.look_ns = left_ns + LOOK_PAUSE_NS
        self.sampler.look(loader.steps, left_ns)
        self._time_sampler(is_on=self.sampler.is_on, usual_ns=self.sampler.usual_ns)
        # The second request of a pass is the first that shows what its batches are for.
        self.is_only_looking = self.graph.begin() and not self.is_inspected
        self.is_inspected = self.is_inspected or self.is_only_looking
        self.look_step = loader.steps + SAMPLED_OVERHEAD - 1
        self.next_look_ns = 0 if self.is_inspected else min(self.due_ns, self.look_ns)
        plain_ns = (entered_ns - self.looked_ns) + (done_ns - left_ns)
        share = TIMED_SHARE_OF_WORKERS if self.has_workers else TIMED_SHARE
        recorded_ns = plain_ns if self.device is not None else round(plain_ns / share)
        closely_ns = (self.looked_ns - self.began_ns) + (now_ns() - done_ns)
        self._write(ring_format.OVERHEAD, recorded_ns, closely_ns, was_probed)

    def _look_around(self, batch: Any) -> None:
        self.loader.ensure_collector()
        if self.device is None and not self.is_passive and (device := self.loader.device_clock()) is not None:
            self.time_device(device)
        if not self.loader.shape_is_known:
            self.loader.shape_is_known = True
            self._write_shape(measure_batch(batch))

    def left_apart(self, iterator: Any, left_ns: int) -> None:
        """After a request, where ``is_apart``."""
        index = self._batch_index(iterator)
        if not self.is_passive:
            self.has_waited = left_ns - self.entered_ns > LONG_WAIT_NS
            depth, is_timed, _ = unpack_request(self.request)
            self.handed_out(index, self.entered_ns, left_ns, depth, self.device, is_timed, self.received_ns)
        elif self.received_ns >= self.entered_ns:
            self.came_early(index, self.received_ns)

    def came_early(self, index: int, received_ns: int) -> None:
        """A batch that another one is awaited before."""
        self._write(ring_format.ARRIVAL, index, received_ns)

    def handed_out(
        self,
        index: int,
        entered_ns: int,
        left_ns: int,
        depth: int,
        device: DeviceClock | None,
        is_timed: bool,
        received_ns: int = 0,
    ) -> int:
        """Record a step, and return its index. ``depth``: of the queue. ``received_ns``: of its batch, if not early."""
        step = self.loader.steps
        self.loader.steps = step + 1
        is_timed = is_timed and device is not None and device.left()
        sampler_ns = self.sampler_ns if self.times_sampler else self.usual_sampler_ns
        request = pack_request(depth, is_timed, sampler_ns)
        self.ring.write(self.step_head, entered_ns, left_ns, request, index, step, received_ns)
        self.sampler_ns = min(self.sampler_ns, 0)
        if device is not None:
            device.poll()
        return step

    def stopped(self, iterator: Any, is_over: bool, entered_ns: int, left_ns: int) -> None:
        """``next()`` raised: there are no more batches, or something failed."""
        self.look_for_graph()
        if not self.is_passive:
            self.ended(is_over, entered_ns, left_ns)
        self.is_probing = False
        self._look_closely()
        if self.collate is not None:
            self.collate.stop()
        self.sampler_ns = min(self.sampler_ns, 0)
        if is_over:
            self._time_sampler(is_on=False, usual_ns=0)
        if not is_over and self.qsize is not None:
            # A failed batch arrived and was not handed out: recount the waiting ones.
            self.arrived = _arrived(iterator)

    def ended(self, is_over: bool, entered_ns: int, left_ns: int) -> None:
        self._write(ring_format.EXHAUSTED if is_over else ring_format.FAILED, entered_ns, left_ns)
        if self.loader.profiler is not None:
            self.loader.profiler.pass_ended(self.loader)

    def pinned(self, batch_index: int, started_ns: int) -> None:
        """Also called by the thread that pins: maybe before the pass's iterator is complete."""
        self.unwritten_pins.append((batch_index, started_ns, now_ns()))
        if not self.is_between_passes:
            self._write_pins()

    def worker_was_reset(self) -> None:
        """The thread that pins saw a worker's answer: what it pinned until then was of the pass before."""
        self.unwritten_pins.clear()

    def _write_pins(self) -> None:
        """Of both threads, each takes what the other has not taken."""
        with suppress(IndexError):
            while self.unwritten_pins:
                self._write(ring_format.PIN, *self.unwritten_pins.popleft())

    def watch_pinning(self, iterator: Any) -> None:
        """The iterator has its queues. Called before it asks for batches: the first may come before it is complete."""
        if _is_pinning(iterator):
            attach(iterator._worker_result_queue, PINNING, self)

    def worker_plan(self, number: int | None = None) -> WorkerPlan:
        """``number``: of another iterator of the loader."""
        iterator = self.iterator if number is None else number
        return WorkerPlan(
            rings=run_files.batch_rings(self.loader.directory, self.loader.index, iterator),
            failures=str(self.loader.directory / run_files.FAILURES),
            threads=self.loader.threads_per_worker,
            reports_unsent=self.loader.has_first_workers,
            stacks_since_ns=self.loader.stacks_since_ns(),
            stacks_always=self.loader.stacks == "always",
        )

    def _write(self, kind: int, *values: int) -> None:
        self.ring.write(head(kind, self.epoch), *values)

    def _write_shape(self, shape: BatchShape) -> None:
        fits = fits_uint8(shape.largest_float) if shape.largest_float is not None else None
        self._write(ring_format.BATCH_SHAPE, *shape[:2], NOT_MEASURED if fits is None else int(fits))
        for dtype, size_bytes in shape.bytes_by_dtype.items():
            place = ring_format.DTYPES.index(dtype if dtype in ring_format.DTYPES else "other")
            self._write(ring_format.BATCH_DTYPE, place, size_bytes)

    def _write_epoch(self, constructed_ns: int) -> None:
        sampler_ns, self.sampler_ns = self.sampler_ns, min(self.sampler_ns, 0)
        last = pack_pass(sampler_ns, grad_enabled(), self.fetches_ahead, self.requests_a_step)
        steps = self.loader.steps
        self._write(ring_format.EPOCH, self.iterator, self.pass_index, self.started_ns, constructed_ns, steps, last)

    def _end_probing(self, index: int, entered_ns: int, left_ns: int) -> None:
        self.is_probing = False
        if self.probe is None or self.collate is None:
            return
        usage = self.probe.end()
        self.collate.stop()
        span_ns, collate = (entered_ns, left_ns), self.collate
        write_batch(self.ring, self.epoch, index, span_ns, usage, collate.elapsed_ns, collate.samples)
        own_ns = (entered_ns - self.began_ns) + (now_ns() - left_ns)
        pause_ns = 0 if self.loader.steps < EARLY_STEPS else own_ns * MEASURING_SHARE
        # Where a batch takes that long to load, each is measured.
        is_each = pause_ns <= left_ns - entered_ns
        self.is_inspected = self.is_inspected or is_each
        self.due_ns = 0 if is_each else left_ns + pause_ns

    def _read(self, iterator: Any, sees_arrivals: bool) -> None:
        """Read what the complete iterator has: a fetcher of its own, or queues and workers."""
        self.is_constructed, self.has_workers = True, iterator._num_workers > 0
        if self.has_workers:
            self._read_queues(iterator, sees_arrivals)
            return
        self.due_ns = 0
        self.probe = Probe()
        self.collate = CollateTimer(self.probe)
        attach(iterator._dataset_fetcher, COLLATE, self.collate)

    def _read_queues(self, iterator: Any, sees_arrivals: bool) -> None:
        self.in_order = getattr(iterator, "_in_order", True)
        self.is_map = iterator._dataset_kind == 0
        self.arrived = _arrived(iterator)
        self.watch_pinning(iterator)
        qsize = _waiting_or_to_pin if _is_pinning(iterator) else _waiting
        try:
            qsize(iterator)
        except AttributeError:
            qsize = _as_reported
        self.is_apart = self.is_apart or not self.in_order
        if not sees_arrivals:
            return
        self.qsize = qsize
        if qsize is _waiting and iterator._num_workers * iterator._prefetch_factor < DEEPEST:
            queue = iterator._worker_result_queue
            self.counts_queue = True
            self.most_waiting, self.free_places = queue._maxsize + 1, queue._sem._semlock._get_value


def _is_pinning(iterator: Any) -> bool:
    """In a thread between two queues."""
    return iterator._data_queue is not iterator._worker_result_queue


def _waiting(iterator: Any) -> int:
    """What ``multiprocessing.Queue.qsize()`` returns, in one call."""
    queue = iterator._worker_result_queue
    size: int = queue._maxsize - queue._sem._semlock._get_value()
    return size


def _waiting_or_to_pin(iterator: Any) -> int:
    """Batches that wait to be pinned are finished too. ``queue.Queue.qsize()`` would wait for the thread that pins."""
    return len(iterator._data_queue.queue) + _waiting(iterator)


def _as_reported(iterator: Any) -> int:
    """Of queues of other kinds."""
    size: int = iterator._worker_result_queue.qsize()
    return size + iterator._data_queue.qsize() if _is_pinning(iterator) else size


def _arrived(iterator: Any) -> int:
    """Batches of this pass that reached the training process: handed out, or early and waiting."""
    handed_out: int = iterator._num_yielded
    return handed_out + sum(len(task) == 2 for task in iterator._task_info.values())
