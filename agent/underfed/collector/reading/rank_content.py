"""What happened on one rank since the last window, all its loaders together, cut to what one window may hold."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from underfed.collector.reading.loader_records import LoaderRecords
from underfed.collector.reading.overhead import Overhead
from underfed.collector.reading.rank_rings import Drained
from underfed.collector.reading.resume import LoaderResume
from underfed.collector.wire import BATCHES, STEPS, Batches, Epoch, Losses, Steps
from underfed.exchange import ring_format
from underfed.exchange.facts import LoaderFacts
from underfed.exchange.ring_format import NOT_MEASURED
from underfed.exchange.run_files import RingName
from underfed.host.clock import to_us

REMEMBERED_STARTS = 64
"""Starts remembered of epochs that may lie within an open step of another loader."""


@dataclass(slots=True)
class Content:
    """What one window holds of loaders and workers."""

    steps: list[Steps] = field(default_factory=list)
    batches: list[Batches] = field(default_factory=list)
    epochs: list[Epoch] = field(default_factory=list)
    overhead_us: float | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.steps or self.batches or self.epochs)


class RankContent:
    """Fed with drained records; ``take()`` returns the contents of windows. ``name`` gives a loader's name."""

    def __init__(self, origin_ns: int, name: Callable[[int], str], loaders: Mapping[int, LoaderResume]) -> None:
        self._origin_ns = origin_ns
        self._name = name
        self._resumed = dict(loaders)
        self._records: dict[int, LoaderRecords] = {}
        self._overhead = Overhead()
        self._starts: deque[tuple[int, int]] = deque(maxlen=REMEMBERED_STARTS)

    def feed(self, drained: Sequence[Drained]) -> None:
        self._starts.extend(
            (each.ring.loader, to_us(record[3], self._origin_ns))
            for each in drained
            for record in each.records
            if each.ring.worker is None and record[0] & ring_format.KIND_MASK == ring_format.EPOCH
        )
        for each in drained:
            self._loader(each.ring.loader).feed(each.ring, each.records, each.lost)

    def finish(self) -> None:
        """The process is gone, and everything it wrote was fed."""
        for loader in self._records.values():
            loader.finish()

    def take(self) -> list[Content]:
        """At least one content, more where one window cannot hold all. Overhead and epochs are in the first."""
        loaders = [self._records[index] for index in sorted(self._records)]
        steps = [steps for loader in loaders for steps in loader.steps.take_steps()]
        batches = [batches for loader in loaders for batches in loader.batches.take()]
        contents = [Content(epochs=[epoch for loader in loaders for epoch in loader.steps.take_epochs()])]
        contents[0].overhead_us = self._overhead.take(sum(len(each.step_us) for each in steps))
        for each in steps:
            if sum(len(one.step_us) for one in contents[-1].steps) + len(each.step_us) > STEPS:
                contents.append(Content())
            contents[-1].steps.append(each)
        for some in batches:
            if sum(len(one.batch_index) for one in contents[-1].batches) + len(some.batch_index) > BATCHES:
                contents.append(Content())
            contents[-1].batches.append(some)
        return contents

    def losses(self) -> Losses:
        return Losses(
            dropped_steps=sum(each.steps.dropped_steps for each in self._records.values()),
            dropped_batches=sum(each.dropped_batches for each in self._records.values()),
        )

    def unfinished(self) -> Losses:
        """Counts of what was read and is in no window yet: it is lost with this process."""
        open_epochs = [epoch for each in self._records.values() for epoch in each.steps.open.values()]
        return Losses(
            dropped_steps=sum(epoch.pending is not None for epoch in open_epochs)
            + sum(each.steps.held for each in self._records.values()),
            dropped_batches=sum(each.batches.waiting for each in self._records.values()),
        )

    def resume(self) -> dict[int, LoaderResume]:
        return {**self._resumed, **{index: each.resume() for index, each in self._records.items()}}

    def worker_cpu_us(self) -> dict[RingName, int]:
        """CPU time of each worker's process since it started, as of its newest batch."""
        return {ring: cpu for each in self._records.values() for ring, cpu in each.workers_cpu_us.items()}

    def completed(self, index: int, facts: LoaderFacts) -> LoaderFacts:
        """The facts with what first batches showed."""
        known = self._records[index].resume() if index in self._records else self._resumed.get(index, LoaderResume())
        if known.repeats is not None:
            facts = replace(facts, compared_batches=known.repeats[0], repeated_batches=known.repeats[1])
        if known.shape is None:
            return facts
        if NOT_MEASURED in known.shape:
            reason = "the first batch has more pieces than are counted"
            unknown = dict.fromkeys(("batch_tensors", "batch_bytes"), reason)
            return replace(facts, not_measured={**facts.not_measured, **unknown})
        return replace(
            facts,
            batch_tensors=known.shape[0],
            batch_bytes=known.shape[1],
            batch_dtypes=dict(known.dtypes),
            batch_fits_uint8=known.fits_uint8,
        )

    def _loader(self, index: int) -> LoaderRecords:
        if index not in self._records:
            is_pause = partial(self._is_pause, index)
            resume = self._resumed.get(index)
            self._records[index] = LoaderRecords(self._name(index), self._origin_ns, is_pause, self._overhead, resume)
        return self._records[index]

    def _is_pause(self, loader: int, left_us: int, ended_us: int) -> bool:
        """Whether another loader began an epoch in between, as for validation: that is not the step's own work."""
        return any(other != loader and left_us <= start_us <= ended_us for other, start_us in self._starts)
