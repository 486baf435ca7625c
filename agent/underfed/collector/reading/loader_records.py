"""Reads the records of one loader's rings into its steps, epochs and batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from underfed.collector.reading.batches import SAMPLED, LoaderBatches
from underfed.collector.reading.dispatched import DispatchedRequests, Row
from underfed.collector.reading.overhead import Overhead
from underfed.collector.reading.repeats import LoaderRepeats
from underfed.collector.reading.resume import LoaderResume
from underfed.collector.reading.steps import IsPause, LoaderSteps, OpenEpoch, Request
from underfed.collector.wire import LONGEST_US
from underfed.exchange import ring_format
from underfed.exchange.ring_format import NOT_MEASURED, Record
from underfed.exchange.run_files import RingName
from underfed.host.clock import to_us

HELD = 4096
"""Worker records that came before the EPOCH record of their iterator, which is written when all workers run."""

PASSES = 16
"""Iterators whose workers may still write."""

IteratorPass = tuple[int, int]
"""Iterator, and its pass over the data."""


class LoaderRecords:
    """One loader's step ring and the rings of its iterators' workers. Instants are turned to run-clock µs here."""

    def __init__(
        self, loader: str, origin_ns: int, is_pause: IsPause, overhead: Overhead, resume: LoaderResume | None = None
    ) -> None:
        resume = resume or LoaderResume()
        self.steps = LoaderSteps(loader, is_pause, resume.next_step)
        self.steps.open = {epoch.epoch_index: epoch for epoch in resume.open_epochs}
        known = (each.epoch_index - each.program_epoch for each in resume.open_epochs if each.program_epoch is not None)
        self.steps.continued = max(known, default=0)
        self.batches = LoaderBatches(loader)
        self._dispatched: dict[int, DispatchedRequests] = {}
        for epoch in resume.open_epochs:
            self._dispatch(epoch)
        self.shape = resume.shape
        """Tensors and bytes of the loader's first batch, ``NOT_MEASURED`` where it was too large to count."""
        self.dtypes = dict(resume.dtypes)
        """Bytes of its tensors by their type."""
        self.fits_uint8 = resume.fits_uint8
        self._repeats = LoaderRepeats(resume.repeats)
        self.workers_cpu_us: dict[RingName, int] = {}
        """CPU time of each worker's process since it started, as of the newest batch that it measured."""
        self.dropped_batches = 0
        self._origin_ns = origin_ns
        self._overhead = overhead
        self._epochs: dict[IteratorPass, int] = {(iterator, number): epoch for iterator, number, epoch in resume.passes}
        self._held: dict[IteratorPass, list[Row]] = {}
        self._halves: dict[RingName, Record] = {}
        self._short: set[RingName] = set()
        """Of workers whose last batch was a short one."""
        self._readers: Mapping[int, Callable[[RingName, int, Record], None]] = {
            ring_format.STEP: lambda _, epoch, each: self._step(epoch, each),
            ring_format.EPOCH: lambda _, epoch, each: self._begin_epoch(epoch, each),
            ring_format.EXHAUSTED: lambda _, epoch, each: self._end_epoch(epoch, each, "exhausted"),
            ring_format.FAILED: lambda _, epoch, each: self._end_epoch(epoch, each, "error"),
            ring_format.ARRIVAL: lambda _, epoch, each: self.batches.arrived(epoch, each[1], self._us(each[2])),
            ring_format.BATCH: self._begin_batch,
            ring_format.BATCH_DETAIL: self._detail,
            ring_format.SHORT_BATCH: self._short_batch,
            ring_format.FINGERPRINT: lambda ring, _, each: self._repeats.add(
                ring.iterator or 0, ring.worker or 0, each[1]
            ),
            ring_format.OVERHEAD: lambda _, __, each: self._overhead.add(each[1], each[2], bool(each[3])),
            ring_format.BATCH_SHAPE: self._shape,
            ring_format.BATCH_DTYPE: self._dtype,
            ring_format.PIN: self._pin,
            ring_format.GRAPH: lambda _, epoch, each: self.steps.graph(epoch, bool(each[1]), bool(each[2])),
            ring_format.CONTINUES: lambda _, epoch, __: self.steps.goes_on(epoch),
            **dict.fromkeys(ring_format.LATER_COLUMNS, lambda _, __, each: self._later(each)),
        }

    def resume(self) -> LoaderResume:
        passes = [(iterator, number, epoch) for (iterator, number), epoch in self._epochs.items()]
        # Requests whose steps have not ended are lost with this process.
        open_epochs = [replace(epoch, pending=None, ahead=None) for epoch in self.steps.open.values()]
        return LoaderResume(
            self.steps.next_step,
            open_epochs,
            passes,
            self.shape,
            self._repeats.result,
            dict(self.dtypes),
            self.fits_uint8,
        )

    def feed(self, ring: RingName, records: Iterable[Record], lost: int = 0) -> None:
        """Feed records of the training process, or of a worker, which counts the passes of its own iterator. ``lost``
        of them were overwritten."""
        if ring.worker is not None:
            # A batch has two records, and nearly each has one where they are short.
            self.dropped_batches += lost if ring in self._short else (lost + 1) // 2
        for each in records:
            read = self._readers.get(each[0] & ring_format.KIND_MASK)
            if read is not None:
                read(ring, each[0] >> ring_format.EPOCH_SHIFT, each)
        self._repeats.compare()

    def finish(self) -> None:
        """The process is gone, and everything it wrote was fed."""
        for ring in list(self._halves):
            self._end_batch(ring, None)
        self.dropped_batches += sum(map(len, self._held.values()))
        self._held.clear()
        self.steps.finish()
        self.batches.finish()

    def _begin_epoch(self, epoch: int, each: Record) -> None:
        _, iterator, number, started_ns, constructed_ns, first_step, packed, _ = each
        sampler_ns, grad_enabled, fetches_ahead, requests_a_step = ring_format.unpack_pass(packed)
        for left in list(self.steps.open):
            self.batches.end_epoch(left)
        start_us = self._us(started_ns)
        iterator_us = None if constructed_ns == NOT_MEASURED else self._us(constructed_ns) - start_us
        begun = OpenEpoch(
            epoch,
            start_us,
            first_step,
            iterator_us,
            last_us=start_us,
            sampler_us=ring_format.known(_us(sampler_ns)),
            fetches_ahead=fetches_ahead,
            requests_a_step=requests_a_step,
            grad_enabled=grad_enabled,
        )
        self._dispatch(begun)
        self.steps.begin_epoch(begun)
        self._epochs[iterator, number] = epoch
        if len(self._epochs) > PASSES:
            del self._epochs[next(iter(self._epochs))]
        for row in self._held.pop((iterator, number), ()):
            self.batches.loaded(epoch, row)

    def _step(self, epoch: int, each: Record) -> None:
        _, entered_ns, left_ns, packed, batch_index, step_index, received_ns, _ = each
        depth, is_timed, sampler_ns = ring_format.unpack_request(packed)
        if received_ns >= entered_ns:
            self.batches.arrived(epoch, batch_index, self._us(received_ns))
        entered_us, left_us = self._us(entered_ns), self._us(left_ns)
        request = Request(step_index, batch_index, entered_us, left_us, depth, _us(sampler_ns), is_timed)
        dispatched = self._dispatched.get(epoch)
        step = request if dispatched is None else dispatched.step(request)
        if step is not None:
            self.steps.step(epoch, step)

    def _dispatch(self, epoch: OpenEpoch) -> None:
        """Where one rank requests for others, too."""
        index, ranks = epoch.epoch_index, epoch.requests_a_step
        if ranks > 1:
            self._dispatched[index] = DispatchedRequests(ranks, epoch.first_step_index)
            self.batches.requests_a_step[index] = ranks
            if len(self._dispatched) > PASSES:
                oldest = min(self._dispatched)
                del self._dispatched[oldest], self.batches.requests_a_step[oldest]

    def _detail(self, ring: RingName, _: int, each: Record) -> None:
        if ring.worker is not None:
            self.workers_cpu_us[ring] = each[6] // 1000
        self._end_batch(ring, each)

    def _later(self, each: Record) -> None:
        """Columns are in the unit that their names end in."""
        if self._dispatched:
            return  # they are of requests
        columns: dict[str, int | None] = {}
        names = ring_format.LATER_COLUMNS[each[0] & ring_format.KIND_MASK]
        for name, value in zip(names, each[2:], strict=False):
            columns[name] = ring_format.known(min(LONGEST_US, _us(value)) if name.endswith("_us") else value)
        self.steps.later(each[1], columns)

    def _shape(self, _: RingName, __: int, each: Record) -> None:
        self.shape = each[1], each[2]
        self.fits_uint8 = None if each[3] == NOT_MEASURED else bool(each[3])

    def _dtype(self, _: RingName, __: int, each: Record) -> None:
        name = ring_format.DTYPES[each[1]]
        self.dtypes[name] = self.dtypes.get(name, 0) + each[2]

    def _pin(self, _: RingName, epoch: int, each: Record) -> None:
        self.batches.pinned(epoch, each[1], min(LONGEST_US, self._us(each[3]) - self._us(each[2])))

    def _end_epoch(self, epoch: int, each: Record, ended: str) -> None:
        dispatched = self._dispatched.get(epoch)
        rest = dispatched.rest() if dispatched is not None and ended == "exhausted" else None
        if rest is not None:
            self.steps.step(epoch, rest)
        self.steps.end_epoch(epoch, self._us(each[1]), self._us(each[2]), ended)
        self.batches.end_epoch(epoch)

    def _begin_batch(self, ring: RingName, epoch: int, each: Record) -> None:
        self._end_batch(ring, None)
        self._short.discard(ring)
        self._halves[ring] = each
        if ring.worker is None:  # a batch loaded by the training process has arrived once it is loaded
            self.batches.arrived(epoch, each[1], self._us(each[3]))

    def _short_batch(self, ring: RingName, epoch: int, each: Record) -> None:
        self._end_batch(ring, None)
        self._short.add(ring)
        _, batch_index, started_ns, ended_ns, cpu_ns, samples, *_ = each
        start_us = self._us(started_ns)
        load_us = min(self._us(ended_ns) - start_us, LONGEST_US)
        of_it = {"batch_index": batch_index, "worker": ring.worker, "start_us": start_us, "load_us": load_us}
        measured = {"cpu_us": min(_us(cpu_ns), load_us), "samples": ring_format.known(samples)}
        self._loaded(ring, epoch, {**of_it, **dict.fromkeys(SAMPLED), **measured})

    def _end_batch(self, ring: RingName, detail: Record | None) -> None:
        """``detail`` ``None``: the second record was overwritten. Where the first one was, the batch is lost."""
        half = self._halves.pop(ring, None)
        if half is not None:
            self._loaded(ring, half[0] >> ring_format.EPOCH_SHIFT, self._row(ring, half, detail))

    def _row(self, ring: RingName, batch: Record, detail: Record | None) -> Row:
        _, batch_index, started_ns, ended_ns, cpu_ns, runqueue_ns, collate_ns, _ = batch
        unknown = (0, 0, *[NOT_MEASURED] * 6)
        _, _, process_cpu_ns, asked_bytes, read_bytes, samples, _, _ = detail if detail is not None else unknown
        start_us = self._us(started_ns)
        load_us = min(self._us(ended_ns) - start_us, LONGEST_US)
        # The three must add up to the load: the clocks differ by microseconds, so blocked is adjusted.
        cpu_us = min(_us(cpu_ns), load_us)
        runqueue_us = min(max(0, _us(runqueue_ns)), load_us - cpu_us)
        has_runqueue = runqueue_ns != NOT_MEASURED
        return {
            "batch_index": batch_index,
            "worker": ring.worker,
            "start_us": start_us,
            "load_us": load_us,
            "cpu_us": cpu_us,
            "process_cpu_us": ring_format.known(min(_us(process_cpu_ns), LONGEST_US)),
            "runqueue_us": runqueue_us if has_runqueue else None,
            "blocked_us": load_us - cpu_us - runqueue_us if has_runqueue else None,
            "collate_us": ring_format.known(min(_us(collate_ns), load_us)),
            "asked_bytes": ring_format.known(asked_bytes),
            "read_bytes": ring_format.known(read_bytes),
            "samples": ring_format.known(samples),
        }

    def _loaded(self, ring: RingName, epoch: int, row: Row) -> None:
        """``epoch``: as the ring counts it."""
        if ring.iterator is None:
            self.batches.loaded(epoch, row)
            return
        number = (ring.iterator, epoch)
        if number in self._epochs:
            self.batches.loaded(self._epochs[number], row)
        elif sum(map(len, self._held.values())) < HELD:
            self._held.setdefault(number, []).append(row)
        else:
            self.dropped_batches += 1

    def _us(self, instant_ns: int) -> int:
        return to_us(instant_ns, self._origin_ns)


def _us(duration_ns: int) -> int:
    return NOT_MEASURED if duration_ns < 0 else (duration_ns + 500) // 1000
