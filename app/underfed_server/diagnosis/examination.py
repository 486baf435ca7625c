"""What the finders of causes look at: the judged rank, the parts of its wait, and the parts of its load time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from underfed_server.diagnosis.measures import (
    are_cores_full,
    load_tail,
    mean,
    own_cores,
    pressure_fraction,
    reads_network,
    strangers_cores,
)
from underfed_server.diagnosis.overview import Overview
from underfed_server.diagnosis.storage_rate import StorageShown
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.diagnosis.wait import Wait, split_wait
from underfed_server.facts.lockstep import Lockstep
from underfed_server.facts.places import storage_place
from underfed_server.facts.record import Mask, RankFacts, RunFacts
from underfed_server.measurements import BatchRows, Column, or_zero
from underfed_server.model import Bound, LoaderInfo, StoragePlace

KINDS = {
    "nvme": "an NVMe drive",
    "ssd": "an SSD",
    "hdd": "a hard disk",
    "network": "a network file system",
    "overlay": "the container's own file system",
    "memory": "memory",
    "unknown": "a disk of unknown kind",
}

PRESSURE_MARGIN = 2.0
"""Time blocked beyond so many times what any task of the host waited for I/O (PSI) is spent on something else. The
factor is not smaller because samples come once a second, and a rank's share of a short span is known no better."""

CACHED_BATCHES = 8
"""So many batches served by the page cache, and at least a tenth of all, show what loading takes without storage: two
outliers do not change the median of eight."""

NOTICEABLE_WAIT = 0.1
"""Of the load time: what is blocked for less is no matter, however much less that is later."""

COLD_EPOCH_FACTOR = 3.0
"""A first epoch whose loads are blocked so many times longer than later ones filled the page cache: shuffling moves
an epoch's mean by far less, and memory is faster than any disk by far more."""


@dataclass(frozen=True, slots=True)
class Loads:
    """Parts of load time as shares of it, weighted by how long the loop waited for each batch: a load that was
    ready in time explains no wait. ``None``: not measured.
    """

    cpu: float | None
    runqueue: float | None
    storage: float | None
    """Blocked on reads that reach storage, and what else those take longer than cached ones."""
    blocked_else: float | None
    """Blocked on something else: a service, a lock, a sleep, a thread pool."""
    helped: float | None
    """Blocked while other threads of the loading process, or programs that it ran, may have been at it: for as long as
    they computed, and waited for a core as the loading thread did."""
    collate: float | None
    """Joining samples, whether it computed or waited."""
    helpers: float | None
    """CPU time of the loading process's other threads, as a share of all its CPU time."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """What other jobs cost that fill the cores: shares of step time."""

    cores: float | None = None
    """That they use, of those the run may use; ``None``: not measured."""
    loading: float = 0.0
    """Of ``Wait.loading``, for a free core."""
    delivery: float = 0.0
    """Of ``Wait.delivery``, likewise."""
    held_back: float = 0.0
    """Of ``Wait.held_back``, likewise."""
    hides_delivery: bool = False
    """Whether the rest of ``Wait.delivery`` may be a wait for a core, too: of each hand-over the turns of the workers'
    feeding threads are not measured, and little is handed over."""

    @property
    def cost_fraction(self) -> float:
        return self.loading + self.delivery + self.held_back


@dataclass(frozen=True, slots=True, eq=False)
class Examination:
    """Of a run with judged steps. Fractions are of step time."""

    facts: RunFacts
    overview: Overview
    rank: RankFacts
    """The judged one."""
    bound: Bound
    wait: Wait
    loads: Loads
    crowd: Crowd
    held_by_queue: float
    """Of ``wait.held_back``, for a free core, whoever fills them: no batch takes long by itself."""
    unexplained: float
    """Of ``wait.loading``, what no cause has explained yet."""

    @property
    def loader(self) -> LoaderInfo | None:
        return self.facts.loader

    @property
    def together(self) -> Lockstep | None:
        """Ranks that are late in turn: the job loses more than the judged one."""
        return self.overview.slow.late_in_turn

    @property
    def storage(self) -> StorageShown:
        return self.overview.storage

    @property
    def workers(self) -> int:
        """0 also where that is not known."""
        return (self.loader.num_workers if self.loader else None) or 0

    def explained(self, cost_fraction: float, *, is_of_queue: bool = False) -> Examination:
        """A copy in which a cause explains that much more of the loading, and others that fill the cores what is left
        at most; nothing where the cause is why loading waits for a core (``is_of_queue``)."""
        left = max(0.0, self.unexplained - cost_fraction)
        crowd = replace(self.crowd, loading=0.0 if is_of_queue else min(left, self.crowd.loading))
        held = crowd.held_back if is_of_queue else self.held_by_queue
        return replace(self, unexplained=left, crowd=crowd, held_by_queue=held)

    @property
    def beside_crowd(self) -> float:
        """Of what is unexplained, what other jobs do not cost."""
        return max(0.0, self.unexplained - self.crowd.loading)


def examine(facts: RunFacts, overview: Overview, bound: Bound) -> Examination:
    """``facts``: with judged steps."""
    rank = overview.slow.judged
    wait = split_wait(rank, facts.loader)
    loads = _split_loads(facts, rank, wait.weights)
    held = _held_by_queue(facts, rank, wait, loads)
    crowd = _read_crowd(facts, rank, wait, loads, held)
    return Examination(facts, overview, rank, bound, wait, loads, crowd, held, wait.loading)


def _held_by_queue(facts: RunFacts, rank: RankFacts, wait: Wait, loads: Loads) -> float:
    """At most the time in which loading was ready to run."""
    own_tail = load_tail(rank, of_its_own=True)
    if own_tail is None or own_tail.is_heavy or not are_cores_full(rank, facts.host, loads.runqueue):
        return 0.0
    return min((wait.held_back or 0.0) * _queued(loads), _ready(rank))


def _queued(loads: Loads) -> float:
    """Share of the time in which loading would compute that it waited for a core instead."""
    wanted = (loads.runqueue or 0.0) + (loads.cpu or 0.0)
    return (loads.runqueue or 0.0) / wanted if wanted > 0 else 0.0


def _ready(rank: RankFacts) -> float:
    """Time in which loading was ready to run, of a step's."""
    return (mean(rank.batches.runqueue_us) or 0.0) / rank.step_us


