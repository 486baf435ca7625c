"""How durations are spread, in bins so narrow that a percentile read from them is off by at most 1.1 %.

There are 32 bins an octave (scale 5 of OpenTelemetry's exponential histograms): each edge is 2.2 % above the one
before, so a bin's geometric middle is within 1.1 % of all that lies in it. The bound is on the value, not on its rank:
sketches that bound the rank are off by several times where a percentile falls on the edge of rare stalls (own study).
Adding two histograms is exact, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from underfed_server.measurements import Column
from underfed_server.store.columns.chunks import compressor, decompressor

BINS_PER_OCTAVE = 32
BINS = 1 + 32 * BINS_PER_OCTAVE
"""The first is for less than 1 µs, the others reach up to 2^32 µs."""

Bins = NDArray[np.uint32]
"""``[bucket, bin]``"""
Counts = NDArray[np.int64]
"""``[bin]``"""


def bins_of(column: Column, at: NDArray[np.intp]) -> Bins:
    """Histograms of the buckets that begin at the rows ``at``, without values that were not measured."""
    begins = np.zeros(len(column), dtype=np.intp)
    begins[at[1:]] = 1
    cells = np.cumsum(begins) * BINS + bin_of(column)
    counts = np.bincount(cells[np.isfinite(column)], minlength=len(at) * BINS)
    return counts.astype(np.uint32).reshape(len(at), BINS)


def merged(bins: Bins, at: NDArray[np.intp]) -> Bins:
    """Fewer, larger buckets that begin at the buckets ``at``."""
    used = np.flatnonzero(bins.any(axis=0))
    found = np.zeros((len(at), BINS), np.uint32)
    if len(used):
        part = slice(int(used[0]), int(used[-1]) + 1)
        # Differences of running sums, which also hold where these overflow, are quicker than sums of each bucket.
        sums = np.cumsum(bins[:, part], axis=0, dtype=np.uint32)[np.append(at[1:], len(bins)) - 1]
        found[:, part] = np.diff(sums, axis=0, prepend=np.zeros((1, sums.shape[1]), np.uint32))
    return found


def counts_of(column: Column) -> Counts:
    """Histogram of all rows together."""
    return np.bincount(bin_of(column[np.isfinite(column)]), minlength=BINS)


def bin_of(column: Column) -> NDArray[np.intp]:
    octaves = np.log2(np.maximum(np.nan_to_num(column), 0.5))
    return np.asarray(np.clip(np.floor(octaves * BINS_PER_OCTAVE).astype(np.intp) + 1, 0, BINS - 1))


def middles_us() -> Column:
    """The value that stands for each bin."""
    middles = 2.0 ** ((np.arange(BINS) - 0.5) / BINS_PER_OCTAVE)
    middles[0] = 0.0
    return np.asarray(middles)


def percentiles_of(bins: Bins, percentiles: Sequence[float]) -> NDArray[np.float64]:
    """Percentiles as ``[percentile, bucket]``, NaN where nothing was counted."""
    used = np.flatnonzero(bins.any(axis=0))
    if not len(used):
        return np.full((len(percentiles), len(bins)), np.nan)
    part = slice(int(used[0]), int(used[-1]) + 1)
    below, middles = np.cumsum(bins[:, part], axis=1, dtype=np.int64), middles_us()[part]
    counted = below[:, -1]
    found = np.empty((len(percentiles), len(bins)))
    for row, percentile in enumerate(percentiles):
        # The rank of the lowest value that has so many per cent at or below it.
        rank = np.maximum(np.ceil(counted * (percentile / 100)), 1).astype(np.int64)
        place = (below < rank[:, None]).sum(axis=1)
        found[row] = np.where(counted > 0, middles[np.minimum(place, len(middles) - 1)], np.nan)
    return found


def exact_percentiles(column: Column, at: NDArray[np.intp], percentiles: Sequence[float]) -> NDArray[np.float64]:
    """Percentiles of the buckets that begin at the rows ``at``, of measured values and by the same rule."""
    known = np.isfinite(column)
    begins = np.zeros(len(column), dtype=np.intp)
    begins[at[1:]] = 1
    bucket, values = np.cumsum(begins)[known], column[known]
    counted = np.bincount(bucket, minlength=len(at))
    # Buckets are in order already: one sort by bucket and value, which integers are quickest at.
    key = (bucket.astype(np.int64) << 40) | np.minimum(values, 2.0**40 - 1).astype(np.int64)
    sorted_values = (np.sort(key) & (2**40 - 1)).astype(np.float64)
    first = np.cumsum(counted) - counted
    found = np.full((len(percentiles), len(at)), np.nan)
    some = counted > 0
    for row, percentile in enumerate(percentiles):
        rank = np.maximum(np.ceil(counted * (percentile / 100)), 1).astype(np.intp)
        found[row, some] = sorted_values[(first + rank - 1)[some]]
    return found


def to_bytes(counts: Counts) -> bytes:
    """From the first non-empty bin to the last, in as few bytes as the largest count needs."""
    used = np.flatnonzero(counts)
    low, high = (int(used[0]), int(used[-1]) + 1) if len(used) else (0, 0)
    trimmed = counts[low:high]
    width = next(width for width in (1, 2, 4, 8) if int(trimmed.max(initial=0)) < 2 ** (8 * width))
    frame = compressor().compress(trimmed.astype(f"<u{width}").tobytes())
    return b"".join((low.to_bytes(2, "little"), bytes([width]), frame))


def from_bytes(body: bytes) -> Counts:
    counts = np.zeros(BINS, np.int64)
    add_to(counts, body)
    return counts


def add_to(counts: NDArray[np.int64] | NDArray[np.uint32], body: bytes) -> None:
    low, width = int.from_bytes(body[:2], "little"), body[2]
    trimmed = np.frombuffer(decompressor().decompress(body[3:]), f"<u{width}")
    counts[low : low + len(trimmed)] += trimmed.astype(counts.dtype)
