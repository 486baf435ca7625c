"""Shares as every sentence and every table writes them."""

from __future__ import annotations

import math


def percent(fraction: float) -> str:
    """``0.634`` → ``63%``, ``0.032`` → ``3.2%``: one digit more where whole numbers would hide the size.

    A share too small for that is not printed as 0; 0 itself has no decimals.
    """
    if fraction < 0.0005:
        return "less than 0.1%" if fraction > 0 else "0%"
    tenths = math.floor(fraction * 1_000 + 0.5)  # half up, as browsers do: one figure reads alike everywhere
    return f"{tenths / 10:.1f}%" if fraction < 0.0995 else f"{math.floor(fraction * 100 + 0.5)}%"


def points(margin: float) -> str:
    """Of a share: ``0.032`` → ``± 3``, below one point ``± 0.4``."""
    found = 100 * margin
    return f"± {found:.1f}" if found < 0.95 else f"± {math.floor(found + 0.5)}"
