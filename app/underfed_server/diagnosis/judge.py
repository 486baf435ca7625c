"""Facts in, verdict out: the one place where a run is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from underfed_server.diagnosis import sentence
from underfed_server.diagnosis.anatomy import anatomy_of
from underfed_server.diagnosis.bound import find_bound, find_level, read_losses
from underfed_server.diagnosis.causes import find_causes
from underfed_server.diagnosis.judged import examine
from underfed_server.diagnosis.limits import LIMITS, Limits
from underfed_server.diagnosis.measures import exposed_copy_us, mean
from underfed_server.diagnosis.ranks import judged_rank, stragglers
from underfed_server.diagnosis.rules import Rule, all_rules
from underfed_server.diagnosis.signals import read_signals
from underfed_server.diagnosis.verdict import Verdict
from underfed_server.facts.record import RankFacts, RunFacts
from underfed_server.model import Bound, Cause, ClockName, Confidence, Diagnosis, RankDiagnosis

US_PER_HOUR = 3.6e9


@dataclass(frozen=True, slots=True)
class Before:
    """What was said of a run when it was last judged: a verdict does not change back and forth while it runs."""

    bound: Bound
    cause: Cause | None
    """The leading one."""

    @classmethod
    def of(cls, known: Diagnosis | None) -> Before | None:
        return cls(known.bound, known.causes[0].cause if known.causes else None) if known else None


def judge(
    facts: RunFacts, limits: Limits = LIMITS, rules: Mapping[str, Rule] | None = None, before: Before | None = None
) -> Verdict:
    """The verdict on ``facts``; ``unknown`` with its reason until enough steps were judged.

    Args:
        before: how it was judged last. An ended run is judged without it, so that its verdict can be repeated.
    """
    if facts.judged_steps < limits.needed_steps:
        return _not_yet(facts, limits)
    before = before if facts.status == "running" else None
    rank = judged_rank(facts, limits)
    fraction, losses = rank.stall_fraction, read_losses(rank, limits)
    bound = find_bound(losses, limits, before.bound if before else None)
    judged = examine(facts, rank, bound, limits)
    causes = find_causes(judged, limits, all_rules() if rules is None else rules, before.cause if before else None)
    lost, copies, used = _hours(facts)
    step_s = rank.step_us / 1e6
    samples = samples_per_step(facts)
    return Verdict(
        bound=bound,
        clock=_clock(rank),
        level=find_level(fraction, limits),
        confidence=_confidence(facts, rank, limits),
        reason=_limitation(facts, rank),
        sentence=sentence.verdict(judged, losses, limits),
        why=sentence.why(judged, losses, causes, samples, limits),
        judged_steps=facts.judged_steps,
        data_stall_fraction=fraction,
        steps_per_s=1 / step_s,
        samples_per_s=samples / step_s if samples else None,
        instant_data_steps_per_s=1 / (step_s * (1 - fraction)) if fraction < 1 else None,
        hours_lost=lost,
        copy_hours_lost=copies,
        gpu_hours_lost=lost if all(each.uses_gpu for each in facts.ranks) else None,
        hours_used=used,
        anatomy=anatomy_of(rank),
        causes=causes,
        signals=read_signals(judged, causes, limits),
        ranks=_ranks(facts, limits),
    )


def samples_per_step(facts: RunFacts) -> float | None:
    """Mean samples in a batch as loaded, else the batch size that was set."""
    counted = mean(judged_rank(facts).batches.samples)
    if counted:
        return counted
    return float(facts.loader.batch_size) if facts.loader and facts.loader.batch_size else None


def _not_yet(facts: RunFacts, limits: Limits) -> Verdict:
    needed = limits.warmup_steps + limits.needed_steps
    is_over = sentence.has_ended(facts.status)
    reason = sentence.too_short(facts, needed) if is_over else sentence.still_measuring(facts, needed)
    if facts.no_loader:
        reason = sentence.why_no_loader(facts.no_loader)
    return Verdict(
        bound="unknown",
        clock="host",
        level="unknown",
        confidence=None,
        reason=reason,
        sentence=_told_later(facts, needed),
        why=None,
        judged_steps=facts.judged_steps,
    )


def _told_later(facts: RunFacts, needed: int) -> str:
    if facts.no_loader:
        return sentence.no_loader()
    return sentence.verdict_comes(facts, needed) if facts.status == "running" else sentence.no_verdict(facts.status)


def _clock(rank: RankFacts) -> ClockName:
    return "gpu" if rank.has_device_clock else "host"


def _confidence(facts: RunFacts, rank: RankFacts, limits: Limits) -> Confidence:
    if facts.judged_steps >= limits.high_confidence_steps and not _limitation(facts, rank):
        return "high"
    return "medium" if facts.judged_steps >= limits.medium_confidence_steps else "low"


def _limitation(facts: RunFacts, rank: RankFacts) -> str | None:
    """A wait on the host's clock is not yet a stall of the device: queued kernels may still run."""
    if facts.uses_gpu and not rank.has_device_clock:
        return "judged on the host's clock: the device may have worked on queued kernels during a wait"
    return None


def _hours(facts: RunFacts) -> tuple[float, float | None, float]:
    """Rank-hours stalled, of them in copies, and used over the whole run, warm-up included: that was paid for too.

    A copy that is not hidden comes after the wait for its batch, so both add up. ``None``: no rank saw its copies.
    """
    waits = sum(rank.total_data_wait_us * _device_share(rank) for rank in facts.ranks)
    seen = [us for rank in facts.ranks if (us := _exposed_us(rank)) is not None]
    copies = sum(seen) / US_PER_HOUR if seen else None
    return waits / US_PER_HOUR + (copies or 0.0), copies, sum(rank.total_step_us for rank in facts.ranks) / US_PER_HOUR


def _exposed_us(rank: RankFacts) -> float | None:
    """Of all its steps, as copies were in those that were judged; never more than the steps took beside their waits."""
    mean_us = exposed_copy_us(rank)
    if mean_us is None:
        return None
    return min(mean_us * rank.total_steps, max(0.0, rank.total_step_us - rank.total_data_wait_us))


def _device_share(rank: RankFacts) -> float:
    """Of the host's wait, the part that the device's clock confirms (1 where there is none)."""
    if not rank.has_device_clock or rank.data_wait_us <= 0:
        return 1.0
    return min(1.0, rank.stall_us / rank.data_wait_us)


def _ranks(facts: RunFacts, limits: Limits) -> tuple[RankDiagnosis, ...]:
    slow = {rank.rank for rank in stragglers(facts, limits)}
    return tuple(
        RankDiagnosis(
            rank=rank.rank,
            data_stall_fraction=rank.stall_fraction if len(rank.steps) else None,
            straggler=rank.rank in slow,
        )
        for rank in facts.ranks
    )
