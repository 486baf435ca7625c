"""The record that diagnosis and advice judge by: measured, never guessed.

Arrays hold microseconds as ``float64`` with NaN for "not measured". A field that is ``None`` was not measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from underfed_server.facts.loading import LoaderHotspots
from underfed_server.facts.lost import device_work_us, input_lost_us
from underfed_server.measurements import BatchRows, Column, HostRows, StepRows, chosen
from underfed_server.model import EpochInfo, HostFacts, LoaderInfo, ReadRate, Role, Setting, Status, StoragePlace
from underfed_server.store.columns.copies import exposed_copy_us
from underfed_server.store.columns.stall import has_device_clock, stall_us
from underfed_server.store.reading.changed_settings import ChangedSettings
from underfed_server.store.reading.tunings import Tuned

Mask = NDArray[np.bool_]
Places = NDArray[np.int64]


MUCH_HELD_UP = 0.10
"""Share of the steps of a thread that reads ahead, from which what it does between two requests is taken for waiting:
it can hand out no batch before an earlier one was taken."""

OFTEN_HELD_UP = 0.02
"""As that share, of what most steps do not have: its own work is there in each."""


def epoch_starts(steps: StepRows) -> Mask:
    """Which steps are the first of an epoch."""
    return np.equal(steps.batch_index, 0)


def between_epochs(epochs: Sequence[EpochInfo]) -> Iterator[tuple[int, EpochInfo]]:
    """When one ended before the next began, and that one."""
    for before, after in pairwise(epochs):
        if before.end_us is not None and after.start_us > before.end_us:
            yield before.end_us, after


class HostShare(HostFacts):
    """What the run may use of its host; what is free or in use, as last sampled."""

    memory_used_bytes: int | None = None
    """Of the control group, where that limits memory."""
    swap_used_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """One worker number of the judged loader: the process that lives or lived last."""

    worker: int
    threads: int | None = None
    cores: float | None = None
    """CPU of all its threads over the judged span, per wall time."""
    rss_bytes: int | None = None
    pss_bytes: int | None = None
    bytes_per_hour: float | None = None
    """Growth of its own memory (shared pages divided) where that was sampled, else of its resident memory."""
    is_growing: bool | None = None
    died: int = 0
    """Processes of this number that ended without an exception."""
    received_bytes_per_s: float | None = None
    """By its own TCP connections, over the judged span."""
    connections: int | None = None
    """Most of them that were open at once."""


@dataclass(frozen=True, slots=True)
class ProcessShare:
    """CPU of the training process over the judged span, in cores (CPU time per wall time)."""

    main_cores: float | None = None
    main_runqueue_fraction: float | None = None
    process_cores: float | None = None
    workers_cores: float | None = None
    host_busy_cores: float | None = None
    """Use of the allowed CPUs by all processes, in cores."""
    threads: int | None = None
    """Of the training process, as last sampled, like the two that follow."""
    open_files: int | None = None
    swap_bytes: int | None = None
    """Of the training process and its workers."""
    bytes_per_hour: float | None = None
    """Growth of the training process's resident memory."""
    is_growing: bool | None = None


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Pauses in which the training process, or one that it waits for, wrote as much as a checkpoint is."""

    count: int
    us: float
    """What they took together."""
    mean_bytes: float
    """Written in one."""


@dataclass(frozen=True, slots=True)
class Restarts:
    """Of a program that went on with the same run in another process."""

    count: int
    us: float
    """From what a process recorded last until the first step of the next, together."""


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Later(Generic[T]):
    """What is read when it is asked for, and only then."""

    read: Callable[[], T]


class MayComeLater(Generic[T]):
    """A field of a dataclass that is given as its value or as :class:`Later`."""

    def __init__(self, *default: T) -> None:
        """None given: the field has none."""
        self._default = default
        self._name = ""

    def __set_name__(self, owner: type[object], name: str) -> None:
        self._name = name

    def __get__(self, instance: object | None, owner: type[object]) -> T:
        if instance is None:
            if not self._default:
                raise AttributeError(self._name)
            return self._default[0]
        given: T | Later[T] = vars(instance)[self._name]
        if isinstance(given, Later):
            given = vars(instance)[self._name] = given.read()
        return given

    def __set__(self, instance: object, given: T | Later[T]) -> None:
        vars(instance)[self._name] = given


@dataclass(frozen=True, eq=False)
class RankFacts:
    """One rank: its judged steps, the batches behind them, and what the whole run cost it.

    Most ranks are only looked at for their steps: what else is known of them is read as it is asked for.
    """

    rank: int
    steps: StepRows
    """The judged ones: complete, warm-up left out; step and wait are always measured. An epoch's first step begins with
    ``iter(loader)`` and has the epoch's end added, so that starting and stopping workers lie within its wait."""
    batches: MayComeLater[BatchRows] = MayComeLater()
    """Those behind the judged steps."""
    process: ProcessShare = field(default_factory=ProcessShare)
    total_steps: int = 0
    total_step_us: float = 0.0
    total_data_wait_us: float = 0.0
    total_stall_us: float = 0.0
    """Of the whole run's wait, what the device's clock confirms; all of it where there is none."""
    total_copy_us: float | None = None
    """Of the whole run, in copies to the device that no work hid. ``None``: none was timed."""
    total_epochs: int = 0
    total_edges_us: float = 0.0
    """Of the whole run's wait, constructing iterators and stopping workers when an epoch is over."""
    others_wait_us: Column | None = None
    """Of each judged step, after its own wait: within other loaders' requests, which is no work. ``None``: the rank has
    no other loader."""
    others_stall_us: float = 0.0
    """Of the mean judged step, the part of it that the device's clock confirms, as of ``stall_us``."""
    pausing_us: float = 0.0
    """Of the newest steps, those that are not judged because the program did something else in them."""
    paused_us: float = 0.0
    """The part of it that is not their own work and wait."""
    checkpoints: Checkpoints | None = None
    """Among these; ``None``: none was distinguished from what else a program may do."""
    between_epochs: Checkpoints | None = None
    """Likewise, in no step: after one epoch of these steps and before the next."""
    uses_gpu: bool = False
    gpu_util: float | None = None
    """GPU-Util over the judged span: share of time in which any kernel ran."""
    hostname: str | None = None
    epochs: tuple[EpochInfo, ...] = ()
    """Oldest first, the newest that are known."""
    workers: MayComeLater[tuple[WorkerFacts, ...]] = MayComeLater(())
    may_grow: bool = True
    """Enough was sampled of its workers to show whether their memory grows."""
    changed: ChangedSettings | None = None
    """Since when it has used the loader with its present settings, of which the judged steps are; ``None``: always."""
    host: MayComeLater[HostRows | None] = MayComeLater(None)
    """Samples of its host over the judged span, one a second."""
    memory: MayComeLater[HostRows | None] = MayComeLater(None)
    """Those of ten minutes until its end, or of the span where that is longer: what grows shows in no less."""

    def read_all(self) -> None:
        """What would come later: from now on nothing can be read for it."""
        for name in [name for name, given in vars(self).items() if isinstance(given, Later)]:
            getattr(self, name)

    # Computed once, and not before it is asked for: a judgement reads them dozens of times, of the last of the records
    # that a rank's is put together from.

    @cached_property
    def has_device_clock(self) -> bool:
        return has_device_clock(self.steps.gpu_idle_us, self.steps.queue_depth)

    @cached_property
    def workers_bytes_per_hour(self) -> float | None:
        """Growth of the memory of those that were seen to grow; ``None``: none was."""
        growing = (each.bytes_per_hour for each in self.workers if each.is_growing) if self.may_grow else ()
        return sum(filter(None, growing)) or None

    @cached_property
    def is_read_ahead(self) -> bool:
        """A thread of the program requests the batches for the one that trains, whose waits are not seen."""
        return is_read_ahead(self.epochs)

    @cached_property
    def is_held_up(self) -> bool:
        """That thread waits for the training to take what it has: the training waits for no batch."""
        return self.is_read_ahead and _is_held_up(self.steps)

    @cached_property
    def step_us(self) -> float:
        """Mean judged step; NaN: there is none."""
        return float(np.mean(self.steps.step_us)) if len(self.steps) else math.nan

    @cached_property
    def stalled_us(self) -> Column:
        """Time lost to input in each judged step; ``stall_us`` is its mean."""
        steps = self.steps
        if self.is_held_up:
            return np.zeros(len(steps))
        if not self.has_device_clock:
            return steps.data_wait_us
        return stall_us(steps.data_wait_us, steps.gpu_idle_us, steps.queue_depth)

    @cached_property
    def stall_us(self) -> float:
        """Mean time of a judged step lost to input: by the device's clock where it was read, else by the host's; 0
        where a thread that reads ahead is held up.

        On the device's clock it is what the device idled inside ``next()``, a lower bound: see ``input_lost_us``.
        """
        return float(np.mean(self.stalled_us)) if len(self.steps) else 0.0

    @cached_property
    def copies_us(self) -> Column:
        """Of each judged step, in copies to the device that no work hid; NaN: none was timed in any."""
        return exposed_copy_us(self.steps.h2d_exposed_us, self.steps.queue_depth)

    @cached_property
    def data_wait_us(self) -> float:
        """Mean wait of a judged step, on the host's clock."""
        return float(np.mean(self.steps.data_wait_us))

    @cached_property
    def rests_us(self) -> Column:
        """Of each judged step, what is left without any loader's wait."""
        own = self.steps.step_us - self.steps.data_wait_us
        return own if self.others_wait_us is None else np.maximum(0.0, own - self.others_wait_us)

    @cached_property
    def rest_us(self) -> float:
        """Mean of ``rests_us``."""
        return float(np.mean(self.rests_us))

    @cached_property
    def stall_fraction(self) -> float:
        """Share of judged step time."""
        return self.stall_us / self.step_us

    @cached_property
    def paused_fraction(self) -> float:
        """Of the time of its newest steps."""
        spent_us = self.pausing_us + float(np.sum(self.steps.step_us))
        return self.paused_us / spent_us if spent_us > 0 else 0.0

    @property
    def checkpoint_fraction(self) -> float:
        """Of the time of its newest steps; the part of ``paused_fraction`` that is known to be that."""
        share = self.checkpoints.us / self.paused_us if self.checkpoints and self.paused_us > 0 else 0.0
        return share * self.paused_fraction

    @property
    def between_epochs_fraction(self) -> float:
        """What checkpoints between epochs take of that time and their own."""
        beside_us = self.between_epochs.us if self.between_epochs else 0.0
        spent_us = self.pausing_us + float(np.sum(self.steps.step_us)) + beside_us
        return beside_us / spent_us if spent_us > 0 else 0.0

    @cached_property
    def others_stall_fraction(self) -> float:
        """Share of judged step time that the same loop loses to its other loaders."""
        return self.others_stall_us / self.step_us

    def at(self, places: Places | Mask) -> RankFacts:
        """The rank with some of its judged steps alone."""
        others = None if self.others_wait_us is None else self.others_wait_us[places]
        return replace(self, steps=chosen(self.steps, places), others_wait_us=others)

    @cached_property
    def input_lost_us(self) -> float | None:
        """By how much the mean judged step would be shorter if no loader of its loop were waited for, computed on the
        device's clock."""
        if not self.has_device_clock:
            return None
        steps, stall_us = self.steps, self.stall_us + self.others_stall_us
        return input_lost_us(steps.step_us, self.rests_us, stall_us, steps.gpu_idle_us, steps.gpu_work_us)

    @cached_property
    def device_work_us(self) -> Column | None:
        """What the device worked for each judged step. ``None``: that was not seen, as in a loop that waits for it."""
        if not self.has_device_clock:
            return None
        return device_work_us(self.rests_us, self.steps.gpu_idle_us, self.steps.gpu_work_us)


