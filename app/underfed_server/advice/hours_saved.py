"""Hours that a fix saves: the same steps at the speed that it promises."""

from __future__ import annotations

from collections.abc import Sequence

from underfed_server.model import Advice, HoursSaved, LoaderLine, Verdict


def saved_at(speedup: float, used: float, most: float) -> float:
    """Where a run becomes ``speedup`` times as fast its work takes 1 / ``speedup`` of the ``used`` hours.

    ``most``: what was lost to waiting, above which nothing is saved.
    """
    return min(most, max(0.0, used * (1 - 1 / speedup))) if speedup > 0 else 0.0


def hours_saved(
    advice: Sequence[Advice], verdict: Verdict, loaders: Sequence[LoaderLine], judged: str | None, *, is_of_run: bool
) -> HoursSaved | None:
    """By the first fix. ``is_of_run``: the verdict's hours are those of all loaders, of which the waits for others than
    ``judged`` stay. ``None``: it promises no gain, or no hours are known."""
    best = next(iter(advice), None)
    if best is None or not best.is_promised or verdict.hours_lost is None or verdict.hours_used is None:
        return None
    others = sum(line.hours_lost for line in loaders if line.loader != judged) if is_of_run else 0.0
    gain, low, high = best.gain_of_run if is_of_run else (best.predicted_speedup, best.low, best.high)
    if gain is None:
        return None
    most = max(0.0, verdict.hours_lost - others)
    least, greatest = (saved_at(gain if end is None else end, verdict.hours_used, most) for end in (low, high))
    return HoursSaved(low=least, high=greatest)
