"""What is taken for short batches that no worker measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from underfed_server.measurements import Column, Columns
from underfed_server.store.columns.short_batches import SAMPLED, with_estimates

NAN = float("nan")


def columns(**given: Sequence[float]) -> Columns:
    """All on a CPU, and nothing to join, where it is not said."""
    found = {name: np.array(values, dtype=np.float64) for name, values in given.items()}
    nothing = np.zeros(len(found["load_us"]))
    return {"worker": nothing, "cpu_us": found["load_us"], "runqueue_us": nothing, "collate_us": nothing} | found


def test_a_batch_is_taken_to_be_like_the_one_before_of_its_worker_that_took_about_as_long() -> None:
    found = with_estimates(
        columns(
            worker=[0, 0, 1, 0, 0, 1],
            load_us=[100, 3_000, 100, 120, 4_000, 127],
            asked_bytes=[7, 900, 3, NAN, NAN, NAN],
            collate_us=[10, 0, 50, NAN, NAN, NAN],
            process_cpu_us=[110, 3_300, 100, NAN, NAN, NAN],
        )
    )
    assert found["asked_bytes"].tolist()[3:] == [7, 900, 3]
    assert found["collate_us"].tolist()[3:] == [12, 0, 64]
    assert found["process_cpu_us"].tolist()[3:] == [132, 4_400, 127]


def test_what_is_off_the_cpu_is_divided_as_in_one_that_was_off_it_for_about_as_long() -> None:
    found = with_estimates(
        columns(
            load_us=[5_000, 5_000, 5_000, 5_000, 5_000],
            cpu_us=[100, 4_600, 4_500, 300, 5_000],
            runqueue_us=[0, 400, NAN, NAN, NAN],
            blocked_us=[4_900, 0, NAN, NAN, NAN],
        )
    )
    assert found["runqueue_us"].tolist() == [0, 400, 500, 0, 0]
    assert found["blocked_us"].tolist() == [4_900, 0, 0, 4_700, 0]


def test_those_before_a_workers_first_measured_one_are_like_it_and_what_took_as_long_as_none_like_the_nearest() -> None:
    found = with_estimates(
        columns(worker=[1, 0, 1, 0, 0], load_us=[10, 10, 10, 900, 30], asked_bytes=[NAN, 4, 8, 5, NAN])
    )
    assert found["asked_bytes"].tolist() == [8, 4, 8, 5, 4]


def test_of_a_worker_that_measured_none_nothing_is_known_nor_of_the_training_process() -> None:
    found = with_estimates(columns(worker=[0, 2, NAN, NAN], load_us=[10] * 4, asked_bytes=[4, NAN, 5, NAN]))
    assert found["asked_bytes"].tolist()[::2] == [4, 5]
    assert np.isnan(found["asked_bytes"][[1, 3]]).all()


def test_what_was_measured_of_none_stays_unknown() -> None:
    found = with_estimates(columns(load_us=[10, 10], asked_bytes=[4, NAN], read_bytes=[NAN, NAN]))
    assert found["asked_bytes"].tolist() == [4, 4]
    assert np.isnan(found["read_bytes"]).all()


def test_what_is_counted_with_a_long_one_that_was_measured_when_it_was_over_is_counted_once() -> None:
    """It has no time for joining its samples."""
    found = with_estimates(
        columns(
            load_us=[100, 100, 100, 9_000, 100, 100],
            cpu_us=[60, 60, 60, 1_000, 60, 60],
            runqueue_us=[10, NAN, NAN, 500, NAN, 10],
            blocked_us=[30, NAN, NAN, 7_500, NAN, 30],
            collate_us=[20, NAN, NAN, NAN, NAN, 20],
            asked_bytes=[5, NAN, NAN, 3_010, NAN, 6],
            process_cpu_us=[70, NAN, NAN, 1_300, NAN, 70],
        )
    )
    assert found["asked_bytes"].tolist() == [5, 0, 0, 3_010, 5, 6]
    assert found["runqueue_us"].tolist() == [10, 0, 0, 500, 10, 10]
    assert found["blocked_us"].tolist() == [30, 40, 40, 7_500, 30, 30]
    assert found["process_cpu_us"].tolist() == [70, 60, 60, 1_300, 70, 70]
    assert found["collate_us"].tolist() == [20, 20, 20, 1_800, 20, 20]


COMPUTES, SLEEPS, JOINS, READS = range(4)
LOADS = {COMPUTES: 300, SLEEPS: 5_000, JOINS: 4_000, READS: 1_500}


def batches_of(kinds: Column) -> Columns:
    """As if all were measured: what each kind does, and a tenth of its time on a CPU as long again in wait of one."""
    figures = np.random.default_rng(5)
    load = np.select([kinds == kind for kind in LOADS], list(LOADS.values())) * figures.uniform(0.8, 1.3, len(kinds))
    cpu = np.rint(load * np.where(kinds == SLEEPS, 0.05, np.where(kinds == READS, 0.4, 0.9)))
    load = np.rint(load)
    runqueue = np.where(kinds == SLEEPS, 0, np.rint((load - cpu) * np.where(kinds == READS, 0.1, 1)))
    return {
        "worker": np.zeros(len(kinds)),
        "load_us": load,
        "cpu_us": cpu,
        "process_cpu_us": cpu + 20,
        "runqueue_us": runqueue,
        "blocked_us": load - cpu - runqueue,
        "collate_us": np.where(kinds == JOINS, np.rint(0.8 * load), 10.0),
        "asked_bytes": np.where(kinds == READS, 1e6, 0.0),
        "read_bytes": np.where(kinds == READS, 1e6, 0.0),
        "samples": np.where(kinds == JOINS, 40.0, 4.0),
    }


@pytest.mark.parametrize("other", [SLEEPS, JOINS, READS])
@pytest.mark.parametrize("share", [0.5, 0.1])
@pytest.mark.parametrize("is_regular", [True, False], ids=["each so many", "by chance"])
def test_sums_of_mixed_batches_are_those_of_all_where_one_in_ten_is_measured(
    other: int, share: float, is_regular: bool
) -> None:
    figures, count = np.random.default_rng(7), 4_000
    is_other = np.arange(count) % round(1 / share) == 0 if is_regular else figures.random(count) < share
    whole = batches_of(np.where(is_other, other, COMPUTES))
    is_measured = (figures.random(count) < 0.1) | (np.arange(count) < 32)
    known = {name: np.where(is_measured, column, NAN) if name in SAMPLED else column for name, column in whole.items()}
    found = with_estimates(known)
    load = whole["load_us"].sum()
    for name in ("runqueue_us", "blocked_us", "collate_us", "process_cpu_us"):
        assert found[name].sum() / load == pytest.approx(whole[name].sum() / load, abs=0.02)
    for name in ("asked_bytes", "read_bytes", "samples"):
        assert found[name].sum() == pytest.approx(whole[name].sum(), rel=0.02)