def whole_epochs(epochs: Sequence[EpochInfo]) -> list[int]:
    """Steps of each that was seen to its end: there were no more batches, or the loop left it for the next one. The
    newest one that was left may have been left because the program ended."""
    newest = max((each.epoch_index for each in epochs), default=0)
    ended = [each for each in epochs if each.ended == "exhausted" or each.epoch_index < newest]
    return [each.steps for each in ended if each.steps and each.ended in ("exhausted", "broken_off")]


def is_read_ahead(epochs: Sequence[EpochInfo]) -> bool:
    """Another thread than the main one requests the batches and builds no graph, though gradients are enabled: it is
    no loop that evaluates."""
    known = [each for each in epochs if each.in_background is not None]
    return bool(known) and all(each.in_background and each.grad_enabled is not False for each in known)


def _is_held_up(steps: StepRows) -> bool:
    if not len(steps):
        return False
    rest_us, step_us = steps.step_us - steps.data_wait_us, float(np.mean(steps.step_us))
    varying_us = float(np.mean(rest_us)) - float(np.quantile(rest_us, 0.1))
    return float(np.mean(rest_us)) >= MUCH_HELD_UP * step_us or varying_us >= OFTEN_HELD_UP * step_us


def median_of(ranks: Sequence[RankFacts]) -> RankFacts:
    """The rank whose share of waiting is the median: one bad rank is a straggler, not the run.

    Raises:
        ValueError: no rank has a judged step.
    """
    judged = [rank for rank in ranks if len(rank.steps)]
    if not judged:
        raise ValueError("no judged step")
    return sorted(judged, key=lambda rank: rank.stall_fraction)[(len(judged) - 1) // 2]


@dataclass(frozen=True, slots=True, eq=False)
class LoaderFacts:
    """One loader of a run, judged or not, without what lies behind its steps."""

    loader: str
    info: LoaderInfo | None
    role: Role
    loop: int
    """Loaders that the same training loop asks in turn have one number: their times are the same time."""
    ranks: tuple[RankFacts, ...]
    """Those that have steps with it. Their batches, workers and samples are left out."""

    @property
    def judged_steps(self) -> int:
        return min((len(rank.steps) for rank in self.ranks), default=0)

    @property
    def steps(self) -> int:
        return max((rank.total_steps for rank in self.ranks), default=0)

    @property
    def epochs(self) -> int:
        """Of the rank that is furthest."""
        return max((rank.total_epochs for rank in self.ranks), default=0)

    @property
    def spent_us(self) -> float:
        """Over the whole run and all ranks, in its loop."""
        return sum(rank.total_step_us for rank in self.ranks)


def run_us(loaders: Sequence[LoaderFacts]) -> float:
    """Time of all ranks in all loops of the run, each loop counted once."""
    loops: dict[int, float] = {}
    for each in loaders:
        loops[each.loop] = max(loops.get(each.loop, 0.0), each.spent_us)
    return sum(loops.values())


@dataclass(frozen=True, slots=True, eq=False)
class RunFacts:
    """Everything that a verdict on one run is based on."""

    run_id: str
    status: Status
    loader: LoaderInfo | None
    host: HostShare
    ranks: tuple[RankFacts, ...]
    warmup_steps: int
    loaders: tuple[LoaderFacts, ...] = ()
    """All loaders of the run, those that most time was spent with first."""
    storage: tuple[StoragePlace, ...] = ()
    """Where files of the judged loader's data set lie."""
    read_elsewhere: tuple[ReadRate, ...] = ()
    """By other runs of the project, the newest first, from the place that most of these files lie in."""
    overrides: Mapping[str, Setting] = field(default_factory=dict)
    """What ``--set`` or ``--apply`` set of the judged loader."""
    advice_of: str | None = None
    """The run whose advice ``--apply`` took."""
    command: tuple[str, ...] = ()
    """The command that starts the run again; empty: it is not wholly known, or starts only one of the ranks."""
    not_measured: Mapping[str, str] = field(default_factory=dict)
    proven: tuple[float, ...] = ()
    """Of earlier runs on its host that carried advice: logarithms of observed over predicted speed-up."""
    tuned: Tuned | None = None
    """What its first rank that tunes the judged loader said of that; ``None``: none does."""
    loading: LoaderHotspots | None = None
    """What the workers of the judged loader were seen to execute, on all ranks. ``None``: it was not looked up, as
    nothing is explained by it."""
    restarts: Restarts | None = None
    """Of the judged loader's first rank; ``None``: not looked up."""
    between: LoaderHotspots | None = None
    """What its training threads were seen to execute between batches. ``None``: as of ``loading``."""

    @property
    def median_rank(self) -> RankFacts:
        """As :func:`median_of`."""
        return median_of(self.ranks)

    def on_host_of(self, rank: RankFacts) -> list[RankFacts]:
        """Ranks that share cores and memory with ``rank``, which is included."""
        return [each for each in self.ranks if each.hostname == rank.hostname]

    @property
    def settings(self) -> Mapping[str, Setting]:
        """Of the judged loader, as it had them."""
        return self.loader.settings if self.loader else {}

    @property
    def judged_steps(self) -> int:
        """Of the rank with the fewest: a verdict on all ranks needs that many of each."""
        return min((len(rank.steps) for rank in self.ranks), default=0)

    @property
    def judged_loader(self) -> LoaderFacts | None:
        return next((each for each in self.loaders if self.loader and each.loader == self.loader.loader), None)

    @property
    def loop_mates(self) -> list[str]:
        """Other loaders that the judged one's loop asks as well."""
        own = self.judged_loader
        return [each.loader for each in self.loaders if own and each.loop == own.loop and each is not own]

    @property
    def steps(self) -> int:
        """Steps so far of the rank that is furthest, warm-up included."""
        return max((rank.total_steps for rank in self.ranks), default=0)

    @property
    def no_loader(self) -> str | None:
        """Why a run in which no loader was seen has no step."""
        return None if self.steps else self.not_measured.get("loader")

    @property
    def uses_gpu(self) -> bool:
        return any(rank.uses_gpu for rank in self.ranks)
