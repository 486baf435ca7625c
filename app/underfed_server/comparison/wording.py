"""A comparison in words: the run that is fastest, why, and why others are not; numbers rounded as the page does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from underfed_server.comparison.against import Against, Shift, compare
from underfed_server.comparison.side import Measured, Part, Side
from underfed_server.diagnosis.sentence import three_digits
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


def duration_span(before_us: float, after_us: float) -> str:
    """``177 to 24 ms``: in the unit of the larger, which comes once."""
    largest = max(before_us, after_us)
    divisor, unit = (1e6, "s") if largest >= 999_500 else (1e3, "ms") if largest >= 999.5 else (1.0, "µs")
    return f"{three_digits(before_us / divisor)} to {three_digits(after_us / divisor)} {unit}"


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
    """At least two significant digits: a small factor must not be printed as 0."""
    if value < 0.095:
        return f"{value:.2g}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


@dataclass(frozen=True, slots=True)
class Compared:
    """A run with what was measured of it, in the unit that all are compared in."""

    side: Side
    measured: Measured | None
    per: Per

    @property
    def why_not(self) -> str | None:
        """Why the run has no figures, or none that can be compared."""
        if self.side.why_not is not None or self.measured is None:
            return self.side.why_not or "it has too few steps"
        if self.per == "samples" and self.side.batch is None:
            return "batch sizes differ, and how many samples it has in a batch is not known"
        return None

    def compared_with(self, other: Compared) -> Against | None:
        """How fast the run is compared with the ``other``; ``None``: they cannot be compared."""
        before, after = other.measured, self.measured
        if before is None or after is None or other.why_not or self.why_not:
            return None
        batches = (other.side.batch or 1.0, self.side.batch or 1.0) if self.per == "samples" else None
        return compare(before, after, batches)

    def sentence(self, baseline: Compared, found: Against | None) -> str:
        if found is not None:
            return against(self.side.label, baseline.side.label, found, self.per)
        which = self if self.why_not else baseline
        return f"{which.side.label} cannot be compared: {which.why_not or 'it has no figures'}."


Found = Sequence[tuple[Compared, Against | None]]


def headline(baseline: Compared, others: Found) -> str:
    """``others``: each with its comparison with the ``baseline``."""
    if len(others) == 1 or baseline.why_not:
        run, found = others[0]
        return run.sentence(baseline, found)
    known = [(run, found) for run, found in others if found]
    faster = sorted(
        ((run, found) for run, found in known if found.speed.is_told and found.speed.factor > 1),
        key=lambda each: -each[1].speed.factor,
    )
    if not faster:
        which = f"the other {len(others)}" if len(known) == len(others) else f"the {len(known)} that can be compared"
        return f"None of {which} is clearly faster than {baseline.side.label}."
    run, found = faster[0]
    said, rival = f"Fastest of {len(others) + 1}: {run.sentence(baseline, found)}", _rival(faster)
    return said if rival is None else f"{said} Between it and {rival} no difference can be told."


def _rival(faster: Sequence[tuple[Compared, Against]]) -> str | None:
    """The second fastest run, where the two cannot be distinguished."""
    if len(faster) < 2:
        return None
    between = faster[0][0].compared_with(faster[1][0])
    return None if between is None or between.speed.is_told else faster[1][0].side.label
