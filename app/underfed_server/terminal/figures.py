"""Measured values as text: three significant digits, a unit, and "–" for what was not measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from underfed_server.diagnosis.sentence import percent, three_digits
from underfed_server.model import Evidence

NOT_MEASURED = "–"


def duration(us: float | None) -> str:
    """``41_200`` → ``41.2 ms``."""
    if us is None:
        return NOT_MEASURED
    for limit, divisor, unit in ((999.5, 1.0, "µs"), (999.5e3, 1e3, "ms"), (59.95e6, 1e6, "s"), (3.597e9, 60e6, "min")):
        if us < limit:
            return f"{three_digits(us / divisor)} {unit}"
    return f"{three_digits(us / 3.6e9)} h"


def fraction(value: float | None) -> str:
    return NOT_MEASURED if value is None else percent(value)


def amount(value: float | None) -> str:
    return NOT_MEASURED if value is None else three_digits(value)


def factor(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"× {value:.2f}"


def size(value: float | None) -> str:
    """Decimal units: ``212_000_000`` → ``212 MB``."""
    if value is None:
        return NOT_MEASURED
    for limit, divisor, unit in ((999.5, 1.0, "B"), (999.5e3, 1e3, "kB"), (999.5e6, 1e6, "MB"), (999.5e9, 1e9, "GB")):
        if value < limit:
            return f"{three_digits(value / divisor)} {unit}"
    return f"{three_digits(value / 1e12)} TB"


def span(values: Sequence[float | None], written: Callable[[float | None], str]) -> str:
    """``[1.2e9, 1.9e9]`` → ``1.2 GB to 1.9 GB``; one value where both are equal."""
    known = [value for value in values if value is not None]
    if not known:
        return NOT_MEASURED
    least, most = written(min(known)), written(max(known))
    return least if least == most else f"{least} to {most}"


def evidence(one: Evidence) -> str:
    """The value of one piece of evidence with its unit."""
    value = one.value
    if value is None or isinstance(value, str):
        return value or NOT_MEASURED
    written = {
        "us": duration,
        "fraction": fraction,
        "bytes": size,
        "factor": factor,
    }.get(one.unit)
    if written:
        return written(value)
    suffix = {"bytes_per_s": "/s", "per_s": "/s", "w": " W"}.get(one.unit, "")
    return (size(value) if one.unit == "bytes_per_s" else amount(value)) + suffix
