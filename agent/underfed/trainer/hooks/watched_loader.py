"""One watched loader: its numbering, its step ring, its device clock, and what is reported of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from underfed.exchange import run_files
from underfed.exchange.config import Stacks, Value
from underfed.exchange.facts import LoaderFacts, write_facts
from underfed.exchange.guard import Guard
from underfed.exchange.ring import RingWriter
from underfed.exchange.ring_format import COPY, DEVICE, LATER_COLUMNS
from underfed.host.clock import now_ns
from underfed.trainer.collector_process import ensure_collector
from underfed.trainer.device.device_clock import DeviceClock, device_reason, open_device_clock
from underfed.trainer.hooks.sampler_timing import SamplerTiming
from underfed.trainer.settings.loader_facts import with_queue, with_settings
from underfed.trainer.settings.sharding import Sharding

DEVICE_FACTS, COPY_FACTS = LATER_COLUMNS[DEVICE], LATER_COLUMNS[COPY]
NOT_PREFETCHED = "copies are timed where underfed.prefetch does them"


KEPT_ITERATORS, KEPT_IN_TRIALS = 4, 64
"""Rings of workers of older iterators are removed, drained or not: files are bounded without a collector. While
settings are tried more iterators live."""


class PassListener(Protocol):
    """Called by the thread that asks for batches."""

    def pass_begins(self, loader: WatchedLoader) -> None:
        """Its steps are numbered."""

    def pass_ended(self, loader: WatchedLoader) -> None:
        """There are no more batches, or one could not be had."""


@dataclass(slots=True, eq=False)
class WatchedLoader:
    """Shared by all iterators of the loader, and by loaders that continue where it ended. Changed only on the training
    thread."""

    index: int
    name: str
    directory: Path
    guard: Guard
    report_versions: Callable[[], None]
    """Called when an epoch begins or a device comes into use."""
    ring: RingWriter | None = None
    clock: DeviceClock | None = None
    facts: LoaderFacts | None = None
    steps: int = 0
    first_step: int = 0
    """Of the pass that goes on."""
    requests_a_step: int = 1
    """In it. More where one rank requests for others, too: then its ``steps`` are requests."""
    epochs: int = 0
    iterators: int = 0
    kept_iterators: int = KEPT_ITERATORS
    shape_is_known: bool = False
    is_prefetched: bool = False
    """Whether ``underfed.prefetch`` iterates it."""
    threads_per_worker: int | None = None
    """As ``--set threads_per_worker`` asked."""
    has_first_workers: bool = False
    """Its script has no workers: those that it is given are ours."""
    stacks: Stacks = "1"
    profiler: PassListener | None = None
    sampler: SamplerTiming = field(default_factory=SamplerTiming)
    run_directory: Path = field(init=False)
    _no_clock: tuple[str | None, LoaderFacts | None] | None = None
    """Why there is no device clock, as these facts say."""
    _first_workers_ns: int | None = None

    def __post_init__(self) -> None:
        self.run_directory = self.directory.parent

    def number_steps(self, requests_a_step: int) -> None:
        """A pass begins: requests before it become steps."""
        requests = self.steps - self.first_step
        self.steps = self.first_step - -requests // self.requests_a_step
        self.first_step, self.requests_a_step = self.steps, requests_a_step

    def report(self, facts: LoaderFacts) -> None:
        """Write the loader's facts where the collector finds them."""
        self.facts = facts
        write_facts(run_files.loader_facts_file(self.directory, self.index), facts)

    def lacks(self, reasons: Mapping[str, str | None]) -> None:
        """Report why these facts are not measured; ``None``: they are now."""
        if self.facts is None:
            return
        merged = {**self.facts.not_measured, **reasons}
        not_measured = {name: reason for name, reason in merged.items() if reason is not None}
        if not_measured != self.facts.not_measured:
            self.report(replace(self.facts, not_measured=not_measured))

    def stacks_since_ns(self) -> int | None:
        """When its first workers were started; ``None``: their stacks are not sampled."""
        if self.stacks == "0":
            return None
        if self._first_workers_ns is None:
            self._first_workers_ns = now_ns()
        return self._first_workers_ns

    def report_dispatched(self, is_dispatched: bool) -> None:
        if self.facts is not None and self.facts.dispatched is not is_dispatched:
            self.report(replace(self.facts, dispatched=is_dispatched))

    def report_settings(self, loader: Any, overrides: Mapping[str, Value]) -> None:
        """``--set`` or ``--apply`` may have changed the loader since it was watched, by ``overrides``."""
        threads = overrides.get("threads_per_worker")
        self.threads_per_worker = threads if isinstance(threads, int) else None
        if self.facts is not None and (now := with_settings(self.facts, loader, overrides)) != self.facts:
            self.report(now)

    def report_tuned(self, settings: Mapping[str, Value]) -> None:
        """What loads from here on, whatever the loader's attributes say until its next pass."""
        if self.facts is not None and (now := {**self.facts.settings, **settings}) != self.facts.settings:
            self.report(with_queue(replace(self.facts, settings=now)))

    def report_sharding(self, verified: Sharding | None) -> None:
        """What two workers showed of the data set before training, in place of what its code shows."""
        if self.facts is None or verified is None:
            return
        shards, why = verified
        unsharded = why if shards is False else None
        if (shards, unsharded) != (self.facts.shards, self.facts.why_unsharded):
            self.report(replace(self.facts, shards=shards, why_unsharded=unsharded))
        self.lacks({"shards": why if shards is None else None})

    def ensure_collector(self) -> None:
        """Start another collector where this run's was killed; checks at most once a second."""
        ensure_collector(self.run_directory, self.guard)

    def device_clock(self) -> DeviceClock | None:
        """The loader's device clock, once its device is in use; until then, or after an error, reports why not."""
        reason = device_reason() if self.clock is None else self.clock.reason
        if reason is not None and self._no_clock == (reason, self.facts):
            return None
        no_copies = NOT_PREFETCHED if reason is None and not self.is_prefetched else reason
        self.lacks({**dict.fromkeys(DEVICE_FACTS, reason), **dict.fromkeys(COPY_FACTS, no_copies)})
        self._no_clock = reason, self.facts
        if reason is not None:
            return None
        if self.clock is None and self.ring is not None and (clock := open_device_clock(self.ring)) is not None:
            self.clock = clock
            self.report_versions()
        return self.clock
