"""Facts in, verdict out: the one place where a run is judged."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from underfed_server.diagnosis import sentence
from underfed_server.diagnosis.bound import LostShares, find_bound, find_level, read_losses
from underfed_server.diagnosis.causes import find_causes, read_signals
from underfed_server.diagnosis.examination import examine
from underfed_server.diagnosis.headline_share import headline_share
from underfed_server.diagnosis.instant_data import with_instant_data
from underfed_server.diagnosis.measures import anatomy_of, mean
from underfed_server.diagnosis.overview import Overview, overview_of
from underfed_server.diagnosis.slow_ranks import SlowRanks
from underfed_server.diagnosis.thresholds import THRESHOLDS
from underfed_server.facts.growth import US_PER_HOUR
from underfed_server.facts.record import RankFacts, RunFacts
from underfed_server.measurements import Column
from underfed_server.model import Bound, Confidence, Diagnosis, RankDiagnosis, Verdict
from underfed_server.names import CauseName

HIGH_CONFIDENCE_STEPS = 200
MEDIUM_CONFIDENCE_STEPS = 50
"""The mean wait of 200 steps is known to about ±5 % at a spread of 70 % between steps; of 50, to ±10 %."""


LISTS = ("beside_training", "causes", "signals", "ranks")
"""Fields of a verdict that are empty where there is none."""


@dataclass(frozen=True, slots=True)
class Before:
    """What the last verdict on a run said: a verdict does not change back and forth while the run goes on."""

    bound: Bound
    cause: CauseName | None
    """The leading one."""

    @classmethod
    def of(cls, known: Diagnosis | None) -> Before | None:
        return cls(known.bound, known.causes[0].cause if known.causes else None) if known else None


def judge(
    facts: RunFacts, before: Before | None = None, overview: Overview | None = None, *, is_of_run: bool = True
) -> Verdict:
    """The verdict on ``facts``; ``unknown`` with its reason until enough steps were judged.

    Args:
        before: what the last verdict said. An ended run is judged without it, so that its verdict can be repeated.
        overview: of ``facts``, where it serves more than the verdict.
        is_of_run: its headline states a share of the time in all loops; false: in that of the judged loader.
    """
    if _is_early(facts):
        return _not_yet(facts)
    overview = overview or overview_of(facts)
    rank, together = overview.slow.judged, overview.slow.late_in_turn
    losses = read_losses(rank, together)
    examined = examine(facts, overview, _bound(facts, losses, before))
    causes = find_causes(examined, before.cause if before and facts.status == "running" else None)
    lost, copies, used = _hours(facts, overview.slow)
    headline = headline_share(facts, overview.slow, losses, is_of_run=is_of_run)
    step_s, samples = rank.step_us / 1e6, _samples_per_step(facts, rank)
    instant = with_instant_data(rank, facts.host, examined.bound, together)
    return Verdict(
        bound=examined.bound,
        clock="gpu" if rank.has_device_clock else "host",
        level=find_level(losses.loop),
        confidence=_confidence(facts, rank),
        reason="; ".join(filter(None, (_limitation(facts, rank), sentence.judged_since(rank)))) or None,
        sentence=sentence.verdict(examined, losses, headline),
        why=sentence.why(examined, losses, causes),
        beside_training=sentence.beside_training(rank, facts.between),
        judged_steps=facts.judged_steps,
        judged_from_step=rank.changed.step_index if rank.changed else None,
        data_stall_fraction=losses.data,
        headline_stall_fraction=headline.whole,
        judged_stall_fraction=headline.of_judged if examined.bound in ("data", "compute") else None,
        steps_per_s=1 / step_s,
        samples_per_s=samples / step_s if samples else None,
        instant_data_steps_per_s=instant.speedup / step_s if instant else None,
        instant_data_high_steps_per_s=instant.highest / step_s if instant else None,
        hours_lost=lost,
        copy_hours_lost=copies,
        gpu_hours_lost=lost if all(each.uses_gpu for each in facts.ranks) else None,
        hours_used=used,
        hours_restarting=_hours_restarting(facts, overview.slow),
        paused_fraction=rank.paused_fraction,
        is_mostly_paused=sentence.outweigh_waiting(rank, losses.data),
        anatomy=anatomy_of(rank),
        causes=causes,
        signals=read_signals(examined, causes),
        ranks=_ranks(overview.slow),
    )


class Explained(NamedTuple):
    """What stacks explain of a run: only that is worth looking up."""

    loading: bool
    """:func:`judge` will say that it waits for data."""
    between: bool
    """It will say what the training threads of a profiled run execute between batches."""


def explained_by_stacks(facts: RunFacts, before: Before | None, overview: Overview) -> Explained:
    if _is_early(facts):
        return Explained(loading=False, between=False)
    losses = read_losses(overview.slow.judged, overview.slow.late_in_turn)
    return Explained(loading=_bound(facts, losses, before) == "data", between=True)


def _is_early(facts: RunFacts) -> bool:
    return facts.judged_steps < THRESHOLDS.needed_steps


def _bound(facts: RunFacts, losses: LostShares, before: Before | None) -> Bound:
    return find_bound(losses, before.bound if before and facts.status == "running" else None)


def _not_yet(facts: RunFacts) -> Verdict:
    needed = THRESHOLDS.warmup_steps + THRESHOLDS.needed_steps
    said, reason = sentence.no_verdict_yet(facts, needed)
    return without_figures(said, reason, facts.judged_steps, sentence.waited_fraction(facts))


def without_figures(said: str, reason: str, judged_steps: int, waited: float | None = None) -> Verdict:
    """No verdict, and why. ``waited``: of the time so far."""
    nothing = dict.fromkeys(Verdict.model_fields) | {name: [] for name in LISTS} | {"waited_fraction": waited}
    known = {"clock": "host", "reason": reason, "sentence": said, "judged_steps": judged_steps}
    return Verdict.model_validate(nothing | known | {"bound": "unknown", "level": "unknown"})


def _samples_per_step(facts: RunFacts, rank: RankFacts) -> float | None:
    """Mean samples in a batch as loaded, else the batch size that was set."""
    counted = mean(rank.batches.samples)
    if counted:
        return counted
    return float(facts.loader.batch_size) if facts.loader and facts.loader.batch_size else None


def _confidence(facts: RunFacts, rank: RankFacts) -> Confidence:
    if facts.judged_steps >= HIGH_CONFIDENCE_STEPS and not _limitation(facts, rank):
        return "high"
    return "medium" if facts.judged_steps >= MEDIUM_CONFIDENCE_STEPS else "low"


def _limitation(facts: RunFacts, rank: RankFacts) -> str | None:
    """A wait on the host's clock is not yet a stall of the device: queued kernels may still run."""
    if rank.is_read_ahead and not (rank.is_held_up or rank.has_device_clock):
        return "judged by a thread that reads ahead: what the training itself waits for is at most that"
    if facts.uses_gpu and not rank.has_device_clock:
        return "judged on the host's clock: the device may have worked on queued kernels during a wait"
    return None


