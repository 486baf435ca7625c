"""Shares as every sentence and every table writes them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from underfed_server.diagnosis.thresholds import THRESHOLDS

LIMITS = (THRESHOLDS.watch_fraction, THRESHOLDS.limited_fraction, THRESHOLDS.bound_fraction)
"""From which the word of a verdict is another one."""


def percent(fraction: float) -> str:
    """``0.634`` → ``63%``, ``0.032`` → ``3.2%``: one digit more where whole numbers would hide the size, or would reach
    a limit that the share is below: ``0.1959`` → ``19.5%``.

    A share too small for that is not printed as 0; 0 itself has no decimals.
    """
    if fraction < 0.0005:
        return "less than 0.1%" if fraction > 0 else "0%"
    parts = 1_000 if fraction < 0.0995 else 100
    said = math.floor(fraction * parts + 0.5)  # half up, as browsers do: one figure reads alike everywhere
    if any(fraction < limit and said >= limit * parts for limit in LIMITS):
        return f"{math.floor(fraction * 1_000) / 10:.1f}%"
    return f"{said / 10:.1f}%" if parts == 1_000 else f"{said}%"


def percents(whole: float, parts: Sequence[float]) -> tuple[str, list[str]]:
    """As `percent`, where parts that make up the whole add up as they are printed; else all of them to a tenth, of
    which those give way that rounding changes most: each is what it is wherever else it stands. Parts that leave a rest
    stay as they are."""
    said, each = percent(whole), [percent(part) for part in parts]
    if abs(whole - sum(parts)) >= 1e-6 or "less" in "".join([said, *each]):
        return said, each
    if abs(sum(float(text.rstrip("%")) for text in each) - float(said.rstrip("%"))) < 0.05:
        return said, each
    tenths, floors = math.floor(1_000 * whole + 0.5), [math.floor(1_000 * part) for part in parts]
    by_rest = sorted(range(len(parts)), key=lambda index: floors[index] - 1_000 * parts[index])
    for index in by_rest[: tenths - sum(floors)]:
        floors[index] += 1
    return f"{tenths / 10:.1f}%", [f"{floor / 10:.1f}%" for floor in floors]


def points(margin: float) -> str:
    """Of a share: ``0.032`` → ``± 3``, below one point ``± 0.4``."""
    found = 100 * margin
    return f"± {found:.1f}" if found < 0.95 else f"± {math.floor(found + 0.5)}"
