"""Proof: what an advised change really gained, beside what was predicted."""

from __future__ import annotations

from dataclasses import dataclass

from underfed_server.advice.catalogue import all_changes
from underfed_server.advice.proof.pace import Pace, Paces, comparable, paces_of, speedup
from underfed_server.facts.record import RunFacts
from underfed_server.model import Advice, LedgerEntry
from underfed_server.names import CauseName


@dataclass(frozen=True, slots=True)
class Pairing:
    """Advice for an earlier run that a later run carries, and how fast the earlier run was."""

    advice_of: str
    cause: CauseName | None
    """The leading cause of the earlier run."""
    advice: Advice
    paces: Paces
    also_changed: tuple[str, ...] = ()
    """What differs besides the advice: if anything does, the runs cannot be compared."""


def compare(later: RunFacts, pairing: Pairing) -> LedgerEntry:
    """What the advice gained in ``later``, which carries it.

    It is inside the predicted interval when the observed gain itself is, not merely a part of the gain's own interval:
    noise may turn a true prediction into a miss, but never hides a wrong one.
    """
    advice, paces = pairing.advice, paces_of(later)
    both = comparable(pairing.paces, paces, by_epochs_only=all_changes()[advice.change].is_between_epochs)
    why_not = _why_not(later, pairing, both)
    observed = speedup(*both) if both and not why_not else None
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


def _why_not(later: RunFacts, pairing: Pairing, both: tuple[Pace, Pace] | None) -> str | None:
    if pairing.also_changed:
        return f"not comparable, changed as well: {', '.join(pairing.also_changed)}"
    if both is not None:
        return None
    is_of_epochs = all_changes()[pairing.advice.change].is_between_epochs
    of = "whole epochs" if is_of_epochs else "steps"
    if (pairing.paces.epochs if is_of_epochs else pairing.paces.steps) is None:
        return f"the earlier run had too few {of} to compare with"
    return f"not enough {of} yet" if later.status == "running" else f"the run had too few {of} to compare"


def _inside(advice: Advice, observed: float | None) -> bool | None:
    if observed is None or advice.low is None or advice.high is None:
        return None
    return advice.low <= observed <= advice.high
