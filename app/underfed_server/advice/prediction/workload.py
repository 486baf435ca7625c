"""What the simulator runs, read from what was measured: batches, steps, handing over, and the cores that are free."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from underfed_server.advice.prediction.company import Company, busy_beside, read_company
from underfed_server.advice.prediction.handover import read_handover
from underfed_server.advice.prediction.processor import LIKELY_FULL, assumed_curve, curve_through
from underfed_server.advice.prediction.ranks import ALONE, Ranks
from underfed_server.advice.prediction.simulate import (
    STEPS,
    UNLIMITED,
    Batch,
    Cores,
    HandoverTimes,
    LoopInputs,
    SimulatedSetting,
    Work,
    no_company,
)
from underfed_server.diagnosis.measures import are_cores_full, load_share, mean, other_cores, own_cores, strangers_cores
from underfed_server.diagnosis.storage_rate import StorageRate, loads_at_once, reads_files, storage_rate
from underfed_server.facts.lost import steps_ahead
from underfed_server.facts.record import HostShare, ProcessShare, RankFacts, epoch_starts
from underfed_server.measurements import Column, chosen, or_zero
from underfed_server.model import LoaderInfo

THREAD_POOL_CORES = 1.3
"""A training process that uses more than this computes with a thread pool (OpenMP, MKL): one thread and
the autograd thread take no more. Threads of a pool spin at barriers, so a run on busy cores does not show how fast it
is alone."""

MOST_SIMULATED = STEPS
"""Batches and steps, used in turn: as many as are simulated, so that each counts once."""

LOADED_SHARE = 0.3
"""Of the CPU time of a load, what is left of it at least."""

WRITE_SPAN = 4.0
"""How many times as much writing to shared memory may cost as on an idle host: 0.5 to 2 ms a megabyte were seen on one
machine, and of a tensor four times as much where the loop asks for the next batch at once."""

HELPERS_FRACTION = 0.25
"""Of the loading thread's CPU, from which other threads of a worker are taken to load too, not only to hand over."""


class PredictionError(Exception):
    """The gain cannot be computed from this run; the message is the reason, for the user."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One way to read the run."""

    batches: tuple[Batch, ...]
    """As a worker loads them."""
    alone: tuple[Batch, ...]
    """As the training process loads them itself: nothing is written to shared memory."""
    lightest: tuple[Batch, ...]
    """The same as far as writing to shared memory may have cost more than is usual: all that collating took."""
    works: tuple[Work, ...]
    """Beside workers: the shared memory of each batch has to be released."""
    works_alone: tuple[Work, ...]
    handover: HandoverTimes
    sampler_us: float
    steps_ahead: int
    cores: Cores
    company: Company
    setting: SimulatedSetting
    batch_tensors: int
    ranks: Ranks
    readers: float
    """Loads of one rank that storage serves at once without slowing them down."""
    saw_workers: bool
    slowdown_measured: bool
    handover_measured: bool
    """Handing over was seen in the run, or measured on its host."""

    @property
    def least_load_us(self) -> float:
        """Of the mean batch, in the training process with no core busy beside it: the least that it can take."""
        grown = replace(self.company, growth=self.company.highest).factor
        alone = self.cores.slowdown(1.0)
        return float(np.mean([each.cpu_us * alone / grown(each.busy) + each.blocked_us for each in self.lightest]))

    def inputs(self, setting: SimulatedSetting) -> LoopInputs:
        batches, works = (self.batches, self.works) if setting.num_workers else (self.alone, self.works_alone)
        factor, part = self.company.factor, self.ranks.part
        return LoopInputs(
            batches=tuple(replace(each, cpu_us=each.cpu_us / factor(each.busy)) for each in batches),
            works=works,
            handover=self.handover,
            cores=replace(self.cores, company=lambda busy: factor(busy / part)),
            sampler_us=self.sampler_us,
            steps_ahead=self.steps_ahead,
            ranks=self.ranks.simulated,
            is_in_step=self.ranks.is_in_step,
            readers=self.readers * self.ranks.simulated,
        )