def _read_crowd(facts: RunFacts, rank: RankFacts, wait: Wait, loads: Loads, held: float) -> Crowd:
    """Where most of what fills the cores is of other jobs. Loading waited for a core as measured, and so did batches
    that were held back by it (``held``). Handing a batch over is a chain of short turns of the same processes, each of
    which waits alike, for no longer than loading and the training thread were ready to run; one of many tensors, or of
    large ones, is slow by itself.
    """
    ranks = facts.on_host_of(rank)
    others, own = strangers_cores(rank, ranks), sum(own_cores(each.process) for each in ranks)
    if others is None or not are_cores_full(rank, facts.host, loads.runqueue):
        return Crowd(others)
    is_part = others >= HIDING_FRACTION * (facts.host.usable_cores or np.inf)
    hides_delivery = is_part and not has_much_to_hand_over(facts.loader)
    if loads.runqueue is None or others <= own:
        return Crowd(others, hides_delivery=hides_delivery)
    by_others = 1.0 if _have_cores_alone(facts, rank) else others / (others + own)
    # Of a turn, what none of the run's processes computed is a wait for its core.
    turns = max((wait.delivery or 0.0) * _queued(loads), (wait.delivery or 0.0) - own_cores(rank.process))
    delivery = 0.0 if has_much_to_hand_over(facts.loader) else turns
    delivery = min(delivery, _ready(rank) + (rank.process.main_runqueue_fraction or 0.0))
    return Crowd(
        others, wait.loading * loads.runqueue * by_others, delivery * by_others, held * by_others, hides_delivery
    )


def _have_cores_alone(facts: RunFacts, rank: RankFacts) -> bool:
    """No more of the run's processes want a core at once than there are: by themselves they would not wait for one."""
    ranks, usable = facts.on_host_of(rank), facts.host.usable_cores or 0.0
    training = sum((each.process.main_cores or 0.0) + (each.process.main_runqueue_fraction or 0.0) for each in ranks)
    workers = ((facts.loader.num_workers if facts.loader else None) or 0) * len(ranks)
    return training + workers <= usable + SPARE_CORES


SPARE_CORES = 0.1
"""Of a core: what a training process takes to receive batches is no task beside its workers."""

HIDING_FRACTION = 0.25
"""Of the usable cores, that other jobs use where all are busy: from there on each turn of a hand-over is likely to wait
for a core. Own choice: half a core of two, with which one of three tasks is another job's."""

LARGE_BATCH_BYTES = 10_000_000
"""A batch of which unmapping alone takes 2 ms in the training process, and copying it into shared memory 6–8 ms in
the worker (own study: 0.19 ms and 0.6–0.8 ms for a megabyte)."""


def has_much_to_hand_over(loader: LoaderInfo | None) -> bool:
    """Many tensors, or large ones."""
    if loader is None:
        return False
    return (loader.batch_tensors or 0) >= THRESHOLDS.many_tensors or (loader.batch_bytes or 0) >= LARGE_BATCH_BYTES


def _split_loads(facts: RunFacts, rank: RankFacts, weights: Column) -> Loads:
    """``weights``: one for each recorded batch; where all are 0, batches count equally."""
    batches = rank.batches
    weights = weights if float(np.sum(weights)) > 0 else np.ones(len(batches))

    def share(part: Column, whole: Column = batches.load_us) -> float | None:
        known = np.isfinite(part) & np.isfinite(whole)
        total = float(np.sum((whole * weights)[known]))
        return min(1.0, float(np.sum((part * weights)[known])) / total) if total > 0 else None

    blocked = share(batches.blocked_us)
    storage = share(storage_us(rank, facts.loader, storage_place(facts, rank)))
    return Loads(
        cpu=share(batches.cpu_us),
        runqueue=share(batches.runqueue_us),
        storage=storage,
        blocked_else=None if blocked is None else max(0.0, blocked - (storage or 0.0)),
        helped=share(np.minimum(batches.blocked_us, _helped_us(batches) * slowed_by_queue(batches))),
        collate=share(batches.collate_us),
        helpers=share(np.maximum(0.0, batches.process_cpu_us - batches.cpu_us), batches.process_cpu_us),
    )


