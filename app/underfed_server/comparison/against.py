"""One run against another: how many times as fast it is, and which parts of a step made it so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from underfed_server.advice.proof.pace import speedup, t_95
from underfed_server.comparison.side import Measured, Part, Share
from underfed_server.model import Speed

ORDER: tuple[Part, ...] = ("wait", "copy", "compute")

NAMED_FRACTION = 0.2
"""A part that makes up a smaller share of the change in step time is not named as a reason."""

NOTICEABLE = 0.02
"""A run repeated on the same machine differs by a per cent or two, which the interval of these steps does not show."""


@dataclass(frozen=True, slots=True)
class Shift:
    """A part of the mean step whose change is larger than its error."""

    part: Part
    before_us: float
    after_us: float


@dataclass(frozen=True, slots=True)
class Against:
    """One run compared with an earlier one. Durations are per step, or per sample where samples are compared."""

    speed: Speed
    reasons: tuple[Shift, ...]
    """Parts that made the difference, the one that did most first."""
    opposed: tuple[Shift, ...]
    """Parts that changed in the other direction."""


def compare(before: Measured, after: Measured, batches: tuple[float, float] | None) -> Against:
    """``batches``: samples per step of each run; with it samples are compared, not steps."""
    scale = batches or (1.0, 1.0)
    factor = scale[1] / scale[0]
    value, low, high = (ratio * factor for ratio in speedup(before.pace, after.pace))
    is_clear = not low <= 1.0 <= high and abs(value - 1) >= NOTICEABLE
    speed = Speed(factor=value, low=low, high=high, is_told=is_clear)
    return Against(speed, *_shifts(before, after, scale))


def _shifts(before: Measured, after: Measured, scale: tuple[float, float]) -> tuple[tuple[Shift, ...], ...]:
    whole = after.pace.step_us / scale[1] - before.pace.step_us / scale[0]
    t = t_95(before.pace, after.pace)
    earlier = _scaled(_merged(before, before, after), scale[0])
    later = _scaled(_merged(after, before, after), scale[1])
    sure = [Shift(part, earlier[part].us, later[part].us) for part in ORDER
            if part in earlier and _is_sure(earlier[part], later[part], t, abs(whole))]  # fmt: skip
    sure.sort(key=lambda shift: -abs(shift.after_us - shift.before_us))
    with_it = tuple(shift for shift in sure if (shift.after_us - shift.before_us) * whole > 0)
    return with_it, tuple(shift for shift in sure if shift not in with_it)


def _merged(one: Measured, before: Measured, after: Measured) -> Mapping[Part, Share]:
    """A copy that only one run measured is part of the other's compute, so both count it there."""
    if "copy" not in one.parts or ("copy" in before.parts and "copy" in after.parts):
        return one.parts
    copy, rest = one.parts["copy"], one.parts["compute"]
    return {"wait": one.parts["wait"], "compute": Share(copy.us + rest.us, math.hypot(copy.error_us, rest.error_us))}


def _scaled(parts: Mapping[Part, Share], by: float) -> dict[Part, Share]:
    return {part: Share(share.us / by, share.error_us / by) for part, share in parts.items()}


def _is_sure(before: Share, after: Share, t: float, whole_us: float) -> bool:
    changed = abs(after.us - before.us)
    return changed > t * math.hypot(before.error_us, after.error_us) and changed >= NAMED_FRACTION * whole_us