def read_workload(
    rank: RankFacts, loader: LoaderInfo, host: HostShare, ranks: Ranks = ALONE, *, as_queued: bool = False
) -> Workload:
    """``as_queued``: each part waits for a core as long as it was measured to, whatever else the run does.

    Raises:
        PredictionError: a term that decides the result was not measured or cannot be.
    """
    if loader.num_workers is None:
        raise PredictionError("the loader's num_workers is not known")
    if rank.is_read_ahead:
        raise PredictionError("a thread reads ahead, and how fast the training would take batches was not seen")
    if not host.usable_cores:
        raise PredictionError("the number of cores this run may use is not known")
    _refuse_thread_pools(rank)
    rank = steady(rank)
    rank = _queued_as_blocked(rank) if as_queued else rank
    handover, shared = read_handover(rank, loader, host)
    rate = limited_rate(rank)
    beside = busy_beside(rank, ranks.mates)
    company = read_company(rank, loader, host, ranks.mates)
    busy = np.minimum(max(1.0, host.usable_cores), 1.0 + or_zero(beside))
    batches = ranks.slowest(_batches(rank, rate, busy))
    works = _works(rank, loader, handover, ranks, as_queued=as_queued)
    if loader.num_workers:
        alone = _unwritten(batches, shared.write_us)
        most = min(WRITE_SPAN * shared.write_us, mean(rank.batches.collate_us) or 0.0)
        lightest = _unwritten(batches, max(shared.write_us, most))
        works_alone = tuple(replace(work, cpu_us=max(0.0, work.cpu_us - shared.free_us)) for work in works)
    else:
        alone, lightest, works_alone = batches, batches, works
        batches = tuple(replace(batch, cpu_us=batch.cpu_us + shared.write_us) for batch in batches)
        works = tuple(replace(work, cpu_us=work.cpu_us + shared.free_us) for work in works)
    return Workload(
        batches=batches,
        alone=alone,
        lightest=lightest,
        works=works,
        works_alone=works_alone,
        handover=handover,
        sampler_us=mean(rank.steps.sampler_us) or 0.0,
        steps_ahead=_steps_ahead(rank, ranks),
        cores=_as_recorded(host)
        if as_queued
        else ranks.share(usable_cores(rank.process, host, 1.0 if company.is_seen else LIKELY_FULL)),
        company=company,
        setting=recorded_setting(loader),
        batch_tensors=loader.batch_tensors or 2,
        ranks=ranks,
        readers=rate.few if rate else UNLIMITED,
        saw_workers=loader.num_workers > 0,
        slowdown_measured=host.cpu_slowdown is not None or company.is_seen,
        handover_measured=loader.num_workers > 0 or host.handover is not None,
    )


def is_crowded(rank: RankFacts, host: HostShare, ranks: Ranks = ALONE) -> bool:
    """The cores are full, and most of what fills them is of other jobs: how long the scheduler lets this run wait for
    one follows from their priorities and their number, which were not seen."""
    others = strangers_cores(rank, ranks.mates)
    is_full = are_cores_full(rank, host, load_share(rank, rank.batches.runqueue_us))
    return is_full and others is not None and others > own_cores(rank.process) + ranks.others_cores


def _queued_as_blocked(rank: RankFacts) -> RankFacts:
    batches = rank.batches
    blocked_us = batches.blocked_us + or_zero(batches.runqueue_us)
    return replace(rank, batches=replace(batches, blocked_us=blocked_us))


def _as_recorded(host: HostShare) -> Cores:
    """Nothing waits for them, and none slows another down, beyond what was measured."""
    return Cores(max(1.0, host.usable_cores or 1.0), no_company)


