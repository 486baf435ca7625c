"""Rows that more are added to: earlier readers keep what they had, whoever adds and in which order."""

from __future__ import annotations

import random

import numpy as np
import pytest

from underfed_server.measurements import Columns
from underfed_server.store.columns.growing import GrowingRows

NAMES = ("at_us", "threads")


def some(first: int, count: int) -> Columns:
    rows = np.arange(first, first + count, dtype=np.float64)
    return {"at_us": rows, "threads": np.where(rows % 3 == 0, np.nan, -rows)}


def is_of(rows: GrowingRows, numbers: list[int]) -> bool:
    expected = [some(number, 1) for number in numbers]
    return len(rows) == len(numbers) and all(
        np.array_equal(rows.columns[name], [each[name][0] for each in expected], equal_nan=True) for name in NAMES
    )


def test_what_was_read_stays_as_it_was_while_others_add_to_it() -> None:
    """Of rows chosen at random more are made, again and again, so that several go on from the same ones."""
    figures = random.Random(1)
    known = [(GrowingRows().with_rows(some(0, 3)), [0, 1, 2])]
    for number in range(200):
        rows, numbers = figures.choice(known)
        first, count = 1_000 * number, figures.randrange(1, 5)
        known.append((rows.with_rows(some(first, count)), [*numbers, *range(first, first + count)]))
    assert all(is_of(rows, numbers) for rows, numbers in known)


@pytest.mark.parametrize(
    "values",
    [
        [1.0, 2.0**24, np.nan, 2.0**24 + 2],
        [1.0, np.nan, 2.0**24 + 1, 3.0],
        [2.0**53, np.nan, 0.1, 1e15],
        [0.5, 0.1, 0.25, 2.0**24 + 1],
        [np.nan] * 4,
        [float(2**32 - 2)] * 4,
    ],
    ids=str,
)
def test_every_value_is_read_as_it_came_whatever_room_it_takes(values: list[float]) -> None:
    """Each beside a column that is as it likes, whether it comes first or last."""
    rows, other = GrowingRows(), list(map(float, range(len(values))))
    seen = []
    for value, beside in zip(values, other, strict=True):
        rows = rows.with_rows({"before": np.array([beside]), "value": np.array([value]), "after": np.array([0.1])})
        seen.append(rows)
    for count, each in enumerate(seen, start=1):
        columns = each.columns
        assert list(columns) == ["before", "value", "after"]
        assert np.array_equal(columns["before"], other[:count])
        assert np.array_equal(columns["value"], values[:count], equal_nan=True)
        assert np.array_equal(columns["after"], [0.1] * count)
        assert {column.dtype for column in columns.values()} == {np.dtype(np.float64)}


def test_what_float32_has_exactly_takes_half_the_room() -> None:
    def kept(value: float) -> int:
        return GrowingRows().with_rows({"value": np.full(1_000, value)}).nbytes

    assert 2 * kept(40_123.0) == 2 * kept(np.nan) == kept(1e9 + 1)


def test_most_rows_are_added_without_a_copy_of_those_before() -> None:
    rows, blocks = GrowingRows(), set()
    for number in range(600):
        rows = rows.with_rows(some(20 * number, 20))
        blocks.add(id(rows._block))
    assert is_of(rows, list(range(12_000)))
    assert len(blocks) < 25
    assert rows.nbytes <= 0.8 * sum(column.nbytes for column in rows.columns.values())
