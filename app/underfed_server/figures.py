"""Measured values as text: three significant digits, a unit, and "–" for what was not measured.

The page writes them alike (``frontend/src/format.ts``); ``tests/contract/figures.json`` holds both to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from underfed_server.diagnosis import sentence
from underfed_server.diagnosis.rounded import percent, points
from underfed_server.model import BestAdvice, Diagnosis, Evidence

NOT_MEASURED = "–"


def amount(value: float | None) -> str:
    """Three significant digits at most, thousands set apart: ``1_089.3`` → ``1,089``, ``0.01234`` → ``0.0123``."""
    if value is None:
        return NOT_MEASURED
    return sentence.amount(value)


def duration(us: float | None) -> str:
    """``41_200`` → ``41.2 ms``."""
    return NOT_MEASURED if us is None else sentence.duration(us)


def hours(value: float | None) -> str:
    """Time lost or used: ``80.4 h``, ``31 min``, ``22 s``."""
    if value is None:
        return NOT_MEASURED
    if value * 3_600 < 99.5:
        return f"{float(f'{value * 3_600:.2g}'):g} s"
    if value < 1:
        # One digit more where whole minutes would hide what a share beside them is of.
        return f"{math.floor(value * 600 + 0.5) / 10:g} min" if value * 60 < 9.95 else f"{value * 60:.0f} min"
    return f"{value:,.1f} h" if value < 100 else f"{value:,.0f} h"


def fraction(value: float | None) -> str:
    """``0.43`` → ``43%``, below ten with one digit more: ``0.009`` → ``0.9%``."""
    if value is None:
        return NOT_MEASURED
    return "< 0.1%" if 0 < value < 0.0005 else percent(value)


def margin(value: float | None) -> str:
    """Of a share, in points: ``0.032`` → ``± 3``, below one ``± 0.4``; empty: not known."""
    if value is None:
        return ""
    return points(value)


def factor(value: float | None) -> str:
    """``1.624`` → ``× 1.62``, and two digits of a factor far below one: ``0.0029`` → ``× 0.0029``."""
    if value is None:
        return NOT_MEASURED
    return f"× {value:.2f}" if value >= 0.095 else f"× {float(f'{value:.2g}'):g}"


def factors(low: float | None, high: float | None) -> str:
    """An interval: ``× 1.48–1.71``; one figure where its ends are written alike."""
    if low is None or high is None:
        return NOT_MEASURED
    least, most = factor(low), factor(high)
    return least if least == most else f"{least}–{most.removeprefix('× ')}"


def gain(advice: BestAdvice) -> str:
    """Of the loop of its loader."""
    return _gain(advice, (advice.predicted_speedup, advice.low, advice.high))


def gain_of_run(advice: BestAdvice) -> str:
    return _gain(advice, advice.gain_of_run)


def _gain(advice: BestAdvice, figures: tuple[float | None, float | None, float | None]) -> str:
    """As its interval, else as predicted. What promises no gain is to be tried."""
    predicted, low, high = figures
    if not advice.is_promised:
        return "try it"
    return factor(predicted) if low is None or high is None else factors(low, high)


def gain_beside(found: Diagnosis) -> str:
    """Of what is to be done outside the loader: an estimate, of all of it."""
    if found.beside_speedup is None:
        return "gain not known"
    return f"about {factor(found.beside_speedup)} for the run, if all of it went away"


def size(value: float | None) -> str:
    """As sentences have it: ``67_108_864`` → ``64 MiB``."""
    return NOT_MEASURED if value is None else sentence.size(value)


def span(values: Sequence[float | None], written: Callable[[float | None], str]) -> str:
    """``[1.2e9, 1.9e9]`` → ``1.12 GiB to 1.77 GiB``; one value where both are equal."""
    known = [value for value in values if value is not None]
    if not known:
        return NOT_MEASURED
    least, most = written(min(known)), written(max(known))
    return least if least == most else f"{least} to {most}"


WRITTEN: dict[str, Callable[[float], str]] = {
    "us": duration,
    "fraction": fraction,
    "bytes": size,
    "bytes_per_s": lambda value: f"{size(value)}/s",
    "factor": factor,
    "per_s": lambda value: f"{amount(value)} per s",
    "cores": lambda value: f"{amount(value)} core{'' if amount(value) == '1' else 's'}",
    "w": lambda value: f"{amount(value)} W",
}
"""By unit of the API; a figure of another one is a plain number."""


def evidence(one: Evidence) -> str:
    """The value of one piece of evidence with its unit."""
    value = one.value
    if value is None or isinstance(value, str):
        return value or NOT_MEASURED
    written = WRITTEN.get(one.unit, amount)(value)
    return written if one.margin_fraction is None else f"{written} {margin(one.margin_fraction)}"
