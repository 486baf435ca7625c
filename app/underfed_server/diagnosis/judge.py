"""Facts in, verdict out: the one place where a run is judged."""

from __future__ import annotations

from collections.abc import Iterable

from underfed_server.diagnosis import sentence
from underfed_server.diagnosis.limits import LIMITS, Limits
from underfed_server.diagnosis.measures import mean
from underfed_server.diagnosis.rules import Rule, all_rules
from underfed_server.diagnosis.signals import read_signals
from underfed_server.diagnosis.verdict import Verdict
from underfed_server.facts.record import RankFacts, RunFacts
from underfed_server.model import Anatomy, Bound, CauseFinding, ClockName, Confidence, Level, RankDiagnosis

US_PER_HOUR = 3.6e9


def judge(facts: RunFacts, limits: Limits = LIMITS, rules: Iterable[Rule] | None = None) -> Verdict:
    """The verdict on ``facts``; ``unknown`` with its reason until enough steps were judged."""
    if facts.judged_steps < limits.needed_steps:
        return _not_yet(facts, limits)
    rank = facts.median_rank
    fraction = rank.stall_fraction
    level, bound = _level(fraction, limits), _bound(fraction, limits)
    causes = _causes(facts, limits, all_rules() if rules is None else rules) if bound == "data" else ()
    lost, used = _hours(facts)
    step_s = rank.step_us / 1e6
    samples = samples_per_step(facts)
    return Verdict(
        bound=bound,
        clock=_clock(rank),
        level=level,
        confidence=_confidence(facts, limits),
        reason=_limitation(facts),
        sentence=sentence.verdict(facts, bound, fraction),
        why=sentence.why(facts, bound, causes, samples, limits),
        judged_steps=facts.judged_steps,
        data_stall_fraction=fraction,
        steps_per_s=1 / step_s,
        samples_per_s=samples / step_s if samples else None,
        instant_data_steps_per_s=1 / (step_s * (1 - fraction)) if fraction < 1 else None,
        hours_lost=lost,
        gpu_hours_lost=lost if all(each.uses_gpu for each in facts.ranks) else None,
        hours_used=used,
        anatomy=_anatomy(rank),
        causes=causes,
        signals=read_signals(facts, causes, limits),
        ranks=tuple(_rank_diagnosis(each) for each in facts.ranks),
    )


def samples_per_step(facts: RunFacts) -> float | None:
    """Mean samples in a batch as loaded, else the batch size that was set."""
    counted = mean(facts.median_rank.batches.samples)
    if counted:
        return counted
    return float(facts.loader.batch_size) if facts.loader and facts.loader.batch_size else None


def _not_yet(facts: RunFacts, limits: Limits) -> Verdict:
    needed = limits.warmup_steps + limits.needed_steps
    ended = facts.status != "running"
    reason = sentence.too_short(facts, needed) if ended else sentence.still_measuring(facts, needed)
    if facts.no_loader:
        reason = sentence.why_no_loader(facts.no_loader)
    return Verdict(
        bound="unknown",
        clock="host",
        level="unknown",
        confidence=None,
        reason=reason,
        sentence=sentence.no_loader() if facts.no_loader else sentence.no_verdict(ended),
        why=None,
        judged_steps=facts.judged_steps,
    )


def _level(fraction: float, limits: Limits) -> Level:
    if fraction < limits.watch_fraction:
        return "healthy"
    if fraction < limits.limited_fraction:
        return "watch"
    return "limited" if fraction < limits.bound_fraction else "bound"


def _bound(fraction: float, limits: Limits) -> Bound:
    # Without a device clock the rest of a step cannot be split: what is not input is "compute".
    return "data" if fraction >= limits.limited_fraction else "compute"


def _clock(rank: RankFacts) -> ClockName:
    return "gpu" if rank.has_device_clock else "host"


def _confidence(facts: RunFacts, limits: Limits) -> Confidence:
    if facts.judged_steps >= limits.high_confidence_steps and not _limitation(facts):
        return "high"
    return "medium" if facts.judged_steps >= limits.medium_confidence_steps else "low"


def _limitation(facts: RunFacts) -> str | None:
    """A wait on the host's clock is not yet a stall of the device: queued kernels may still run."""
    if facts.uses_gpu and not facts.median_rank.has_device_clock:
        return "judged on the host's clock: the device may have worked on queued kernels during a wait"
    return None


def _causes(facts: RunFacts, limits: Limits, rules: Iterable[Rule]) -> tuple[CauseFinding, ...]:
    """Largest cost first; together at most the stall."""
    found = [finding for rule in rules if (finding := rule(facts, limits)) is not None]
    found = [finding for finding in found if finding.cost_fraction >= limits.minor_cost_fraction]
    total, stall = sum(finding.cost_fraction for finding in found), facts.median_rank.stall_fraction
    scale = min(1.0, stall / total) if total else 1.0
    shares = [finding.model_copy(update={"cost_fraction": finding.cost_fraction * scale}) for finding in found]
    return tuple(sorted(shares, key=lambda finding: -finding.cost_fraction))


def _hours(facts: RunFacts) -> tuple[float, float]:
    """Rank-hours stalled and used over the whole run, warm-up included: that time was paid for too."""
    lost = sum(rank.total_data_wait_us * _device_share(rank) for rank in facts.ranks)
    return lost / US_PER_HOUR, sum(rank.total_step_us for rank in facts.ranks) / US_PER_HOUR


def _device_share(rank: RankFacts) -> float:
    """Of the host's wait, the part that the device's clock confirms (1 where there is none)."""
    if not rank.has_device_clock or rank.data_wait_us <= 0:
        return 1.0
    return min(1.0, rank.stall_us / rank.data_wait_us)


def _anatomy(rank: RankFacts) -> Anatomy:
    step, wait, sampler = round(rank.step_us), round(rank.data_wait_us), mean(rank.steps.sampler_us)
    return Anatomy(
        step_us=step,
        data_wait_us=wait,
        h2d_exposed_us=None,
        compute_us=step - wait,
        gpu_idle_us=min(wait, round(rank.stall_us)) if rank.has_device_clock else None,
        sampler_us=None if sampler is None else round(sampler),
    )


def _rank_diagnosis(rank: RankFacts) -> RankDiagnosis:
    fraction = rank.stall_fraction if len(rank.steps) else None
    return RankDiagnosis(rank=rank.rank, data_stall_fraction=fraction, straggler=False)
