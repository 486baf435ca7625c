"""A comparison in words, numbers rounded as the page rounds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from underfed_server.comparison.against import Against, Shift
from underfed_server.comparison.side import Part
from underfed_server.model import Speed

Per = Literal["steps", "samples"]
NAMES: dict[Part, str] = {"wait": "data wait", "copy": "copy", "compute": "compute"}


def against(label: str, baseline: str, found: Against, per: Per) -> str:
    """``aug2-w8 is 1.58 × as fast as aug2 (95 % 1.52–1.63), because data wait fell from 177 to 24 ms.``"""
    speed = found.speed
    if speed.low <= 1.0 <= speed.high:
        return f"No difference can be told between {label} and {baseline}: {_ratio(speed, per)}."
    if not speed.is_told:
        return f"{label} is as fast as {baseline} to within 2 %: {_ratio(speed, per)}."
    much = "the samples per second of" if per == "samples" else "as fast as"
    verb = "gets" if per == "samples" else "is"
    return f"{label} {verb} {_factor(speed.factor)} × {much} {baseline} ({_interval(speed)}){_why(found, per)}."


def fastest(label: str, others: int, baseline: str, found: Against, per: Per, rival: str | None) -> str:
    """Of several runs. ``rival``: another one that may be as fast."""
    said = f"Fastest of {others + 1}: {against(label, baseline, found, per)}"
    return said if rival is None else f"{said} Between it and {rival} no difference can be told."


def none_faster(baseline: str, compared: int, others: int) -> str:
    which = f"the other {others}" if compared == others else f"the {compared} that can be compared"
    return f"None of {which} is told to be faster than {baseline}."


def not_comparable(label: str, why_not: str) -> str:
    return f"{label} cannot be compared: {why_not}."


def duration_span(before_us: float, after_us: float) -> str:
    """``177 to 24 ms``: in the unit of the larger, which comes once."""
    largest = max(before_us, after_us)
    divisor, unit = (1e6, "s") if largest >= 999_500 else (1e3, "ms") if largest >= 999.5 else (1.0, "µs")
    return f"{_digits(before_us / divisor)} to {_digits(after_us / divisor)} {unit}"


def _why(found: Against, per: Per) -> str:
    if not found.reasons:
        return ""
    although = f", although {_shifts(found.opposed, per)}" if found.opposed else ""
    return f", because {_shifts(found.reasons, per)}{although}"


def _shifts(shifts: Sequence[Shift], per: Per) -> str:
    return " and ".join(_shift(shift, per) for shift in shifts)


def _shift(shift: Shift, per: Per) -> str:
    verb = "fell" if shift.after_us < shift.before_us else "rose"
    each = " a sample" if per == "samples" else ""
    return f"{NAMES[shift.part]}{each} {verb} from {duration_span(shift.before_us, shift.after_us)}"


def _ratio(speed: Speed, per: Per) -> str:
    return f"{_factor(speed.factor)} ×{' the samples per second' if per == 'samples' else ''}, {_interval(speed)}"


def _interval(speed: Speed) -> str:
    return f"95 % {_factor(speed.low)}–{_factor(speed.high)}"


def _factor(value: float) -> str:
    """Two digits at least: a factor of nothing says nothing."""
    if value < 0.095:
        return f"{value:.2g}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def _digits(value: float) -> str:
    if value >= 99.95:
        return f"{value:,.0f}"
    if value >= 9.995:
        return f"{value:.1f}".removesuffix(".0")
    return f"{value:.2f}".rstrip("0").rstrip(".") if value >= 0.005 else "0"