def _hours(facts: RunFacts, slow: SlowRanks) -> tuple[float, float | None, float]:
    """Rank-hours stalled, of them in copies, and used over the whole run, warm-up included: that was paid for too.

    A copy that is not hidden comes after the wait for its batch, so both add up. ``None``: no rank saw its copies.
    """
    used = sum(rank.total_step_us for rank in facts.ranks)
    seen = [us for rank in facts.ranks if (us := _exposed_us(rank)) is not None]
    copies = sum(seen) / US_PER_HOUR if seen else None
    return slow.input_lost_us / US_PER_HOUR + (copies or 0.0), copies, used / US_PER_HOUR


def _hours_restarting(facts: RunFacts, slow: SlowRanks) -> float | None:
    """Of all ranks, as other hours."""
    again = sentence.larger_restarts(facts, slow)
    return None if again is None else again.us * len(facts.ranks) / US_PER_HOUR


def _exposed_us(rank: RankFacts) -> float | None:
    """Over all its steps; at most what these took beside their waits."""
    if rank.total_copy_us is None:
        return None
    return min(rank.total_copy_us, max(0.0, rank.total_step_us - rank.total_data_wait_us))


def _ranks(slow: SlowRanks) -> list[RankDiagnosis]:
    stragglers = {rank.rank for rank in slow.stragglers}
    return [
        RankDiagnosis(
            rank=rank.rank,
            data_stall_fraction=rank.stall_fraction if len(rank.steps) else None,
            straggler=rank.rank in stragglers,
            works_longer=slow.at_work is not None and rank is slow.at_work.rank,
            data_wait_us=round(rank.data_wait_us) if len(rank.steps) else None,
            data_wait_p95_us=_p95(rank.steps.data_wait_us),
            queue_empty_fraction=_empty_fraction(rank.steps.queue_depth),
        )
        for rank in slow.ranks
    ]


def _p95(waits_us: Column) -> int | None:
    """Of whole samples: a selection takes a fifth of what interpolation does, and ranks may be thousands."""
    if not len(waits_us):
        return None
    place = math.ceil(0.95 * len(waits_us)) - 1
    return round(float(np.partition(waits_us, place)[place]))


def _empty_fraction(depths: Column) -> float | None:
    known = depths[np.isfinite(depths)]
    return round(float(np.mean(known == 0)), 4) if len(known) else None
