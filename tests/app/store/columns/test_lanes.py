"""Of columns that follow from each other a chunk holds what is left of them, and gives back each exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from underfed_server.measurements import RECORDED, Column, Columns
from underfed_server.store.columns.chunks import decode, encode
from underfed_server.store.columns.lanes import IDLE, WORK, packed, stored_names, unpacked

ROWS = 400
KNOWN = st.integers(0, 2**32 - 2)
DURATIONS = st.one_of(st.none(), KNOWN)


def lane_of(kind: str, columns: dict[str, Any]) -> Columns:
    """All of its columns; those that are not given were not measured."""
    length = len(next(iter(columns.values())))
    given = {name: np.array(column, dtype=np.float64) for name, column in columns.items()}
    return {name: given.get(name, np.full(length, np.nan)) for name in RECORDED[kind]}


def assert_kept(lane: str, columns: Columns) -> None:
    """All at once, and each read alone."""
    body = encode(packed(lane, columns))
    found = unpacked(decode(body))
    assert found.keys() == columns.keys()
    for name, column in columns.items():
        alone = unpacked(decode(body, stored_names(lane, [name])))
        for each in (found, alone):
            assert np.array_equal(each[name], column, equal_nan=True), name


@given(
    st.lists(
        st.tuples(st.integers(0, 2**45), KNOWN, DURATIONS, DURATIONS, DURATIONS, st.sampled_from([None, 0, 1, 9])),
        min_size=1,
        max_size=12,
    )
)
def test_batches_come_back_whatever_is_missing(rows: list[tuple[int | None, ...]]) -> None:
    names = ("start_us", "load_us", "cpu_us", "process_cpu_us", "received_us", "worker")
    assert_kept("batches:train", lane_of("batches", dict(zip(names, zip(*rows, strict=True), strict=True))))


@given(st.lists(st.tuples(KNOWN, DURATIONS), min_size=1, max_size=12))
def test_steps_come_back_also_open_ones(rows: list[tuple[int, int | None]]) -> None:
    waits, steps = ([row[place] for row in rows] for place in (0, 1))
    known = [each or 0 for each in steps]
    columns = {"step_us": steps, "data_wait_us": waits, "start_us": np.cumsum(known) - known}
    assert_kept("steps:train", lane_of("steps", columns))


def test_starts_are_exact_up_to_the_end_of_the_clock() -> None:
    start_us = 2.0**53 - np.array([8_589_934_592, 4_615_749_330, 1_100_400_876, 0, 0])
    load_us = np.array([3_974_185_262, 3_515_348_454, 3_245_140_879, 2_726_846_203, 2_808_542_299])
    columns = lane_of("batches", {"start_us": start_us, "load_us": load_us})
    found = unpacked(decode(encode(packed("batches:train", columns))))
    assert np.array_equal(found["start_us"], start_us)


def figures(median: float, share: float) -> Column:
    return np.round(np.random.default_rng(round(median)).lognormal(np.log(median), share, ROWS))


@pytest.mark.parametrize("is_paced_by_device", [False, True])
def test_steps_are_held_as_what_varies_less(*, is_paced_by_device: bool) -> None:
    wait_us = figures(40_000, 0.5)
    step_us = figures(120_000, 0.01) if is_paced_by_device else wait_us + figures(80_000, 0.01)
    columns = lane_of("steps", {"step_us": step_us, "data_wait_us": wait_us, "start_us": np.cumsum(step_us) - step_us})
    assert (WORK in packed("steps:train", columns)) is not is_paced_by_device
    assert_kept("steps:train", columns)


@pytest.mark.parametrize(("is_late", "fewer"), [(True, 0.9), (False, 1.01)])
def test_batches_of_workers_that_do_not_keep_up_begin_where_the_one_before_ended(is_late: bool, fewer: float) -> None:
    load_us, worker = figures(80_000, 0.3), np.arange(ROWS) % 4
    start_us = np.arange(ROWS) * 30_000.0
    if is_late:
        for each in range(4):
            own = load_us[each::4] + 150
            start_us[each::4] = np.cumsum(own) - own
    columns = lane_of("batches", {"start_us": start_us, "load_us": load_us, "worker": worker})
    held = packed("batches:train", columns)
    assert (IDLE in held) is is_late
    plain = {name: column for name, column in held.items() if name != IDLE} | {"start_us": columns["start_us"]}
    assert len(encode(held)) < fewer * len(encode(plain))
    assert_kept("batches:train", columns)
