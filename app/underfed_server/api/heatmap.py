"""How many batches took how long to load, over the run: columns of equal time, logarithmic bins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from underfed_server.measurements import Column
from underfed_server.model import LoadHeatmap
from underfed_server.store.columns.histograms import BINS_PER_OCTAVE as FINE_BINS_PER_OCTAVE
from underfed_server.store.columns.histograms import Bins
from underfed_server.store.columns.ladder import Rollup

BINS_PER_OCTAVE = 4
"""Each edge 19 % above the one before, 128 of them up to 2^32 µs."""
BINS = 32 * BINS_PER_OCTAVE

COLUMNS = 120
BINS_SHOWN = 26
"""More are merged in pairs: a heat map of 26 rows is 5 pixels a row."""

LIMIT_WITHIN_BINS = 3 * BINS_PER_OCTAVE
"""The limit is shown in the map when it is at most three octaves from the load times."""


def heatmap(rollup: Rollup, last_us: float, limit_us: int | None) -> LoadHeatmap | None:
    """At most 120 columns of equal time, about 26 logarithmic bins around the load times that occurred."""
    bins = _coarse(rollup.bins["load_us"])
    if not bins.any():
        return None
    first_us = float(rollup.first_us[0])
    end_us = max(last_us, float(rollup.first_us[-1])) + 1
    columns = min(COLUMNS, len(rollup))
    edges = np.linspace(first_us, end_us, columns + 1)
    column_of = np.clip(np.searchsorted(edges, rollup.first_us, side="right") - 1, 0, columns - 1)
    counts = np.zeros((columns, BINS))
    np.add.at(counts, column_of, bins)
    low, high, step = _shown(counts, limit_us)
    shown = counts[:, low:high].reshape(columns, -1, step).sum(axis=2)
    return LoadHeatmap(
        at_us=edges[:-1].astype(np.int64).tolist(),
        end_us=int(end_us),
        edges_us=np.round(bin_edges_us()[low : high + 1 : step]).astype(np.int64).tolist(),
        counts=shown.astype(np.int64).tolist(),
    )


def bin_edges_us() -> Column:
    """Lower edge of each bin and, last, the upper one of the last."""
    return np.asarray(2.0 ** (np.arange(BINS + 1) / BINS_PER_OCTAVE))


def _coarse(fine: Bins) -> NDArray[np.float64]:
    """Eight bins of a histogram are one of the map; durations below a microsecond are in the first."""
    merged = fine[:, 1:].reshape(len(fine), BINS, FINE_BINS_PER_OCTAVE // BINS_PER_OCTAVE).sum(axis=2)
    merged[:, 0] += fine[:, 0]
    return np.asarray(merged, dtype=np.float64)


def _shown(counts: NDArray[np.float64], limit_us: int | None) -> tuple[int, int, int]:
    """The bins ``low … high`` to show, and how many of them are merged into one."""
    used = np.flatnonzero(counts.any(axis=0))
    low, high = int(used[0]), int(used[-1]) + 1
    if limit_us is not None and limit_us >= 1:
        limit_bin = int(np.log2(limit_us) * BINS_PER_OCTAVE)
        if low - LIMIT_WITHIN_BINS <= limit_bin < high + LIMIT_WITHIN_BINS:
            low, high = min(low, limit_bin), max(high, limit_bin + 1)
    step = 1
    while (high - low) / step > BINS_SHOWN:
        step *= 2
    low -= low % step
    high = min(BINS, high + -high % step)
    return low, high, step
