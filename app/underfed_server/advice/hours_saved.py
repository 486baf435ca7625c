"""Hours that a fix saves: the same steps at the speed that it promises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from underfed_server.advice.run_gain import NEARLY_ALL
from underfed_server.diagnosis.headline_share import ALIKE
from underfed_server.diagnosis.instant_data import Ceiling
from underfed_server.facts.growth import US_PER_HOUR
from underfed_server.model import Advice, HoursSaved, LoaderLine, Verdict


class Hours(NamedTuple):
    """Of all ranks."""

    lost: float
    used: float


def hours_judged(verdict: Verdict, loaders: Sequence[LoaderLine]) -> Hours | None:
    """Those that the headline is of: since the settings of the loader are as they are, or all. ``None``: not known."""
    if verdict.hours_lost is None or verdict.hours_used is None:
        return None
    share, anatomy = verdict.data_stall_fraction, verdict.anatomy
    if verdict.judged_from_step is None or len(loaders) > 1 or anatomy is None or share is None:
        return Hours(verdict.hours_lost, verdict.hours_used)
    used = anatomy.step_us * verdict.judged_steps * max(1, len(verdict.ranks)) / US_PER_HOUR
    return Hours(share * used, used)


DELAYED = 1.02
"""Factor between what instant data would gain and what the waits take, from which these delay other work, too."""


def within_lost(
    most: Ceiling | None, verdict: Verdict, loaders: Sequence[LoaderLine], judged: str | None, *, is_of_run: bool
) -> Ceiling | None:
    """What a fix of the judged loader gains the same steps at most: by all that they lost to it, so that what it saves
    is what its gain takes off. ``most``: by what instant data would gain, which stands where that is more than without
    waits, and where the judged steps wait for clearly another share than all of them.
    """
    hours, share, paused = hours_judged(verdict, loaders), verdict.data_stall_fraction, verdict.paused_fraction or 0.0
    own = next((line for line in loaders if line.loader == judged), None)
    if most is None or hours is None or share is None or own is None or verdict.bound != "data":
        return most
    if verdict.clock == "gpu" or share >= 1 or most.speedup * (1 - share) > DELAYED:
        return most
    part = own.share_of_run_fraction if is_of_run else 1.0
    part *= 1 - paused
    lost = share * hours.used if verdict.judged_from_step is not None and len(loaders) < 2 else own.hours_lost
    part = 1.0 if part >= NEARLY_ALL or verdict.judged_from_step is not None else part
    of_all = lost / (part * hours.used) if hours.used > 0 else share
    if abs(of_all - share) >= ALIKE:
        return most
    least = 1 / (1 - of_all)
    return Ceiling(min(most.speedup, least), min(most.highest, least))


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
    hours = hours_judged(verdict, loaders)
    if best is None or not best.is_promised or hours is None:
        return None
    others = sum(line.hours_lost for line in loaders if line.loader != judged) if is_of_run else 0.0
    gain, low, high = best.gain_of_run if is_of_run else (best.predicted_speedup, best.low, best.high)
    if gain is None:
        return None
    most = max(0.0, hours.lost - others)
    least, greatest = (saved_at(gain if end is None else end, hours.used, most) for end in (low, high))
    return HoursSaved(low=least, high=greatest)
