"""Rounds durations to a number of significant bits, where a project prefers fewer bytes to exact figures.

With 8 bits a duration is off by at most 0.4 %, and the rows of a step with six figures take 4.8 bytes instead of 6.8.
Counts, indices, instants and bytes stay as they are.
"""

from __future__ import annotations

import numpy as np

from underfed_server.measurements import Column, Columns, names_of, or_zero
from underfed_server.store.columns.lanes import SUMS, kind_of, parts_us, rests

FEWEST_BITS, MOST_BITS = 4, 24
"""With 4 bits a duration is off by up to 6 %; with more than 24, none below 16 s is rounded at all."""

INSTANT_SHARE = 64
"""Starts of rounded steps are kept to this fraction of a median step."""


def rounded(lane: str, columns: Columns, precision_bits: int | None) -> Columns:
    """``None``: not rounded."""
    if precision_bits is None:
        return columns
    durations = names_of(kind_of(lane), "duration")
    found = {
        name: _rounded(column, precision_bits) if name in durations else column for name, column in columns.items()
    }
    for name, rest in rests(lane, columns).items():
        # What its rounded parts come to, as with exact ones: a chunk stores only what follows from no other column.
        parts = parts_us(found, SUMS[kind_of(lane)][name][1])
        found[name] = np.where(rest >= 0, parts + _rounded(rest, precision_bits), found[name])
    if kind_of(lane) == "steps":
        found["start_us"] = _starts(columns, found["step_us"])
    return found


def _rounded(column: Column, bits: int) -> Column:
    """A figure that needs no more bits than are kept stays exact."""
    mantissa, exponent = np.frexp(column)
    return np.where(exponent > bits, np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits), column)


def _starts(columns: Columns, step_us: Column) -> Column:
    """Nearly the recorded starts: a chunk stores distances from the step before, and exact ones take more room."""
    lost = or_zero(columns["step_us"]) - or_zero(step_us)
    drift = np.cumsum(lost) - lost
    quantum = _quantum_us(step_us)
    return np.asarray(columns["start_us"] - (drift - quantum * np.rint(drift / quantum)))


def _quantum_us(step_us: Column) -> float:
    known = step_us[np.isfinite(step_us)]
    median = float(np.median(known)) if len(known) else 0.0
    return float(2.0 ** np.ceil(np.log2(max(median / INSTANT_SHARE, 1.0))))