def _unwritten(batches: Iterable[Batch], write_us: float) -> tuple[Batch, ...]:
    """As they are loaded where nothing is written to shared memory, which took ``write_us`` of each."""
    return tuple(replace(each, cpu_us=max(LOADED_SHARE * each.cpu_us, each.cpu_us - write_us)) for each in batches)


def steady(rank: RankFacts) -> RankFacts:
    """Without the first step of each epoch, in which workers are started."""
    keep = ~epoch_starts(rank.steps)
    return rank.at(keep) if keep.any() else rank


def recorded_setting(loader: LoaderInfo) -> SimulatedSetting:
    return SimulatedSetting(
        loader.num_workers or 0,
        loader.prefetch_factor or 2,
        persistent_workers=loader.settings.get("persistent_workers") is True,
        in_order=loader.settings.get("in_order") is not False,
    )


def usable_cores(process: ProcessShare, host: HostShare, assumed_full: float = LIKELY_FULL) -> Cores:
    """``assumed_full``: the slow-down with all cores busy, where it was never measured."""
    usable, others = host.usable_cores or 1.0, other_cores(process) or 0.0
    recorded = max(1.0, own_cores(process), process.host_busy_cores or 0.0)
    if host.cpu_slowdown:
        return Cores(usable, curve_through(host.cpu_slowdown, recorded), others)
    return Cores(usable, assumed_curve(usable, assumed_full, recorded), others)


def _refuse_thread_pools(rank: RankFacts) -> None:
    used = rank.process.process_cores
    if used is not None and used > THREAD_POOL_CORES:
        raise PredictionError(
            f"the training process itself uses {used:.1f} cores: CPU work by a thread pool cannot be predicted "
            "for other settings, only tried"
        )


def limited_rate(rank: RankFacts) -> StorageRate | None:
    """``None``: the run does not show that its readers share a rate."""
    rate = storage_rate(rank) if reads_files(rank) else None
    return rate if rate and rate.is_limited else None


def _batches(rank: RankFacts, rate: StorageRate | None, busy: Column) -> tuple[Batch, ...]:
    """Where readers share a rate, blocked as each would be among few. ``busy``: cores meanwhile, of each batch."""
    table = rank.batches
    known = np.isfinite(table.load_us) & np.isfinite(table.cpu_us) & np.isfinite(table.blocked_us)
    if not known.any():
        raise PredictionError("CPU and blocked time of loading were not measured")
    cpu, blocked, busy = table.cpu_us[known], table.blocked_us[known], busy[known]
    if rate is not None:
        blocked = blocked * rate.few / np.maximum(rate.few, loads_at_once(table, chosen(table, known)))
    helpers = _helpers_us(rank)
    return tuple(
        Batch(float(np.mean(cpu[alike])), float(np.mean(blocked[alike])), helpers, float(np.mean(busy[alike])))
        for alike in groups(cpu + blocked)
    )


def groups(values: Column, most: int = MOST_SIMULATED) -> list[NDArray[np.intp]]:
    """Where values lie that are alike, in at most so many groups of nearly one size, in the order of the recording.

    Their means have the mean and the tail of all. The newest, or every n-th, would miss a tail of one in a hundred or
    have too much of it. A group's place is that of any one of its values, so that slow ones come together as often as
    they do by chance.
    """
    chance = np.random.default_rng(len(values))
    bounds = np.linspace(0, len(values), min(most, len(values)) + 1).round().astype(int)
    alike = np.split(np.lexsort((chance.random(len(values)), values)), bounds[1:-1])
    at = [chance.choice(group) for group in alike]
    return [alike[number] for number in np.argsort(at)]


def _helpers_us(rank: RankFacts) -> float:
    """CPU of threads that load beside the loading one; 0 where they do no more than hand over."""
    cpu, process = mean(rank.batches.cpu_us), mean(rank.batches.process_cpu_us)
    if cpu is None or process is None or process - cpu < HELPERS_FRACTION * cpu:
        return 0.0
    return process - cpu if process - cpu > FEEDING_US else 0.0


