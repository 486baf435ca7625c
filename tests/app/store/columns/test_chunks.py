"""A column comes out of a chunk exactly as it went in."""

from __future__ import annotations

import numpy as np
import pytest

from underfed_server.measurements import Column
from underfed_server.store.columns.chunks import decode, encode

FIGURES = np.random.default_rng(7)
ROWS = 4_096


def with_gaps(column: Column) -> Column:
    return np.where(np.arange(len(column)) % 3 == 0, np.nan, column)


WHOLE = {
    "durations": np.round(FIGURES.lognormal(11, 0.5, ROWS)),
    "longest_durations": np.full(ROWS, 2.0**32 - 2),
    "bytes": np.round(FIGURES.uniform(0, 2**53, ROWS)),
    "largest": np.full(ROWS, 2.0**53),
    "counting": np.arange(ROWS, dtype=np.float64) + 2.0**52,
    "counting_down": -np.arange(ROWS, dtype=np.float64),
    "zero": np.zeros(ROWS),
    "one_byte": np.full(ROWS, 255.0),
    "below_one_byte": np.full(ROWS, 254.0),
    "signed": np.round(FIGURES.normal(0, 1e6, ROWS)),
}
FLOATS = {"fractions": FIGURES.random(ROWS), "watts": np.round(FIGURES.normal(300, 40, ROWS), 3)}
COLUMNS = WHOLE | FLOATS


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_survives_exactly(name: str) -> None:
    for column in (COLUMNS[name], with_gaps(COLUMNS[name]), COLUMNS[name][:1], COLUMNS[name][:2]):
        assert np.array_equal(decode(encode({"x": column}))["x"], column, equal_nan=True)


def test_random_columns_survive_exactly() -> None:
    for _ in range(300):
        rows = int(FIGURES.integers(1, 40))
        column = np.floor(FIGURES.uniform(-1, 1, rows) * 2.0 ** int(FIGURES.integers(0, 54)))
        column[FIGURES.random(rows) < FIGURES.choice([0.0, 0.2, 1.0])] = np.nan
        assert np.array_equal(decode(encode({"x": column}))["x"], column, equal_nan=True)


def test_columns_are_read_by_name_and_keep_their_order() -> None:
    body = encode(COLUMNS)
    assert list(decode(body)) == list(COLUMNS)
    assert list(decode(body, ["watts", "zero", "unheard_of"])) == ["zero", "watts"]


def test_a_chunk_without_rows_or_columns_is_one() -> None:
    assert decode(encode({})) == {}
    assert len(decode(encode({"x": np.empty(0)}))["x"]) == 0


def test_what_was_not_measured_takes_no_room() -> None:
    unknown = {f"column_{index}": np.full(ROWS, np.nan) for index in range(10)}
    assert len(encode(unknown)) < 250


def test_counting_columns_and_constants_take_next_to_none() -> None:
    for name in ("counting", "zero", "largest"):
        assert len(encode({name: WHOLE[name]})) < 100


@pytest.mark.parametrize(
    ("column", "bits"),
    [
        (np.round(FIGURES.normal(60_000, 6_000, ROWS)), 14.6),
        (3e6 + FIGURES.integers(0, 1_000_000, ROWS), 19.9),
        (np.round(FIGURES.exponential(500, ROWS)), 10.4),
        (1e5 * np.arange(ROWS) + FIGURES.integers(0, 5_000, ROWS), 13.0),
    ],
    ids=["about a mean", "evenly", "rarely long", "between instants"],
)
def test_what_is_random_takes_little_more_than_its_entropy(column: Column, bits: float) -> None:
    assert len(encode({"x": column})) * 8 / ROWS < 1.15 * bits


@pytest.mark.parametrize(
    ("column", "most"),
    [
        (np.repeat(FIGURES.integers(0, 1_000_000, 50), 20).astype(float), 260),
        (np.where(FIGURES.random(1_000) < 0.03, 1e7, 2.0**26), 400),
        (1.7e15 + np.cumsum(FIGURES.integers(99_000, 101_000, 10)), 70),
    ],
    ids=["steps", "two values", "few rows"],
)
def test_what_repeats_itself_and_few_rows_take_little(column: Column, most: int) -> None:
    assert len(encode({"x": column})) < most
