"""The record that diagnosis and advice judge by: measured, never guessed.

Arrays hold microseconds as ``float64`` with NaN for "not measured". A field that is ``None`` was not measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from underfed_server.facts.lost import device_work_us, input_lost_us
from underfed_server.measurements import BatchRows, Column, HostRows, StepRows
from underfed_server.model import EpochInfo, HostFacts, LoaderInfo, Setting, Status, StoragePlace
from underfed_server.store.columns.stall import has_device_clock, stall_us

Mask = NDArray[np.bool_]
Places = NDArray[np.int64]


def epoch_starts(steps: StepRows) -> Mask:
    """Which steps are the first of an epoch."""
    return np.equal(steps.batch_index, 0)


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


@dataclass(frozen=True, slots=True, eq=False)
class RankFacts:
    """One rank: its judged steps, the batches behind them, and what the whole run cost it."""

    rank: int
    steps: StepRows
    """The judged ones: complete, warm-up left out; step and wait are always measured. An epoch's first step begins with
    ``iter(loader)`` and has the epoch's end added, so that starting and stopping workers lie within its wait."""
    batches: BatchRows
    """Those behind the judged steps."""
    process: ProcessShare = field(default_factory=ProcessShare)
    total_steps: int = 0
    total_step_us: float = 0.0
    total_data_wait_us: float = 0.0
    uses_gpu: bool = False
    gpu_util: float | None = None
    """GPU-Util over the judged span: share of time in which any kernel ran."""
    hostname: str | None = None
    epochs: tuple[EpochInfo, ...] = ()
    """Oldest first, the newest that are known."""
    workers: tuple[WorkerFacts, ...] = ()
    host: HostRows | None = None
    """Samples of its host over the judged span, one a second."""
    has_device_clock: bool = field(init=False)
    stall_us: float = field(init=False)
    """Mean time of a judged step lost to input: by the device's clock where it was read, else by the host's.

    On the device's clock it is what the device idled inside ``next()``, a lower bound: see ``input_lost_us``.
    """

    def __post_init__(self) -> None:
        # Computed once: a judgement reads them dozens of times.
        known = self.steps.gpu_idle_us, self.steps.queue_depth
        object.__setattr__(self, "has_device_clock", has_device_clock(*known))
        stalled = stall_us(self.steps.data_wait_us, *known) if self.has_device_clock else self.steps.data_wait_us
        object.__setattr__(self, "stall_us", float(np.mean(stalled)) if len(stalled) else 0.0)

    @property
    def stalled_us(self) -> Column:
        """Time lost to input in each judged step; ``stall_us`` is its mean."""
        steps = self.steps
        if not self.has_device_clock:
            return steps.data_wait_us
        return stall_us(steps.data_wait_us, steps.gpu_idle_us, steps.queue_depth)

    @property
    def step_us(self) -> float:
        """Mean judged step."""
        return float(np.mean(self.steps.step_us))

    @property
    def data_wait_us(self) -> float:
        """Mean wait of a judged step, on the host's clock."""
        return float(np.mean(self.steps.data_wait_us))

    @property
    def stall_fraction(self) -> float:
        """Share of judged step time."""
        return self.stall_us / self.step_us

    @property
    def input_lost_us(self) -> float | None:
        """By how much instant data would shorten the mean judged step, computed on the device's clock."""
        if not self.has_device_clock:
            return None
        steps = self.steps
        return input_lost_us(steps.step_us, steps.data_wait_us, self.stall_us, steps.gpu_idle_us, steps.gpu_work_us)

    @property
    def device_work_us(self) -> Column | None:
        """What the device worked for each judged step. ``None``: that was not seen, as in a loop that waits for it."""
        if not self.has_device_clock:
            return None
        steps = self.steps
        return device_work_us(steps.step_us - steps.data_wait_us, steps.gpu_idle_us, steps.gpu_work_us)


@dataclass(frozen=True, slots=True, eq=False)
class RunFacts:
    """Everything that a verdict on one run is based on."""

    run_id: str
    status: Status
    loader: LoaderInfo | None
    host: HostShare
    ranks: tuple[RankFacts, ...]
    warmup_steps: int
    storage: tuple[StoragePlace, ...] = ()
    """Where files of the judged loader's data set lie."""
    overrides: Mapping[str, Setting] = field(default_factory=dict)
    """What ``--set`` or ``--apply`` changed."""
    advice_of: str | None = None
    """The run whose advice ``--apply`` took."""
    command: tuple[str, ...] = ()
    """The command that starts the run again; empty: it is not wholly known, or starts only one of the ranks."""
    not_measured: Mapping[str, str] = field(default_factory=dict)

    @property
    def median_rank(self) -> RankFacts:
        """The rank whose share of waiting is the median: one bad rank is a straggler, not the run.

        Raises:
            ValueError: no rank has a judged step.
        """
        judged = [rank for rank in self.ranks if len(rank.steps)]
        if not judged:
            raise ValueError("no judged step")
        return sorted(judged, key=lambda rank: rank.stall_fraction)[(len(judged) - 1) // 2]

    @property
    def settings(self) -> Mapping[str, Setting]:
        """Of the judged loader, with what was set from outside."""
        return {**self.overrides, **self.loader.settings} if self.loader else {}

    @property
    def judged_steps(self) -> int:
        """Of the rank with the fewest: a verdict on all ranks needs that many of each."""
        return min((len(rank.steps) for rank in self.ranks), default=0)

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
