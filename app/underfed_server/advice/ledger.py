"""Proof: what an advised change really gained, beside what was predicted."""

from __future__ import annotations

from dataclasses import dataclass

from underfed_server.advice.pace import OF_EPOCHS, Pace, pace_of, speedup
from underfed_server.facts.record import RunFacts
from underfed_server.model import Advice, Cause, LedgerEntry


@dataclass(frozen=True, slots=True)
class Pairing:
    """An earlier run, its advice that a later run carries, and how fast the earlier one was."""

    advice_of: str
    cause: Cause | None
    """The leading cause of the earlier run."""
    advice: Advice
    pace: Pace | None
    also_changed: tuple[str, ...] = ()
    """What differs besides: with it the runs cannot be compared."""


def compare(later: RunFacts, pairing: Pairing) -> LedgerEntry:
    """What the advice gained in ``later``, which carries it.

    Inside the interval is the gain itself, not merely a part of its own interval: noise may make a miss of a true
    prediction, but never hides a wrong one.
    """
    advice, pace = pairing.advice, pace_of(later, pairing.advice.change)
    why_not = _why_not(later, pairing, pace)
    observed = speedup(pairing.pace, pace) if pairing.pace and pace and not why_not else None
    value, low, high = observed or (None, None, None)
    return LedgerEntry(
        advice_of=pairing.advice_of,
        run_id=later.run_id,
        change=advice.change,
        cause=pairing.cause,
        settings=advice.settings,
        predicted_speedup=advice.predicted_speedup,
        low=advice.low,
        high=advice.high,
        observed_speedup=value,
        observed_low=low,
        observed_high=high,
        inside_interval=_inside(advice, value),
        why_not=why_not,
    )


def _why_not(later: RunFacts, pairing: Pairing, pace: Pace | None) -> str | None:
    if pairing.also_changed:
        return f"not comparable, changed as well: {', '.join(pairing.also_changed)}"
    of = "whole epochs" if pairing.advice.change in OF_EPOCHS else "steps"
    if pairing.pace is None:
        return f"the earlier run had too few {of} to compare with"
    if pace is None:
        return f"not enough {of} yet" if later.status == "running" else f"the run had too few {of} to compare"
    return None


def _inside(advice: Advice, observed: float | None) -> bool | None:
    if observed is None or advice.low is None or advice.high is None:
        return None
    return advice.low <= observed <= advice.high
