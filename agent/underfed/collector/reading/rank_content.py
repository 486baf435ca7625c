"""What happened on one rank since the last window, all its loaders together, cut to what one window may hold."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
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
    """Fed with drained records; ``take()`` returns the contents of windows."""

    def __init__(self, origin_ns: int, loaders: Mapping[int, LoaderResume]) -> None:
        self._origin_ns = origin_ns
        self._resumed = dict(loaders)
        self._names: dict[int, str] = {}
        self._records: dict[int, LoaderRecords] = {}
        self._overhead = Overhead()
        self._starts: deque[tuple[int, int]] = deque(maxlen=REMEMBERED_STARTS)

    def name(self, loader: int, name: str) -> None:
        """As the training process named it. A loader without a name yet is named by its number."""
        self._names[loader] = name

    def feed(self, drained: Iterable[Drained]) -> None:
        everything = list(drained)
        for each in everything:
            self._remember_starts(each)
        for each in everything:
            loader = self._loader(each.ring.loader)
            if each.ring.worker is None:
                loader.feed_steps(each.ring, each.records)
            else:
                loader.lost_batch_records(each.lost)
                loader.feed_batches(each.ring, each.records)

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
        known: LoaderRecords | LoaderResume | None = self._records.get(index) or self._resumed.get(index)
        if known is None:
            return facts
        if known.repeats is not None:
            facts = replace(facts, compared_batches=known.repeats[0], repeated_batches=known.repeats[1])
        return _with_shape(facts, known.shape) if known.shape is not None else facts

    def _loader(self, index: int) -> LoaderRecords:
        if index not in self._records:
            name = self._names.get(index, f"loader-{index + 1}")
            is_pause = partial(self._is_pause, index)
            resume = self._resumed.get(index)
            self._records[index] = LoaderRecords(name, self._origin_ns, is_pause, self._overhead, resume)
        return self._records[index]

    def _remember_starts(self, drained: Drained) -> None:
        if drained.ring.worker is not None:
            return
        for each in drained.records:
            if each[0] & ring_format.KIND_MASK == ring_format.EPOCH:
                self._starts.append((drained.ring.loader, to_us(each[3], self._origin_ns)))

    def _is_pause(self, loader: int, left_us: int, ended_us: int) -> bool:
        """Whether another loader began an epoch in between, as for validation: that is not the step's own work."""
        return any(other != loader and left_us <= start_us <= ended_us for other, start_us in self._starts)


def _with_shape(facts: LoaderFacts, shape: tuple[int, int]) -> LoaderFacts:
    if NOT_MEASURED in shape:
        reason = "the first batch has more pieces than are counted"
        unknown = dict.fromkeys(("batch_tensors", "batch_bytes"), reason)
        return replace(facts, not_measured={**facts.not_measured, **unknown})
    return replace(facts, batch_tensors=shape[0], batch_bytes=shape[1])
