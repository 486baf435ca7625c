"""How much of what was lost the best advice would have saved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from underfed_server.store.team.sightings import Sighting


@dataclass(frozen=True, slots=True)
class Recoverable:
    """Hours. ``low`` and ``high`` are ``None`` where an advice has no interval."""

    hours: float
    low: float | None
    high: float | None


def recoverable(run: Sighting) -> Recoverable | None:
    """``None``: no gain was predicted for the run.

    With a speed-up of s the run's work takes 1 / s of its hours: ``used × (1 − 1 / s)`` are saved, and never more than
    were lost to waiting. The gain was predicted from the newest steps; it is taken for the whole of the run.
    """
    advice = run.best_advice
    if advice is None or advice.predicted_speedup is None:
        return None
    return Recoverable(
        hours=_saved(run, advice.predicted_speedup),
        low=None if advice.low is None else _saved(run, advice.low),
        high=None if advice.high is None else _saved(run, advice.high),
    )


def together(parts: Iterable[tuple[float, Recoverable | None]]) -> Recoverable | None:
    """Of several runs, each with the share that counts. Those without a prediction add nothing."""
    known = [(share, each) for share, each in parts if each is not None]
    if not known:
        return None
    return Recoverable(
        hours=sum(share * each.hours for share, each in known),
        low=_sum((share, each.low) for share, each in known),
        high=_sum((share, each.high) for share, each in known),
    )


def _saved(run: Sighting, speedup: float) -> float:
    return min(run.hours_lost, max(0.0, run.hours_used * (1 - 1 / speedup))) if speedup > 0 else 0.0


def _sum(parts: Iterable[tuple[float, float | None]]) -> float | None:
    total = 0.0
    for share, hours in parts:
        if hours is None:
            return None
        total += share * hours
    return total
