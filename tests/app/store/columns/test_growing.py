"""Rows that more are added to: earlier readers keep what they had, whoever adds and in which order."""

from __future__ import annotations

import random

import numpy as np

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


def test_most_rows_are_added_without_a_copy_of_those_before() -> None:
    rows, blocks = GrowingRows(), set()
    for number in range(600):
        rows = rows.with_rows(some(20 * number, 20))
        blocks.add(id(rows.columns["at_us"].base))
    assert is_of(rows, list(range(12_000)))
    assert len(blocks) < 25
    assert rows.nbytes <= 1.6 * sum(column.nbytes for column in rows.columns.values())