FEEDING_US = 5_000.0
"""More CPU than handing a batch over takes, except for batches of hundreds of tensors."""


def _works(
    rank: RankFacts, loader: LoaderInfo, handover: HandoverTimes, ranks: Ranks, *, as_queued: bool
) -> tuple[Work, ...]:
    """What other loaders of the loop take stays in it: the thread sleeps through that, and works through the rest."""
    rest = rank.rests_us if ranks.together is None else ranks.together.work_us
    if not len(rest):
        raise PredictionError("no complete step was measured")
    cpu_share, queued_share = _host_shares(rank, loader, handover, rest)
    queued_share = 0.0 if as_queued else queued_share
    other_share = max(0.0, 1.0 - cpu_share - queued_share)
    device = None if ranks.is_in_step else rank.device_work_us
    device = np.zeros(len(rest)) if device is None else device
    # In step, what is not lost to the slowest rank's loader has the others' waits in it already.
    asleep = np.zeros(len(rest)) if ranks.is_in_step or rank.others_wait_us is None else rank.others_wait_us
    stretch = zip(*(_newest(part).tolist() for part in (rest, asleep, device)), strict=True)
    return tuple(Work(us * cpu_share, us * other_share + asleep_us, device_us) for us, asleep_us, device_us in stretch)


def _newest(part: Column) -> Column:
    """One after another, as they came, with the mean of all: what is long in every n-th step, as where gradients are
    accumulated, needs batches ahead by its turn, and not by chance.
    """
    newest = part[-MOST_SIMULATED:]
    mean_us = float(np.mean(newest))
    return newest * (float(np.mean(part)) / mean_us) if mean_us > 0 else newest


def _steps_ahead(rank: RankFacts, ranks: Ranks) -> int:
    """Ranks that wait for each other in a step have no step's work before them when it ends."""
    if ranks.is_in_step:
        return 0
    work = rank.device_work_us
    return 1 if work is None else steps_ahead(rank.steps.step_us, work)


def _host_shares(rank: RankFacts, loader: LoaderInfo, handover: HandoverTimes, rest: Column) -> tuple[float, float]:
    """Shares of a step outside the wait that the training process computed, and that it queued for a CPU."""
    process, mean_step, mean_rest = rank.process, float(np.nanmean(rank.steps.step_us)), float(np.mean(rest))
    if process.process_cores is None or mean_rest <= 0:
        return _most_computed(rank, mean_step, mean_rest), 0.0
    cpu = process.process_cores * mean_step
    queued = (process.main_runqueue_fraction or 0.0) * mean_step
    sampler_us = mean(rank.steps.sampler_us) or 0.0
    if loader.num_workers:
        # Of the time in the run queue each part has its share by what it computes.
        own = max(0.0, cpu - handover.receive_us - sampler_us)
        cpu, queued = own, queued * own / max(cpu, 1.0)
    else:
        cpu -= sampler_us + (mean(rank.batches.cpu_us) or 0.0)
        queued -= mean(rank.batches.runqueue_us) or 0.0
    cpu_share = min(1.0, max(0.0, cpu / mean_rest))
    return cpu_share, min(1.0 - cpu_share, max(0.0, queued / mean_rest))


def _most_computed(rank: RankFacts, mean_step: float, mean_rest: float) -> float:
    """Share of a step that the training process may compute, where that was not measured: a device does the work where
    there is one, else the CPU does, as far as the host was busy with more than loading.
    """
    busy = rank.process.host_busy_cores
    if rank.uses_gpu or mean_rest <= 0:
        return 0.0 if rank.uses_gpu else 1.0
    if busy is None:
        return 1.0
    return min(1.0, max(0.0, busy * mean_step - (mean(rank.batches.cpu_us) or 0.0)) / mean_rest)
