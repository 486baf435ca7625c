"""Shares as every sentence and every table writes them."""

from __future__ import annotations

import math
from collections.abc import Sequence


def percent(fraction: float) -> str:
    """``0.634`` → ``63%``, ``0.032`` → ``3.2%``: one digit more where whole numbers would hide the size.

    A share too small for that is not printed as 0; 0 itself has no decimals.
    """
    if fraction < 0.0005:
        return "less than 0.1%" if fraction > 0 else "0%"
    tenths = math.floor(fraction * 1_000 + 0.5)  # half up, as browsers do: one figure reads alike everywhere
    return f"{tenths / 10:.1f}%" if fraction < 0.0995 else f"{math.floor(fraction * 100 + 0.5)}%"


def percents(whole: float, parts: Sequence[float]) -> tuple[str, list[str]]:
    """As `percent`, but parts that make up the whole add up as they are printed: those that rounding changes most give
    way. Parts that leave a rest stay as they are."""
    said, each = percent(whole), [percent(part) for part in parts]
    figures = [float(text.rstrip("%")) if text[0].isdigit() else 0.0 for text in each]
    is_whole = abs(whole - sum(parts)) < 1e-6 and "less" not in "".join(each)
    surplus = sum(figures) - float(said.rstrip("%")) if is_whole and "less" not in said else 0.0
    # A share is printed to a whole percent or, where it is small, to a tenth.
    sizes = [0.1 if "." in text else 1.0 for text in each]
    while abs(surplus) > 0.05:
        sign = 1 if surplus > 0 else -1
        fitting = [index for index, size in enumerate(sizes) if size <= abs(surplus) + 0.05]
        if not fitting:
            break
        worst = max(fitting, key=lambda index: sign * (figures[index] - 100 * parts[index]) / sizes[index])
        figures[worst] -= sign * sizes[worst]
        surplus -= sign * sizes[worst]
        each[worst] = f"{figures[worst]:.1f}%" if sizes[worst] < 1 else f"{figures[worst]:.0f}%"
    return said, each


def points(margin: float) -> str:
    """Of a share: ``0.032`` → ``± 3``, below one point ``± 0.4``."""
    found = 100 * margin
    return f"± {found:.1f}" if found < 0.95 else f"± {math.floor(found + 0.5)}"
