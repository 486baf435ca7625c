"""Percentiles of a histogram are within 1.1 % of the true ones, wherever rare stalls lie."""

from __future__ import annotations

import numpy as np
import pytest

from underfed_server.store.columns.histograms import (
    BINS,
    bins_of,
    counts_of,
    exact_percentiles,
    from_bytes,
    merged,
    percentiles_of,
    to_bytes,
)

FIGURES = np.random.default_rng(3)
PERCENTILES = (1, 50, 95, 99, 99.9, 100)
ALL = np.array([0])


@pytest.mark.parametrize("stalls", [0, 0.002, 0.008, 0.01, 0.012, 0.05])
def test_a_percentile_on_the_edge_of_stalls_is_one_of_them_or_not_but_nothing_between(stalls: float) -> None:
    values = np.round(FIGURES.lognormal(9.5, 0.7, 50_000) * np.where(FIGURES.random(50_000) < stalls, 50, 1))
    true = np.percentile(values, PERCENTILES, method="inverted_cdf")
    assert percentiles_of(bins_of(values, ALL), PERCENTILES)[:, 0] == pytest.approx(true, rel=0.011)
    assert exact_percentiles(values, ALL, PERCENTILES)[:, 0].tolist() == true.tolist()


def test_the_smallest_and_the_largest_durations_have_a_bin() -> None:
    values = np.array([0, 1, 2, 2.0**32 - 2, 2.0**52])
    assert percentiles_of(bins_of(values[:4], np.arange(4)), (50,))[0] == pytest.approx(values[:4], rel=0.011)
    assert counts_of(values).sum() == 5


def test_what_was_not_measured_is_counted_nowhere() -> None:
    values = np.array([np.nan, 5.0, np.nan, np.nan])
    bins = bins_of(values, np.array([0, 2]))
    assert bins.sum(axis=1).tolist() == [1, 0]
    assert np.isnan(percentiles_of(bins, (50,))[0]).tolist() == [False, True]
    assert exact_percentiles(values, np.array([0, 2]), (50,))[0, 0] == 5
    assert np.isnan(percentiles_of(bins[1:], (50, 99))).all()


@pytest.mark.parametrize("most", [1, 255, 256, 65_535, 65_536, 2**32, 2**40])
def test_counts_survive_as_bytes(most: int) -> None:
    counts = np.zeros(BINS, np.int64)
    counts[[3, 500, BINS - 1]] = [1, most, 7]
    assert from_bytes(to_bytes(counts)).tolist() == counts.tolist()
    assert from_bytes(to_bytes(np.zeros(BINS, np.int64))).sum() == 0


def test_buckets_that_are_merged_add_up() -> None:
    values = np.round(FIGURES.lognormal(9, 2, 1_000))
    fine = bins_of(values, np.arange(0, 1_000, 10))
    starts = np.array([0, 1, 17, 99])
    assert merged(fine, starts).tolist() == bins_of(values, starts * 10).tolist()
