"""What a step would take if every batch were there at once, of all loaders: an estimate, and no bound.

It is what the device needs, where its clock saw that, else the step without its wait. Workers that load beside the step
also slow the step itself down: it queues for cores that they use, and busy cores share caches and clock. As far as that
was measured it goes away, too; what they take of the memory's bandwidth was not, so more may be gained than is said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from underfed_server.diagnosis.measures import exposed_copy_us, mean, other_cores, own_cores, used_cores_fraction
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.lockstep import Lockstep
from underfed_server.facts.record import HostShare, RankFacts
from underfed_server.measurements import Column
from underfed_server.model import Bound

PASSED = 0.20
"""As a logarithm, by how much more may be gained at most where loading takes cores from the step (× 2.3 was seen where
× 1.97 was estimated)."""

BLOCKS = 8
"""Of consecutive steps: neighbouring ones are not independent, blocks nearly are."""

LEAST_SHOWN = 0.02
"""As a logarithm, from which what it may turn out to be is shown beside the estimate: less reads as the same figure."""

SURE = 2.0
"""Standard errors of the mean step without its wait."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Factor on the speed of the loop that a change cannot exceed: an estimate."""

    speedup: float
    highest: float = math.inf
    """What it may turn out to be."""

    def leaving(self, share: float) -> Ceiling:
        """``share``: of a step, what the change leaves of what this one takes away."""
        return Ceiling(1 / (1 / self.speedup + share), 1 / (1 / self.highest + share)) if share else self


def read_ceiling(rank: RankFacts, host: HostShare, together: Lockstep | None = None) -> Ceiling:
    """That of every batch being there at once, known as well as the step without its wait: no step is shorter than the
    work of a device whose clock was read. ``rank`` and ``together`` as of :func:`instant_step_us`.
    """
    speedup = rank.step_us / max(instant_step_us(rank, host, together), 1.0)
    return Ceiling(speedup, speedup * math.exp(_strays(rank, host, together)))


def most_of_one_loader(
    rank: RankFacts, host: HostShare, bound: Bound, together: Lockstep | None = None
) -> Ceiling | None:
    """No fix gains more in a run that loses time to its input: a loop waits for its other loaders as before. ``None``:
    it loses none, or nothing shows it.
    """
    found = with_instant_data(rank, host, bound, together) if bound in ("data", "transfer") else None
    return found and found.leaving(others_share(rank))


def others_share(rank: RankFacts) -> float:
    """Of a step, what the loop loses to its other loaders; of what the device's clock saw it lose, where it has one."""
    lost_us, waits_us = rank.input_lost_us, rank.stall_us + rank.others_stall_us
    lost = waits_us if lost_us is None else min(lost_us, waits_us)
    return lost / rank.step_us * rank.others_stall_us / waits_us if waits_us > 0 else 0.0


def with_instant_data(
    rank: RankFacts, host: HostShare, bound: Bound, together: Lockstep | None = None
) -> Ceiling | None:
    """As :func:`could_be_us` has it, and what it may turn out to be. ``None``: nothing shows it."""
    instant_us = could_be_us(rank, host, bound, together)
    if instant_us <= 0:
        return None
    speedup = rank.step_us / instant_us
    return Ceiling(speedup, speedup * math.exp(_strays(rank, host, together)))


def _strays(rank: RankFacts, host: HostShare, together: Lockstep | None) -> float:
    """As a logarithm."""
    is_of_device = together is None and rank.has_device_clock
    error = 0.0 if is_of_device else _error(rank.rests_us if together is None else together.work_us)
    strays = math.hypot(error, _passed(rank) if shares_cores(rank, host) else 0.0)
    return strays if strays >= LEAST_SHOWN else 0.0


def _passed(rank: RankFacts) -> float:
    """What workers take of the cores is divided among all others that want it, the step among them."""
    by_training, by_workers = rank.process.process_cores, rank.process.workers_cores
    if not by_training or by_workers is None:
        return PASSED
    return min(PASSED, math.log1p(by_workers / (by_training + (other_cores(rank.process) or 0.0))))


def _error(rests_us: Column) -> float:
    """Of their mean, as a logarithm; 0 where they are too few to tell."""
    if len(rests_us) < 2 * BLOCKS or not np.mean(rests_us) > 0:
        return 0.0
    means = [np.mean(block) for block in np.array_split(rests_us, BLOCKS)]
    return SURE * float(np.std(means, ddof=1)) / math.sqrt(BLOCKS) / float(np.mean(rests_us))


def could_be_us(rank: RankFacts, host: HostShare, bound: Bound, together: Lockstep | None = None) -> float:
    """Of the mean judged step, if its input cost nothing: what is said of the run, wherever it is said. Where copies
    bind it, input is there when it is on the device. 0 where nothing shows it; arguments as of :func:`instant_step_us`.
    """
    instant_us = instant_step_us(rank, host, together)
    return instant_us if bound != "transfer" else max(0.0, instant_us - (exposed_copy_us(rank) or 0.0))


def instant_step_us(rank: RankFacts, host: HostShare, together: Lockstep | None = None) -> float:
    """Of the mean judged step; 0 where nothing shows it. ``rank``: one with judged steps. ``together``: ranks that are
    late in turn."""
    if rank.is_read_ahead:
        return rank.step_us if rank.is_held_up else 0.0
    if together is not None:
        # The device's clock cannot tell: also waiting for the other ranks is work to it.
        return max(0.0, rank.step_us * (1 - together.lost_fraction) - rank.others_stall_us)
    lost = rank.input_lost_us
    rest = rank.step_us - (rank.stall_us + rank.others_stall_us if lost is None else lost)
    work = rank.device_work_us
    return max(rest - _slowed_us(rank, host), 0.0 if work is None else float(np.mean(work)))


def shares_cores(rank: RankFacts, host: HostShare) -> bool:
    """Loading takes cores from the step: what the step would take without it was not seen."""
    used = used_cores_fraction(rank, host)
    return used is not None and used >= THRESHOLDS.saturated_cores_fraction and _loads_beside(rank)


def _slowed_us(rank: RankFacts, host: HostShare) -> float:
    """By how much workers that load beside it lengthen the work of the mean step."""
    process = rank.process
    if process.process_cores is None or not process.workers_cores or not _loads_beside(rank):
        return 0.0
    rest = rank.rest_us
    computed = max(0.0, process.process_cores * rank.step_us - (mean(rank.steps.sampler_us) or 0.0))
    queued = (process.main_runqueue_fraction or 0.0) * rank.step_us
    by_workers = process.workers_cores / (process.workers_cores + (other_cores(process) or 0.0))
    return min(rest, computed) * _slowdown_share(rank, host) + min(max(0.0, rest - computed), queued) * by_workers


def _slowdown_share(rank: RankFacts, host: HostShare) -> float:
    """Of CPU time, what it is longer for the workers' busy cores; 0 where the host was not measured."""
    if not host.cpu_slowdown:
        return 0.0
    cores, factors = np.array(sorted(host.cpu_slowdown)).T
    busy = max(1.0, own_cores(rank.process), rank.process.host_busy_cores or 0.0)
    alone = max(1.0, busy - (rank.process.workers_cores or 0.0))
    return max(0.0, 1 - float(np.interp(alone, cores, factors) / np.interp(busy, cores, factors)))


def _loads_beside(rank: RankFacts) -> bool:
    """In workers, and not in the training process."""
    return bool(np.isfinite(rank.batches.worker).any())
