"""Rounds durations to a number of significant bits, where a project prefers fewer bytes to exact figures.

What is rounded is what a chunk holds: a sum beside its parts is held as what these leave of it, and that and the parts
are rounded. With 8 bits a duration is off by at most 0.4 %; of a training that decodes pictures a step takes 3.3 bytes
instead of 3.8, a batch 8.8 instead of 10.0. Counts, indices and bytes stay as they are, instants within what durations
are off by.
"""

from __future__ import annotations

import numpy as np

from underfed_server.measurements import Column, Columns, names_of, or_zero
from underfed_server.store.columns.lanes import STARTS, SUMS, before, by_worker, kind_of, parts_us, sum_us, summed

FEWEST_BITS, MOST_BITS = 4, 24
"""With 4 bits a duration is off by up to 6 %; with more than 24, none below 16 s is rounded at all."""


def rounded(lane: str, held: Columns, precision_bits: int | None) -> Columns:
    """``held``: the columns as a chunk holds them. ``None``: not rounded."""
    if precision_bits is None:
        return held
    kind = kind_of(lane)
    durations = names_of(kind, "duration")
    found = {name: _rounded(column, precision_bits) if name in durations else column for name, column in held.items()}
    for name, (rest, parts) in SUMS.get(kind, {}).items():
        if rest in held:
            whole = _rounded(sum_us(kind, held, name), precision_bits)
            # Parts may be longer than their sum: several threads' CPU time. What is rounded of them may then be more
            # than is allowed of it.
            is_less = held[rest] < 0
            found[rest] = np.where(is_less, whole - parts_us(found, parts), _rounded(held[rest], precision_bits))
    if kind in STARTS and STARTS[kind][0] in held:
        distance, took = STARTS[kind]
        exact_us, rounded_us = (sum_us(kind, columns, took) for columns in (held, found))
        found[distance] = held[distance] + _made_up(held, exact_us, rounded_us, precision_bits)
    return found


def _rounded(column: Column, bits: int) -> Column:
    """A figure that needs no more bits than are kept stays exact."""
    mantissa, exponent = np.frexp(column)
    return np.where(exponent > bits, np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits), column)


def _made_up(held: Columns, exact_us: Column, rounded_us: Column, bits: int) -> Column:
    """What is added to distances, so that starts do not run away with what rounding took from the rows before: whole
    quanta of it, now and then. Exact starts take more bytes."""
    rows, quantum = by_worker(held), _quantum_us(rounded_us, bits)
    lost = or_zero(exact_us) - or_zero(rounded_us)
    quanta = quantum * np.rint((summed(rows, lost) - lost) / quantum)
    return np.asarray(quanta - before(rows, quanta))


def _quantum_us(took_us: Column, bits: int) -> float:
    """Starts are kept as exactly as a median duration is."""
    known = took_us[np.isfinite(took_us)]
    median = float(np.median(known)) if len(known) else 0.0
    return float(2.0 ** max(np.frexp(median)[1] - bits, 0))
