"""From what was measured to what the simulator replays: batches, steps, and the cores this run finds free."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from underfed_server.advice.simulate import Batch, Cores, LoaderSetting, Work
from underfed_server.advice.slowdown import LIKELY_FULL, WORST_FULL, assumed_curve, curve_through
from underfed_server.diagnosis.measures import mean, other_cores, own_cores
from underfed_server.facts.record import Column, HostShare, LoaderFacts, ProcessShare, RankFacts

# Handing a batch from a worker to the training process (own study, torch 2.13, file_descriptor sharing):
HANDOVER_US = 800.0
HANDOVER_TENSOR_US = 90.0
HANDOVER_MB_US = 780.0
RECEIVE_US = 600.0
RECEIVE_TENSOR_US = 350.0
RECEIVE_MB_US = 190.0
RECEIVE_TENSOR_WAIT_US = 400.0

MANY_THREADS_CORES = 1.3
"""A training process that uses more than this has a thread team (OpenMP, MKL): beyond one thread and the
autograd thread's overlap. A team spins at barriers, so its uncontended time cannot be seen in a contended run."""

MOST_REPLAYED = 400
"""Batches and steps cycled through: enough for a 1 % tail to appear, few enough to simulate in milliseconds."""


class PredictionError(Exception):
    """No honest figure can be computed from this run; the message is the reason, for the user."""


@dataclass(frozen=True, slots=True)
class Replay:
    """One way to read the run. ``handover_scale`` multiplies the hand-over times that were not seen in it."""

    batches: tuple[Batch, ...]
    works: tuple[Work, ...]
    cores: Cores
    setting: LoaderSetting
    saw_workers: bool
    slowdown_measured: bool

    def with_handover(self, scale: float) -> Replay:
        scaled = tuple(
            replace(
                batch,
                handover_us=batch.handover_us * scale,
                receive_us=batch.receive_us * scale,
                receive_wait_us=batch.receive_wait_us * scale,
            )
            for batch in self.batches
        )
        return replace(self, batches=scaled)

    def with_cores(self, cores: Cores) -> Replay:
        return replace(self, cores=cores)


def read_replay(rank: RankFacts, loader: LoaderFacts, host: HostShare) -> Replay:
    """Raises:
    PredictionError: a term that decides the result was not measured or cannot be.
    """
    if loader.num_workers is None:
        raise PredictionError("the loader's num_workers is not known")
    if not host.usable_cores:
        raise PredictionError("the number of cores this run may use is not known")
    _refuse_thread_teams(rank)
    setting = LoaderSetting(loader.num_workers, loader.prefetch_factor or 2)
    return Replay(
        batches=_batches(rank, loader),
        works=_works(rank, loader),
        cores=likely_cores(rank.process, host),
        setting=setting,
        saw_workers=loader.num_workers > 0,
        slowdown_measured=host.cpu_slowdown is not None,
    )


def likely_cores(process: ProcessShare, host: HostShare) -> Cores:
    return _cores(process, host, LIKELY_FULL)


def best_cores(process: ProcessShare, host: HostShare) -> Cores:
    """As :func:`likely_cores`, but where the slow-down was never measured there is none."""
    return _cores(process, host, 1.0)


def worst_cores(process: ProcessShare, host: HostShare) -> Cores:
    """As :func:`likely_cores`, but where the slow-down was never measured it is that of hyperthreads."""
    return _cores(process, host, WORST_FULL)


def _cores(process: ProcessShare, host: HostShare, assumed_full: float) -> Cores:
    usable, others = host.usable_cores or 1.0, other_cores(process)
    recorded = max(1.0, own_cores(process) + others)
    if host.cpu_slowdown:
        return Cores(usable, curve_through(host.cpu_slowdown, recorded), others)
    return Cores(usable, assumed_curve(usable, assumed_full, recorded), others)


def _refuse_thread_teams(rank: RankFacts) -> None:
    used = rank.process.process_cores
    if used is not None and used > MANY_THREADS_CORES:
        raise PredictionError(
            f"the training process itself uses {used:.1f} cores: CPU work by a team of threads cannot be predicted "
            "for other settings, only tried"
        )


def _batches(rank: RankFacts, loader: LoaderFacts) -> tuple[Batch, ...]:
    table = rank.batches
    known = np.isfinite(table.load_us) & np.isfinite(table.cpu_us) & np.isfinite(table.blocked_us)
    if not known.any():
        raise PredictionError("CPU and blocked time of loading were not measured")
    handover = _handover(loader)
    if loader.num_workers:
        receive = _ready_wait(rank)
        if receive is not None:
            handover = replace(handover, receive_us=receive / 2, receive_wait_us=receive / 2)
    cpu, blocked = table.cpu_us[known][-MOST_REPLAYED:], table.blocked_us[known][-MOST_REPLAYED:]
    return tuple(
        replace(handover, cpu_us=float(one), blocked_us=float(other)) for one, other in zip(cpu, blocked, strict=True)
    )


def _handover(loader: LoaderFacts) -> Batch:
    tensors = loader.batch_tensors or 2
    megabytes = (loader.batch_bytes or 0) / 1e6
    return Batch(
        cpu_us=0.0,
        blocked_us=0.0,
        handover_us=HANDOVER_US + tensors * HANDOVER_TENSOR_US + megabytes * HANDOVER_MB_US,
        receive_us=RECEIVE_US + tensors * RECEIVE_TENSOR_US + megabytes * RECEIVE_MB_US,
        receive_wait_us=tensors * RECEIVE_TENSOR_WAIT_US,
    )


def _ready_wait(rank: RankFacts) -> float | None:
    """Median wait for a batch that lay ready when it was asked for; ``None``: too few were."""
    ready = rank.steps.data_wait_us[rank.steps.queue_depth >= 1]
    return float(np.median(ready)) if len(ready) >= 8 else None


def _works(rank: RankFacts, loader: LoaderFacts) -> tuple[Work, ...]:
    rest = rank.steps.step_us - rank.steps.data_wait_us
    rest = rest[np.isfinite(rest)][-MOST_REPLAYED:]
    if not len(rest):
        raise PredictionError("no complete step was measured")
    cpu_share, queued_share = _host_shares(rank, loader, rest)
    return tuple(Work(float(us) * cpu_share, float(us) * max(0.0, 1.0 - cpu_share - queued_share)) for us in rest)


def _host_shares(rank: RankFacts, loader: LoaderFacts, rest: Column) -> tuple[float, float]:
    """Shares of a step outside the wait that the training process computed, and that it queued for a CPU."""
    process, mean_step, mean_rest = rank.process, float(np.nanmean(rank.steps.step_us)), float(np.mean(rest))
    if process.process_cores is None or mean_rest <= 0:
        # Unknown: a device does the work where there is one, else the CPU does.
        return (0.0, 0.0) if rank.uses_gpu else (1.0, 0.0)
    cpu = process.process_cores * mean_step
    queued = (process.main_runqueue_fraction or 0.0) * mean_step
    if not loader.num_workers:
        cpu -= mean(rank.batches.cpu_us) or 0.0
        queued -= mean(rank.batches.runqueue_us) or 0.0
    cpu_share = min(1.0, max(0.0, cpu / mean_rest))
    return cpu_share, min(1.0 - cpu_share, max(0.0, queued / mean_rest))