def read_from(examined: Examination) -> str:
    """What most of the judged rank's data comes from: ``an NVMe drive (/data)``."""
    if reads_network(examined.rank):
        return "the network, through its own connections"
    return describe(storage_place(examined.facts, examined.rank))


def describe(place: StoragePlace | None) -> str:
    """``an NVMe drive (/data)``."""
    return f"{KINDS[place.kind]} ({place.mount})" if place else "storage"


def storage_us(rank: RankFacts, loader: LoaderInfo | None, place: StoragePlace | None) -> Column:
    """The part of each batch's load that storage takes; NaN: not measured.

    At least the time blocked on reads that reach it, but no more than twice what the host's tasks together waited for
    I/O (PSI): what a sleep or a service took is not storage's. Where other batches came from the page cache, also the
    time by which this load was longer than theirs: reading costs CPU time, too. Time in which loading was ready to run
    and no core was free is in neither, nor what its own other threads computed meanwhile, for which it may have waited.

    Memory-mapped reads make no read call, and reads from a network file system do not count as read from storage: of
    these only the call and the blocked time are seen. Of a batch that comes through network
    connections only the blocked time is.
    """
    batches = rank.batches
    asked, read = batches.asked_bytes, or_zero(batches.read_bytes)
    by_network = reads_network(rank)
    is_remote = by_network or (place is not None and place.kind == "network")
    reaches = (read > 0) & ~(read < THRESHOLDS.storage_read_fraction * asked)
    if is_remote:
        reaches |= by_network | (asked > 0)
    waited = np.maximum(0.0, batches.blocked_us - _helped_us(batches))
    blocked = np.where(reaches, waited, np.where(np.isfinite(batches.read_bytes) | is_remote, 0.0, np.nan))
    if not is_remote:
        blocked = blocked * _within_pressure(rank, loader, blocked)
    if np.nansum(blocked) <= 0:
        return blocked
    return np.fmax(blocked, _longer_than_cached(batches, reaches))


def _longer_than_cached(batches: BatchRows, reaches: Mask) -> Column:
    """0 for batches that the page cache served, and where they were too few; NaN where blocking was not measured."""
    # Both or neither of run queue and blocking are measured.
    own_us = np.maximum(0.0, batches.load_us - batches.runqueue_us - _helped_us(batches))
    cached = own_us[~reaches & np.isfinite(batches.read_bytes) & np.isfinite(own_us)]
    usual = float(np.median(cached)) if len(cached) >= max(CACHED_BATCHES, len(batches) // 10) else np.inf
    return np.where(reaches & np.isfinite(batches.blocked_us), np.maximum(0.0, own_us - usual), np.nan)


def slowed_by_queue(batches: BatchRows) -> float:
    """Time ready to run or on a CPU, relative to that on a CPU."""
    computed, queued = mean(batches.cpu_us) or 0.0, mean(batches.runqueue_us) or 0.0
    return (computed + queued) / computed if computed > 0 else 1.0


def _helped_us(batches: BatchRows) -> Column:
    """CPU time of the loading process's other threads; 0 where it was not measured."""
    return or_zero(np.maximum(0.0, batches.process_cpu_us - batches.cpu_us))


def _within_pressure(rank: RankFacts, loader: LoaderInfo | None, blocked: Column) -> float:
    known = blocked[np.isfinite(blocked)]
    pressure = None if rank.host is None else pressure_fraction(rank.host, rank.host.io_pressure_us)
    if pressure is None or not len(known):
        return 1.0
    # One batch a step, spread over the loading processes.
    processes = max(1, (loader.num_workers if loader else None) or 0)
    busy = float(np.mean(known)) / (processes * rank.step_us)
    return min(1.0, PRESSURE_MARGIN * pressure / busy) if busy > 0 else 1.0


def waits_only_at_first(rank: RankFacts) -> bool:
    """Loads of the run's first epoch were blocked far longer than those of later ones, on average."""
    batches = rank.batches
    is_first = batches.epoch_index == 0
    known = np.isfinite(batches.blocked_us)
    first, later = batches.blocked_us[is_first & known], batches.blocked_us[~is_first & known]
    if min(len(first), len(later)) < CACHED_BATCHES:
        return False
    noticeable = NOTICEABLE_WAIT * float(np.mean(batches.load_us[is_first & known]))
    return bool(np.mean(first) >= max(noticeable, COLD_EPOCH_FACTOR * np.mean(later)))
