"""The verdict on one run, before advice: what binds it, how sure that is, why, and what was ruled out."""

from __future__ import annotations

from dataclasses import dataclass

from underfed_server.model import Anatomy, Bound, CauseFinding, ClockName, Confidence, Level, RankDiagnosis, Signal


@dataclass(frozen=True, slots=True)
class Verdict:
    """``bound == "unknown"`` carries its ``reason`` and no figures."""

    bound: Bound
    clock: ClockName
    level: Level
    confidence: Confidence | None
    reason: str | None
    sentence: str
    why: str | None
    judged_steps: int
    data_stall_fraction: float | None = None
    steps_per_s: float | None = None
    samples_per_s: float | None = None
    instant_data_steps_per_s: float | None = None
    hours_lost: float | None = None
    copy_hours_lost: float | None = None
    gpu_hours_lost: float | None = None
    hours_used: float | None = None
    anatomy: Anatomy | None = None
    causes: tuple[CauseFinding, ...] = ()
    signals: tuple[Signal, ...] = ()
    ranks: tuple[RankDiagnosis, ...] = ()
