"""Advice that was computed a while ago beside the verdict of now, so that their figures fit together."""

from __future__ import annotations

import math
from collections.abc import Sequence

from underfed_server.advice.advise import Recommendation
from underfed_server.advice.catalogue import all_changes
from underfed_server.advice.offer import NEARLY, UNKNOWN, above, changed_step
from underfed_server.advice.saved import within_causes
from underfed_server.diagnosis.instant_data import Ceiling
from underfed_server.model import Advice, Anatomy, CauseFinding


def at_present(
    recommendation: Recommendation, now: Anatomy | None, could_be: Ceiling | None, causes: Sequence[CauseFinding] = ()
) -> tuple[Advice, ...]:
    """None gains more than instant data would by now, or than its causes cost by now; predicted steps are those of the
    present step.

    Args:
        now: the mean step of the present verdict.
        could_be: what instant data would gain by it; ``None``: not known.
        causes: of the present verdict.
    """
    if now is None or now == recommendation.anatomy:
        return recommendation.advice
    changed = could_be.speedup / recommendation.could_be if could_be and recommendation.could_be else 1.0
    present = (within_causes(one, causes) if all_changes()[one.change].is_of_its_causes else one
               for one in recommendation.advice)  # fmt: skip
    return tuple(
        _at_present(one, now, could_be or UNKNOWN, changed, is_of_all=_is_of_all(one, recommendation))
        for one in present
    )


def no_more_than(advice: Sequence[Advice], most: Ceiling | None, now: Anatomy | None) -> tuple[Advice, ...]:
    """No advice promises a larger gain. ``now``: the mean step; ``None`` of either: not known."""
    return tuple(advice) if most is None or now is None else tuple(_no_more(one, most, now) for one in advice)


def _no_more(one: Advice, most: Ceiling, now: Anatomy) -> Advice:
    gain, low = (None if value is None else min(value, most.speedup) for value in (one.predicted_speedup, one.low))
    high = None if one.high is None else min(one.high, most.highest)
    own = one.ceiling
    ceiling = None if own is None else above(min(own, most.speedup), high, min(own, most.highest))
    ends = {
        name: None if end is None or ceiling is None else min(end, most.highest)
        for name, end in (("ceiling_low", one.ceiling_low), ("ceiling_high", one.ceiling_high))
    }
    is_same = gain is None or gain == one.predicted_speedup
    anatomy = one.anatomy if is_same or one.anatomy is None or gain is None else _step(now, gain)
    figures = {"predicted_speedup": gain, "low": low, "high": high, "ceiling": ceiling, "anatomy": anatomy}
    return Advice.model_validate(dict(one) | figures | ends)


def _is_of_all(one: Advice, recommendation: Recommendation) -> bool:
    """It may gain as much as instant data, as it was computed."""
    most = recommendation.could_be
    return one.ceiling is not None and most is not None and one.ceiling >= most * (1 - NEARLY)


def _at_present(one: Advice, now: Anatomy, could_be: Ceiling, changed: float, *, is_of_all: bool) -> Advice:
    # What a part of loading may save was measured then; it has no share in what more instant data would gain by now.
    grown = changed if is_of_all else min(1.0, changed)
    most = math.inf if one.ceiling is None else one.ceiling * grown
    speedup, highest = min(most, could_be.speedup), min(most, could_be.highest)
    gain, low = (None if value is None else min(value, speedup) for value in (one.predicted_speedup, one.low))
    high = None if one.high is None else min(one.high, highest)
    ceiling = None if one.ceiling is None else above(speedup, high, highest)
    ends = {
        name: None if end is None else min(end * grown, could_be.speedup)
        for name, end in (("ceiling_low", one.ceiling_low), ("ceiling_high", one.ceiling_high))
    }
    figures = {"predicted_speedup": gain, "low": low, "high": high, "ceiling": ceiling, **ends}
    anatomy = _step(now, gain) if one.anatomy and gain else None
    return Advice.model_validate(dict(one) | figures | {"anatomy": anatomy})


def _step(now: Anatomy, gain: float) -> Anatomy:
    return changed_step(now, round(now.step_us / gain), now.compute_us)
